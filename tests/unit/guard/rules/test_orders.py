"""What people order of the guard: arm, watch, ack and keep, and what a sweep then does differently."""

from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lamplighter.application.guard.preview import would_change
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.application.leases.changes import change
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.commands.command import Command
from lamplighter.domain.granting import closing
from lamplighter.domain.granting.idleness import allowed
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.document import document, read
from lamplighter.reasons.reason import Reason, draw, in_english, reason
from tests.unit.lab_on_moto import EIGHT, LabOnMoto


def say(lab: LabOnMoto, verb: str, **more: object) -> dict[str, object]:
    command = lab.command(verb, lease=None, **more)
    return change({"command": command}, lab.guard_services.lease_services)


def pods_hold_gpus(lab: LabOnMoto) -> None:
    for instance in lab.members:
        lab.cluster.add_node(instance)
        lab.cluster.add_pod(f"work-{instance}", instance)
        lab.cluster.pods[-1]["spec"]["containers"] = [
            {"resources": {"limits": {"nvidia.com/mig-1g.5gb": "1"}}}
        ]


def idle(lab: LabOnMoto, until: int, since: int = 0) -> list[Any]:
    """Sweep every five minutes while no pod holds a GPU; what the sweeps found, by minute."""
    found = []
    for minutes in range(since, until + 1, 5):
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


def test_arm_shows_nothing_where_all_is_well(lab: LabOnMoto) -> None:
    assert would_change(lab.capacity, "gpu", EIGHT) == []


def test_an_order_that_changes_nothing_says_so(lab: LabOnMoto) -> None:
    assert say(lab, "arm") == {
        "outcome": "unchanged",
        "reason": document(reason("guard.mode.already", pool="gpu", mode="enforce")),
        "lease": None,
        "calendar": False,
    }


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


def test_nodes_that_never_joined_the_cluster_are_idle_too(lab: LabOnMoto) -> None:
    running(lab)

    assert [(minutes, action) for minutes, action, _ in idle(lab, until=75)] == [(60, "warn"), (75, "close")]


def test_a_cluster_that_does_not_answer_calls_nothing_idle(lab: LabOnMoto) -> None:
    def unreachable() -> Any:
        raise OutsideFailed("eks:DescribeCluster on lab got no answer")

    running(lab)
    lab.guard_services.connect = unreachable

    assert idle(lab, until=90) == []


def test_a_pod_that_holds_part_of_a_gpu_keeps_a_lease(lab: LabOnMoto) -> None:
    running(lab)
    pods_hold_gpus(lab)

    assert idle(lab, until=90) == []
    assert lab.capacity.ledger.pool("gpu").idle_since is None


def test_work_between_the_warning_and_the_close_starts_the_time_anew(lab: LabOnMoto) -> None:
    running(lab)
    lab.cluster.add_node(lab.members[0])
    warned = idle(lab, until=60)
    lab.cluster.nodes.clear()
    pods_hold_gpus(lab)
    lab.at(65)
    sweep_all(lab.guard_services)
    lab.cluster.pods.clear()

    again = idle(lab, since=70, until=145)

    assert [minutes for minutes, _, _ in warned] == [60]
    assert [(minutes, action) for minutes, action, _ in again] == [(130, "warn"), (145, "close")]


def test_a_gap_in_the_looks_is_never_called_idle(lab: LabOnMoto) -> None:
    running(lab)
    lab.cluster.add_node(lab.members[0])
    idle(lab, until=30)

    assert idle(lab, since=50, until=105) == []
    assert [minutes for minutes, _, _ in idle(lab, since=110, until=110)] == [110]


def test_a_window_is_not_closed_for_being_idle(lab: LabOnMoto) -> None:
    lease = replace(lab.lease(nodes=1, closes=300), window="evening")
    assert allowed(lease, lab.lab) is None


def test_keep_lets_an_idle_lease_run_and_makes_a_close_on_its_way_stale(lab: LabOnMoto) -> None:
    running(lab)
    lab.cluster.add_node(lab.members[0])
    idle(lab, until=75)
    [close] = lab.closes

    said = say(lab, "keep", because="the data is still coming")

    kept = lab.capacity.ledger.lease("gpu", "cli-1")
    assert kept is not None
    assert (said["outcome"], kept.kept, kept.state) == ("kept", "alice", LeaseState.ADMITTED)
    decided = closing.decide(Command.from_json(close), None, [kept], lab.at(76))
    assert decided.over is not None
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


@pytest.mark.parametrize(
    ("verb", "why"),
    [
        ("ack", reason("guard.ack.not-leaked", pool="gpu")),
        ("keep", reason("guard.keep.none-in-force", pool="gpu")),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(lab: LabOnMoto, verb: str, why: Reason) -> None:
    answer = say(lab, verb)

    assert (answer["outcome"], read(answer["reason"])) == ("refused", why)


@pytest.mark.parametrize(
    ("seconds", "outcome"), [(12 * 60 * 60, "acknowledged"), (12 * 60 * 60 + 1, "refused")]
)
def test_nobody_silences_a_leak_for_longer_than_half_a_day(
    lab: LabOnMoto, seconds: int, outcome: str
) -> None:
    lab.capacity.ledger.mark_leaked("gpu", lab.at(0), "i-1 still in EC2")

    said = say(lab, "ack", for_seconds=seconds)

    assert said["outcome"] == outcome
    code = "guard.ack.granted" if outcome == "acknowledged" else "guard.ack.too-long"
    why = read(said["reason"])
    assert isinstance(why, Reason)
    assert why.code == code


def test_people_are_answered_by_the_labs_own_clock(lab: LabOnMoto) -> None:
    running(lab)

    said = say(lab, "keep")

    drawn = draw(read(said["reason"]), ENGLISH, clock_of(ZoneInfo("Asia/Seoul")))
    assert drawn == "alice's lease is kept until 10:00 on 2026-11-21 (Asia/Seoul), idle or not, by alice"
