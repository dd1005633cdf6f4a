"""What people order of the guard: arm, watch, ack and keep, and what a sweep then does differently."""

from typing import Any

from lamplighter.application.guard.preview import would_change
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.application.leases.changes import change
from lamplighter.domain.commands.command import Command
from lamplighter.domain.granting import closing
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Reason, in_english, reason
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LabOnMoto


def say(lab: LabOnMoto, verb: str, **more: object) -> dict[str, object]:
    command = lab.command(verb, lease=None, **more)
    return change({"command": command}, lab.guard_services.lease_services)


def idle(lab: LabOnMoto, until: int, since: int = 0) -> list[Any]:
    """Sweep every quarter of an hour, the longest gap in which idleness goes on; what the sweeps found, by minute."""
    found = []
    for minutes in range(since, until + 1, 15):
        lab.at(minutes)
        breaches: Any = sweep_all(lab.guard_services)["breaches"]
        found += [
            (minutes, each["action"], each["reason"]) for each in breaches if each["rule"] == "idle-lease"
        ]
    return found


def running(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, closes=300)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(1)


def test_a_pool_that_is_watched_is_closed_once_it_is_armed(lab: LabOnMoto) -> None:
    say(lab, "watch")
    lab.scale(1)
    sweep_all(lab.guard_services)
    before = lab.sizes["desiredSize"]

    said = say(lab, "arm", because="the old cron job is gone")
    sweep_all(lab.guard_services)

    assert said["outcome"] == "armed"
    assert (before, lab.sizes["desiredSize"]) == (1, 0)
    [entry] = [each for each in lab.capacity.ledger.audit("gpu", EIGHT) if "enforce" in str(each.what)]
    assert (entry.who, entry.why) == (
        "alice",
        reason("guard.mode.enforce.because", pool="gpu", because="the old cron job is gone"),
    )


def test_arm_shows_what_it_would_close_and_leaves_out_what_is_leased(lab: LabOnMoto) -> None:
    say(lab, "watch")
    lab.lease(nodes=1)
    lab.scale(2)

    shown = would_change(lab.capacity, "gpu", EIGHT)

    assert [(breach.action.value, breach.target) for breach in shown] == [("close", 1)]
    assert isinstance(shown[0].reason, Reason)
    assert shown[0].reason.code == "guard.more-nodes"
    lab.scale(1)
    assert would_change(lab.capacity, "gpu", EIGHT) == []


def test_an_idle_lease_is_warned_about_and_then_closed(lab: LabOnMoto) -> None:
    running(lab)
    lab.cluster.add_node(lab.members[0])

    found = idle(lab, until=75)

    assert [(minutes, action) for minutes, action, _ in found] == [(60, "warn"), (75, "close")]
    assert in_english(read(found[0][2])) == (
        "no pod has held a GPU of pool gpu since 20:00 UTC on 2026-11-20; the guard closes it at 21:15 UTC on "
        "2026-11-20; `lamplighter keep cli-1` keeps it, and so does a pod that asks for a GPU"
    )
    [close] = lab.closes
    assert (close["lease"], close["closes"]) == ("cli-1", "2026-11-21T01:00:00Z")


def test_keep_lets_an_idle_lease_run_and_makes_a_close_on_its_way_stale(lab: LabOnMoto) -> None:
    running(lab)
    lab.cluster.add_node(lab.members[0])
    idle(lab, until=75)
    [close] = lab.closes

    said = say(lab, "keep", because="the data is still coming")

    kept = lab.capacity.ledger.lease("gpu", "cli-1")
    assert kept is not None
    assert (said["outcome"], kept.kept, kept.state) == ("kept", "alice", LeaseState.ADMITTED)
    assert closing.decide(Command.from_json(close), None, [kept], lab.at(76)).over is not None
    assert idle(lab, since=80, until=200) == []


def test_ack_silences_the_pages_of_a_leak_and_not_its_closing(lab: LabOnMoto) -> None:
    lab.capacity.ledger.mark_leaked("gpu", lab.at(0), "i-1 still in EC2")
    lab.cluster.add_node("i-1")
    said = say(lab, "ack", for_seconds=3600)

    actions = []
    for minutes in (20, 40, 65):
        lab.at(minutes)
        breaches: Any = sweep_all(lab.guard_services)["breaches"]
        actions.append([each["action"] for each in breaches if each["rule"] == "leaked"])

    assert said["outcome"] == "acknowledged"
    assert ["page" in each for each in actions] == [False, False, True]
    assert "close" in actions[0]
