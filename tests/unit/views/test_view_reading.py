"""What the ledger says of a lab, read into the one view that everything shows."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.view_reading import ViewReading, read_lab, read_lease, read_receipt
from lamplighter.adapters.calendars.text import read
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.calendar.course_copy import seen
from lamplighter.domain.checks.gpu_proof import GpuProof
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.doctor.readiness import Readiness
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.price import Price, Source
from lamplighter.domain.pool.pool import SeenGpus
from lamplighter.domain.views.lab_view import LabView, WindowState
from lamplighter.domain.views.lease_view import LeaseStanding
from lamplighter.lab.model import Lab
from lamplighter.lab.windows import Window
from tests.builders.leases import EIGHT
from tests.builders.leases import lease as planned
from tests.ledger_table import keep_proof, keep_verdicts
from tests.unit import aws_calls
from tests.unit.calendar.courses.test_calendar import calendar
from tests.unit.lab_on_moto import LAB, LEDGER, LabOnMoto, lab_on_moto

MINUTE = timedelta(minutes=1)
RECEIPT = {
    "lease": "evening-2026-11-19",
    "pool": "gpu",
    "owner": "evening-class",
    "source": "window",
    "window": "evening",
    "opened": "2026-11-19T20:00:00Z",
    "closed": "2026-11-19T23:04:00Z",
    "nodes": 2,
    "node_seconds": 22080,
    "minutes_to_ready": 6.5,
    "verdicts": [
        {
            "check": "all_reduce",
            "node": "a, b",
            "verdict": "passed",
            "reason": "2.1 GB/s",
            "measurements": {"busbw_gb_per_second": "2.1"},
        }
    ],
    "findings": [{"at": "2026-11-19T20:04:00Z", "cause": "no-capacity", "summary": "no g5.xlarge"}],
    "node_lives": [
        {"instance": "i-1", "from": "2026-11-19T20:00:10Z", "to": "2026-11-19T23:03:00Z"},
        {"instance": "i-2", "from": "2026-11-19T20:05:10Z", "to": None},
    ],
    "cost": {"amount": "7.5869", "currency": "USD"},
    "overrun": {"node_seconds": 480, "cost": {"amount": "0.1649", "currency": "USD"}},
    "replaced": [],
    "proof_of_zero": {"at": "2026-11-19T23:04:00Z", "desired": 0, "instances": [], "kubernetes_nodes": []},
}
CLOSED = datetime.fromisoformat("2026-11-19T23:04:00+00:00")
EVENING = {"name": "evening", "days": "daily", "start": "20:00", "end": "23:00", "owner": "evening-class"}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        yield made


@pytest.fixture
def lab() -> Lab:
    return Lab.model_validate({"name": LAB, "time_zone": "UTC", "windows": [EVENING]})


def shown(world: LabOnMoto, lab: Lab, minutes: float = 0) -> LabView:
    return read_lab(world.capacity.ledger, lab, EIGHT + minutes * MINUTE)


def skip_sunday(ledger: Ledger) -> None:
    """Somebody takes the evening of 22 November out of the calendar."""
    skip = Skip("evening", "2026-11-22", "alice", EIGHT, "nobody comes")
    decision, said = Decision("skip-1", "skipped", "as asked", EIGHT), "skips the evening"
    why = Entry(EIGHT, "gpu", "skipped", "alice", said, "nobody comes")
    ledger.skip(skip, ("gpu", "evening-2026-11-22"), "gpu", decision, why)


def test_a_lease_is_read_with_its_stages_its_verdicts_and_what_happened(world: LabOnMoto, lab: Lab) -> None:
    ledger = world.capacity.ledger
    lease = world.lease(nodes=2)
    ledger.advance("gpu", lease.id, LeaseState.OPENING, EIGHT)
    ledger.note_progress("gpu", lease.id, Stage.NODES, 1, 2, EIGHT + MINUTE)
    keep_verdicts(
        ledger, lease, [{"check": "nvidia-smi", "node": "a", "verdict": "passed", "reason": "there"}]
    )
    ledger.append_audit(Entry(EIGHT + MINUTE, "gpu", "warned", "notices", "closes soon", "Save.", lease.id))
    ledger.append_audit(Entry(EIGHT + MINUTE, "gpu", "warned", "notices", "another's", "Save.", "cli-9"))

    view = read_lease(ledger, lab, "gpu", lease.id, EIGHT + 15 * MINUTE)

    assert view is not None
    assert (view.standing, view.stages[1].count, view.verdict) == (
        LeaseStanding.OPENING,
        "1/2",
        Outcome.PASSED,
    )
    assert [warned.what for warned in view.warnings] == ["closes soon"]
    assert view.cost_so_far == Money.of(lab.price("gpu") / 2, "USD")
    assert view.seats is not None
    assert (view.seats.count, view.seats.seen) == (2, False)
    assert read_lease(ledger, lab, "gpu", "nobody's", EIGHT) is None


def test_a_pool_is_read_with_what_runs_what_the_guard_saw_and_what_comes_next(
    world: LabOnMoto, lab: Lab
) -> None:
    ledger = world.capacity.ledger
    lease = world.lease(nodes=2)
    ledger.plan(
        replace(
            lease,
            id="evening-2026-11-21",
            state=LeaseState.PLANNED,
            opens=EIGHT + 1440 * MINUTE,
            closes=EIGHT + 1620 * MINUTE,
            window="evening",
        )
    )
    ledger.note_gpus("gpu", SeenGpus(1, 2, EIGHT + 5 * MINUTE), None)

    [pool] = ViewReading(ledger, lab, EIGHT + 6 * MINUTE).pools

    assert [each.id for each in pool.leases] == [lease.id]
    assert (pool.gpus_free, pool.gpus_in_use, pool.gpus_per_node) == (1, 1, 1)
    assert pool.next is not None
    assert pool.next.id == "evening-2026-11-21"
    assert [unmet.window.window for unmet in pool.unmet] == ["evening"]
    assert pool.desired is None, "nobody asked AWS"


def test_the_lab_is_read_with_its_windows_its_money_and_its_past(world: LabOnMoto, lab: Lab) -> None:
    ledger = world.capacity.ledger
    ledger.put_receipt("gpu", CLOSED, "evening-2026-11-19", RECEIPT)
    proof = GpuProof(CLOSED, "gpu", "evening-2026-11-19", "g5.xlarge", "passed", ())
    keep_proof(ledger, proof)
    skip_sunday(ledger)

    view = shown(world, lab, minutes=-60)

    windows = [(row.date, row.state) for row in view.windows[:3]]
    assert windows == [
        ("2026-11-20", WindowState.PLANNED),
        ("2026-11-21", WindowState.PLANNED),
        ("2026-11-22", WindowState.SKIPPED),
    ]
    assert str(view.windows[2].because) == "alice skipped evening on 2026-11-22 because nobody comes"
    assert len(view.windows) == 14, "two weeks ahead"
    each = 6 * lab.price("gpu")
    assert view.budget.planned == Money.of(10 * each, "USD"), "to the end of November, less one"
    assert view.budget.forecast == view.budget.planned
    [past] = view.past
    assert (past.lease, past.minutes_to_ready, past.verdict) == ("evening-2026-11-19", 6.5, Outcome.PASSED)
    assert view.proofs == (proof,)
    assert view.findings == ()


def test_a_planned_window_is_read_with_its_last_check_where_the_lab_makes_any(
    world: LabOnMoto, lab: Lab
) -> None:
    lease = "evening-2026-11-20"
    checked = Readiness(lease, "gpu", "evening", "2026-11-20", EIGHT, EIGHT - 120 * MINUTE)
    world.capacity.ledger.keep_readiness(checked)
    guard = lab.guard.model_copy(update={"look_again": [60 * MINUTE]})
    looking = lab.model_copy(update={"guard": guard})

    def readiness(of: Lab, minutes: float) -> list[Readiness]:
        return [row.readiness for row in shown(world, of, minutes).windows if row.readiness is not None]

    assert readiness(looking, -60) == [checked]
    assert readiness(lab, -60) == []
    # It says nothing of a window that is open.
    world.lease(name=lease, window="evening", date="2026-11-20")
    world.capacity.ledger.advance("gpu", lease, LeaseState.OPENING, EIGHT)
    assert readiness(looking, 1) == []


def test_a_receipt_is_read_with_its_times_bandwidth_and_proof(world: LabOnMoto, lab: Lab) -> None:
    ledger = world.capacity.ledger
    ledger.put_receipt("gpu", CLOSED, "evening-2026-11-19", RECEIPT)
    opened = datetime.fromisoformat("2026-11-19T20:00:00+00:00")
    ledger.begin_stage("gpu", "evening-2026-11-19", Stage.NODES, 2, opened)
    ledger.note_progress("gpu", "evening-2026-11-19", Stage.NODES, 2, 2, opened + 6 * MINUTE)
    for lease in ("evening-2026-11-19", "cli-9", None):
        ledger.append_audit(Entry(opened, "gpu", "scaled", "nodegroups", f"for {lease}", "x", lease))

    view = read_receipt(ledger, lab, "gpu", "evening-2026-11-19")

    assert view is not None
    assert (view.gpu_minutes, view.cost, view.overrun) == (
        368,
        Money.of("7.5869", "USD"),
        Money.of("0.1649", "USD"),
    )
    assert [(bar.kind, bar.label, bar.state) for bar in view.bars] == [
        ("lease", "evening-2026-11-19", ""),
        ("node", "i-1", ""),
        ("node", "i-2", "running"),
        ("stage", "nodes", "done"),
    ]
    assert view.bars[3].length == 6 * MINUTE
    assert (view.begins, view.ends) == (opened, CLOSED)
    [bandwidth] = view.bandwidth
    assert (bandwidth.measured, bandwidth.floor is not None) == (Decimal("2.1"), True)
    assert view.proof_of_zero.proven
    assert [entry.what for entry in view.audit] == ["for evening-2026-11-19", "for None"]
    assert [finding.cause for finding in view.findings] == ["no-capacity"]
    assert read_receipt(ledger, lab, "gpu", "nobody's") is None


def test_a_lab_that_was_never_used_can_be_shown(world: LabOnMoto, lab: Lab) -> None:
    view = shown(world, lab, minutes=-60)
    assert (view.past, view.proofs) == ((), ())
    assert view.budget.spent == Money.zero("USD")
    [pool] = view.pools
    assert (pool.leases, pool.verdict, pool.until) == ((), None, None)


@pytest.mark.parametrize("days", [0, 3, 40, 200])
def test_the_next_opening_is_known_however_far_it_is(world: LabOnMoto, lab: Lab, days: int) -> None:
    first = (EIGHT + timedelta(days=days)).date()
    later = lab.windows[0].model_copy(update={"from_": first})
    view = shown(world, lab.model_copy(update={"windows": [later]}), minutes=-60)
    [following] = [pool.next for pool in view.pools]
    assert following is not None
    assert (following.window, following.opens) == ("evening", EIGHT + timedelta(days=days))


def test_a_calendar_that_cannot_be_worked_out_for_a_year_hides_no_pool(world: LabOnMoto, lab: Lab) -> None:
    daily = [f"DTSTART:20261221T{hour:02}0000|DURATION:PT30M|RRULE:FREQ=DAILY" for hour in range(24)] * 3
    address = "https://school.example/course.ics"
    kept = seen(address, read(calendar(*daily)).text, EIGHT)
    world.capacity.ledger.keep_course_copy("course", kept)
    course = Window.model_validate({"name": "course", "nodes": 1, "calendar": address})

    view = shown(world, lab.model_copy(update={"windows": [course]}), minutes=-60)

    assert [(pool.name, pool.next) for pool in view.pools] == [("gpu", None)]


def test_of_a_window_and_a_lease_granted_ahead_the_first_is_next(world: LabOnMoto, lab: Lab) -> None:
    nine_days = 9 * 1440
    world.capacity.ledger.plan(planned("ahead", nine_days, nine_days + 60, state=LeaseState.PLANNED))
    for days, following in ((3, "evening-2026-11-23"), (20, "ahead")):
        later = lab.windows[0].model_copy(update={"from_": (EIGHT + timedelta(days=days)).date()})
        reading = ViewReading(world.capacity.ledger, lab.model_copy(update={"windows": [later]}), EIGHT)
        assert [pool.next and pool.next.id for pool in reading.pools] == [following]


def test_skips_and_pauses_are_read_together_and_nothing_that_lies_between_them(world: LabOnMoto) -> None:
    ledger = world.capacity.ledger
    ledger.note_planned(EIGHT)
    ledger.keep_price("ap-northeast-2", "g5.xlarge", Price(Decimal("1.237"), "USD", Source.PRICE_LIST, EIGHT))
    assert ledger.skips_and_pauses() == ([], [])

    skip_sunday(ledger)
    ledger.begin_last_close("cdk destroy", EIGHT)

    skips, pauses = ledger.skips_and_pauses()
    assert ([skip.date for skip in skips], [pause.by for pause in pauses]) == (
        ["2026-11-22"],
        ["cdk destroy"],
    )
    assert (skips, pauses) == (ledger.skips(), ledger.pauses())


@pytest.mark.usefixtures("world")
def test_what_everybody_asks_for_takes_three_reads(lab: Lab) -> None:
    asked = list[str]()
    with aws_calls.heard(lambda _service, operation, _given: asked.append(operation)):
        reading = ViewReading(Ledger(LEDGER), lab.model_copy(update={"windows": []}), EIGHT + MINUTE)
        assert (len(reading.pools), reading.pause) == (1, None)
    assert sorted(asked) == ["GetItem", "Query", "Query"]
