"""An evening of a course in the world: early by what its pool was measured to take, warm nodes handed over."""

from datetime import UTC, datetime, timedelta
from typing import Any

from lamplighter.adapters.aws.ledger.ledger import Ledger
from tests.unit.calendar.courses.test_calendar import calendar
from tests.world.kubernetes.kubernetes import QUICK_RUNS
from tests.world.world import World

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
COURSE = calendar(
    "DTSTART:20261120T170000Z|DURATION:PT1H|RRULE:FREQ=WEEKLY;COUNT=5",
    "DTSTART:20261120T180000Z|DURATION:PT1H",
).decode()
LAB: dict[str, Any] = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "1"}},
    "windows": [{"name": "course", "calendar": "course.ics", "nodes": 2, "ready": "by"}],
    "calendars": {"course.ics": COURSE},
}


def test_a_course_is_ready_as_it_begins_by_what_its_pool_was_measured_to_take() -> None:
    with World(LAB, NOON) as world:
        world.kubernetes.check_runs = QUICK_RUNS
        ledger = Ledger("gpu-lab-ledger")
        world.run(timedelta(minutes=1))
        before = [lease.begins - lease.opens for lease in ledger.leases("gpu")]
        for number, minutes in enumerate([7.1, 6.2, 6.9]):
            receipt = {"lease": f"x-{number}", "minutes_to_ready": minutes}
            ledger.put_receipt("gpu", NOON - timedelta(days=number + 1), f"x-{number}", receipt)
        world.run(timedelta(hours=8))
        first, second = (lease for lease in ledger.leases("gpu") if lease.closed)

    # Ten minutes before anything was measured, and none where the hour before has the nodes.
    assert before == [timedelta(minutes=10), timedelta(0)]
    assert (first.begins, first.opens) == (NOON + timedelta(hours=5), NOON + timedelta(hours=5, minutes=-8))
    assert first.ready is not None
    assert first.ready <= first.begins
    # Handed over at the boundary: ready long before nodes could have started anew.
    assert second.opens == second.begins == first.closes
    assert second.ready is not None
    assert second.ready - second.opens < timedelta(minutes=2)
