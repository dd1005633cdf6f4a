"""What the guard does about a breach, which close it starts, what it writes down, and whom it notifies or pages."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from moto.sns.models import sns_backends

from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.guard.acts import act
from lamplighter.application.guard.facts import gather
from lamplighter.application.guard.services import GuardServices, gather_lab
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.application.leases.changes import change
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.pool.pool import Phase
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import Reason
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LAB, REGION, Busy, LabOnMoto

SECOND = 1 / 60
ALWAYS = EIGHT - timedelta(days=2)


def silent() -> Connection:
    raise OutsideFailed("eks:DescribeCluster on lab got no answer")


def facts(lab: LabOnMoto) -> PoolFacts:
    return gather(lab.guard_services, "gpu", gather_lab(lab.guard_services))


def does(lab: LabOnMoto, rule: Rule, action: GuardAction, **more: Any) -> bool:
    return act(lab.guard_services, facts(lab), Breach(rule, "so it is", action, **more))


def trail(lab: LabOnMoto) -> list[Entry]:
    return [each for each in lab.capacity.ledger.audit("gpu", ALWAYS) if "rule" in each.details]


def paged(lab: LabOnMoto) -> list[bool]:
    return [each.details.get("paged") == "yes" for each in trail(lab)]


def sent(topic: str) -> list[str]:
    arn = f"arn:aws:sns:{REGION}:123456789012:{topic}"
    return [
        f"{each[2]}: {each[1]}"
        for each in sns_backends["123456789012"][REGION].topics[arn].sent_notifications
    ]


@pytest.mark.parametrize(
    ("rule", "action", "kind", "told"),
    [
        (Rule.NODE_WITHOUT_LEASE, GuardAction.CLOSE, "breach", True),
        (Rule.STRAY_INSTANCE, GuardAction.TERMINATE, "breach", True),
        (Rule.FAILSAFE_WRONG, GuardAction.REARM, "breach", True),
        (Rule.FAILSAFE_LEFT, GuardAction.DISARM, "breach", False),
        (Rule.SIZES_CHANGED, GuardAction.RESTORE_SIZES, "breach", True),
        (Rule.CURFEW_WRONG, GuardAction.SWITCH_CURFEW, "breach", False),
        (Rule.NODE_UNPROTECTED, GuardAction.PROTECT, "noted", False),
        (Rule.IDLE_LEASE, GuardAction.WARN, "warned", False),
        (Rule.SIZES_CHANGED, GuardAction.NOTE, "noted", False),
        (Rule.SECOND_CLAIM, GuardAction.SAY, "breach", True),
        (Rule.LEAKED, GuardAction.MARK_LEAKED, "leaked", True),
        (Rule.LEAKED, GuardAction.PAGE, "leaked", True),
        (Rule.LEAKED, GuardAction.SAY, "leaked", True),
        (Rule.LEAKED, GuardAction.CLOSE, "leaked", False),
        (Rule.LEAKED, GuardAction.TERMINATE, "leaked", False),
    ],
)
def test_what_is_done_stands_in_the_trail_and_pages_where_a_person_is_needed(
    lab: LabOnMoto, rule: Rule, action: GuardAction, kind: str, *, told: bool
) -> None:
    assert does(lab, rule, action, lease="cli-1", target=1) is True

    [entry] = trail(lab)
    assert (entry.kind, entry.who, entry.why) == (kind, "guard", "so it is")
    assert entry.what == Reason(f"guard.did.{action}", {"pool": "gpu"})
    assert (entry.lease, entry.nodes) == ("cli-1", 1)
    assert entry.details == {"rule": rule, "action": action, **({"paged": "yes"} if told else {})}
    assert len(sent("pages")) == told


@pytest.mark.parametrize("action", [GuardAction.RESTORE, GuardAction.RECOVER])
def test_what_there_is_nothing_of_is_not_done_and_not_said(lab: LabOnMoto, action: GuardAction) -> None:
    assert does(lab, Rule.NO_LONGER_LEAKED, action) is False
    assert trail(lab) == []


@pytest.mark.parametrize(("leased", "phase"), [(True, Phase.OPEN), (False, Phase.CLOSED)])
def test_a_leak_that_is_over_is_paged_and_has_a_phase(lab: LabOnMoto, phase: Phase, *, leased: bool) -> None:
    lab.capacity.ledger.mark_leaked("gpu", EIGHT, "i-1 still in EC2")
    if leased:
        lab.lease(nodes=1)

    assert does(lab, Rule.NO_LONGER_LEAKED, GuardAction.RECOVER) is True

    state = lab.capacity.ledger.pool("gpu")
    assert (state.leaked_since, state.phase) == (None, phase)
    assert paged(lab) == [True]


def unheard(lab: LabOnMoto) -> GuardServices:
    """Neither the topic nor the function takes a page."""
    return replace(lab.guard_services, pages=Notices(f"arn:aws:sns:{REGION}:123456789012:gone"))


def test_a_page_that_nobody_took_comes_with_the_next_sweep_and_once(lab: LabOnMoto) -> None:
    # given a leak that is over, and a sweep that says so to nobody
    lab.capacity.ledger.mark_leaked("gpu", EIGHT, "i-1 still in EC2")
    sweep_all(unheard(lab))
    assert lab.capacity.ledger.pool("gpu").leaked_since is None
    assert (paged(lab), sent("pages")) == ([False], [])

    # when nobody takes it in the next sweep either, and somebody does in the third
    for minutes in (5, 10, 15):
        lab.at(minutes)
        sweep_all(unheard(lab) if minutes == 5 else lab.guard_services)

    # then it is paged once
    assert paged(lab) == [False, False, True]
    [page] = sent("pages")
    assert "no-longer-leaked" in page


def test_a_page_about_what_goes_on_is_tried_once_a_sweep_until_somebody_takes_it(lab: LabOnMoto) -> None:
    lab.scale(1)
    for minutes in (0, 1, 6):
        lab.at(minutes)
        tries = len(attempts(lab))
        sweep_all(unheard(lab) if minutes < 6 else lab.guard_services)
        assert len(attempts(lab)) == tries + 1

    assert [each.details["paged"] for each in attempts(lab)] == ["no", "no", "yes"]
    assert len(sent("pages")) == 1


def test_a_report_that_nobody_took_comes_again_as_a_report(lab: LabOnMoto) -> None:
    # given a report, which announces no end
    before = facts(lab)
    act(unheard(lab), before, Breach(Rule.GPU_OUTSIDE_POOLS, "so it is", GuardAction.SAY))

    # when nobody takes it in the next sweep either, and somebody does in the third
    for minutes in (5, 10, 15):
        lab.at(minutes)
        sweep_all(unheard(lab) if minutes == 5 else lab.guard_services)

    # then it is told once, and is still what it was
    assert [(each.details["action"], each.details["paged"]) for each in attempts(lab)] == [
        ("say", "no"), ("say", "no"), ("say", "yes"),
    ]  # fmt: skip
    assert len(sent("pages")) == 1


def attempts(lab: LabOnMoto) -> list[Entry]:
    return [each for each in trail(lab) if "paged" in each.details]


def test_what_goes_on_is_paged_once_and_another_rule_or_lease_by_itself(lab: LabOnMoto) -> None:
    for rule, lease in (
        (Rule.STRAY_INSTANCE, None),
        (Rule.STRAY_INSTANCE, None),
        (Rule.STRAY_INSTANCE, "cli-1"),
        (Rule.NODE_WITHOUT_LEASE, None),
    ):
        does(lab, rule, GuardAction.TERMINATE, lease=lease)

    assert paged(lab) == [True, False, True, True]


def test_an_end_announced_after_a_report_is_paged_as_well(lab: LabOnMoto) -> None:
    does(lab, Rule.GPU_OUTSIDE_POOLS, GuardAction.SAY, subject="i-1")
    lab.at(5)
    does(lab, Rule.GPU_OUTSIDE_POOLS, GuardAction.PAGE, subject="i-1")

    assert (paged(lab), len(sent("pages"))) == ([True, True], 2)


def test_where_kubernetes_or_eks_cannot_be_asked_nothing_is_done_and_nothing_said(lab: LabOnMoto) -> None:
    seen = facts(lab)
    lab.port.nodegroups = Busy(LAB)

    assert act(lab.guard_services, seen, Breach(Rule.SIZES_CHANGED, "", GuardAction.RESTORE_SIZES)) is False
    guard_services = replace(lab.guard_services, connect=silent)
    assert act(guard_services, seen, Breach(Rule.NODE_UNPROTECTED, "", GuardAction.PROTECT)) is False
    assert trail(lab) == []


def test_people_are_told_of_the_very_lease_that_ends_and_of_its_end(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.lease(nodes=1, name="cli-2", owner="bob")
    lab.at(3)

    does(lab, Rule.IDLE_LEASE, GuardAction.WARN, lease="cli-2")
    does(lab, Rule.IDLE_LEASE, GuardAction.WARN, lease="gone")

    [said] = sent("notices")
    assert "cli-2, bob: so it is" in said
    assert "05:18" in said


def test_what_is_only_watched_is_said_again_after_a_day(lab: LabOnMoto) -> None:
    change({"command": lab.command("watch", lease=None)}, lab.guard_services.lease_services)
    lab.scale(1)
    said = []
    for minutes in (0, 5, 24 * 60 - SECOND, 24 * 60, 24 * 60 + 5):
        lab.at(minutes)
        does(lab, Rule.NODE_WITHOUT_LEASE, GuardAction.SAY)
        said.append(len(trail(lab)))
    does(lab, Rule.NODE_WITHOUT_LEASE, GuardAction.SAY, lease="cli-1")

    assert said == [1, 1, 1, 2, 2]
    assert paged(lab) == [True, True, True]


@pytest.mark.parametrize(("seconds", "done"), [(90, False), (91, True)])
def test_a_shot_about_to_fire_is_not_looked_at(lab: LabOnMoto, seconds: int, *, done: bool) -> None:
    lab.lease(nodes=1, opens=-60, closes=0)
    lab.guard_services.lease_services.arm("gpu")
    lab.guard_services.lease_services.failsafes.delete(["failsafe-gpu-10"])
    lab.at(10 - seconds * SECOND)

    assert does(lab, Rule.FAILSAFE_WRONG, GuardAction.REARM) is done
    assert does(lab, Rule.FAILSAFE_WRONG, GuardAction.CLOSE, lease="cli-1", target=0) is False


def test_the_close_of_a_pool_is_good_for_an_hour_and_named_by_its_five_minutes(lab: LabOnMoto) -> None:
    lab.scale(1)
    lab.at(8)

    sweep_all(lab.guard_services)

    [close] = lab.closes
    assert (close["id"], close["issued"]) == ("guard-gpu-pool-20261120T2005Z", "2026-11-20T20:08:00Z")
    assert close["expires"] == "2026-11-20T21:08:00Z"
    assert (close.get("closes"), close.get("generation")) == (None, None)


def test_the_nodes_of_a_lease_are_left_to_its_close(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=-60, closes=0)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(1)
    lab.at(3)

    assert does(lab, Rule.LEASE_PAST_ITS_END, GuardAction.CLOSE, lease="cli-1", target=0) is True

    [close] = lab.closes
    assert (close["id"], close["closes"], close["generation"]) == (
        "guard-gpu-cli-1-20261120T2000Z",
        "2026-11-20T20:00:00Z",
        0,
    )
    assert lab.sizes["desiredSize"] == 1


def test_the_close_of_a_lease_that_is_being_closed_is_for_no_end_of_it(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    closing = lab.capacity.ledger.leases("gpu")
    why = Entry(EIGHT, "gpu", "closing", "alice", "closes", "so it is")
    lab.capacity.ledger.begin_closing(closing, lab.capacity.ledger.pool("gpu"), EIGHT, why)
    assert [each.state for each in lab.capacity.ledger.leases("gpu")] == [LeaseState.CLOSING]

    does(lab, Rule.CLOSING_ABANDONED, GuardAction.CLOSE, lease="cli-1", target=0)

    [close] = lab.closes
    assert (close.get("closes"), close.get("generation"), close["lease"]) == (None, None, "cli-1")


def test_a_surplus_beside_a_lease_is_left_to_its_close(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(2)

    assert does(lab, Rule.MORE_NODES_THAN_LEASES, GuardAction.CLOSE, target=1) is True

    assert (lab.sizes["desiredSize"], len(lab.closes)) == (2, 1)


def test_the_close_of_another_lease_is_not_held_up_by_one_that_was_started(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=-60, closes=0)
    lab.lease(nodes=1, opens=-60, closes=0, name="cli-2")

    for name in ("cli-1", "cli-1", "cli-2"):
        does(lab, Rule.LEASE_PAST_ITS_END, GuardAction.CLOSE, lease=name, target=0)

    assert [close["lease"] for close in lab.closes] == ["cli-1", "cli-2"]
