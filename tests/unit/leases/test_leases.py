"""The lease steps on a real table and real schedules: grants, extensions, hand-overs, receipts."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config

from handlers.leases import STEPS
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.schedules import UPDATABLE, Schedules
from lamplighter.application.capacity.steps import release
from lamplighter.application.leases.services import LeaseServices
from lamplighter.application.notices.services import NoticeServices
from lamplighter.application.notices.steps import announce, warn
from lamplighter.domain.billing.charge import Charge
from lamplighter.domain.diagnosis.expected import expected
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.notices import opening as announcement_opening
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.schedules.schedule import close_command, open_command
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from tests.drawn import sentence
from tests.leases import EIGHT
from tests.unit.lab_on_moto import ROLE, LabOnMoto
from tests.unit.notices.drawing import drawn

MINUTE = timedelta(minutes=1)
OPENING = {"opens": None, "closes": None, "lease": None, "for_seconds": 7200, "nodes": 2}


def lease_services(lab: LabOnMoto) -> LeaseServices:
    made: LeaseServices = lab.guard_services.lease_services
    return made


def ledger(lab: LabOnMoto) -> Ledger:
    return lab.capacity.ledger


def step(lab: LabOnMoto, name: str, command: Mapping[str, object], **results: object) -> dict[str, Any]:
    return STEPS[name]({"command": command, "results": results}, lease_services(lab))


def asks(lab: LabOnMoto, name: str = "open-1", **more: object) -> dict[str, object]:
    return {**lab.command(), **OPENING, "id": name, **more}


def opened(lab: LabOnMoto, **more: Any) -> Lease:
    """A lease as Admit and ArmFailsafe leave it."""
    command = asks(lab, **more)
    admitted = step(lab, "Admit", command)
    assert admitted["outcome"] == "granted", admitted
    step(lab, "ArmFailsafe", command, Admit=admitted)
    lease = ledger(lab).lease("gpu", admitted["lease"]["id"])
    assert lease is not None
    return lease


def closed(lab: LabOnMoto, command: Mapping[str, object]) -> dict[str, Any]:
    """Runs the lease steps of CloseLab; gives the receipt."""
    restored = step(lab, "RestoreExperiments", command)
    proof = {
        "zero": True,
        "at": instant.written(lab.capacity.now()),
        "desired": 0,
        "instances": [],
        "kubernetes_nodes": [],
    }
    results = {"RestoreExperiments": restored, "ProveZero": proof}
    results["Settle"] = step(lab, "Settle", command, **results)
    step(lab, "Disarm", command, **results)
    told = step(lab, "Receipt", command, **results)
    return next(each for each in ledger(lab).receipts("gpu") if each["lease"] == told["lease"])


def planned(lab: LabOnMoto, name: str, opens: int, closes: int) -> Lease:
    """A window's lease-to-be, in the ledger; minutes after eight."""
    terms = lease_services(lab).terms("gpu")
    begins, ends = EIGHT + opens * MINUTE, EIGHT + closes * MINUTE
    lease = Lease(
        id=f"{name}-2026-11-20",
        pool="gpu",
        nodes=2,
        owner=f"{name}-class",
        source="window",
        state=LeaseState.PLANNED,
        opens=begins,
        closes=ends,
        hold=terms.hold(2, begins, ends),
        window=name,
        date="2026-11-20",
        period=terms.period(begins).key,
    )
    ledger(lab).plan(lease)
    return lease


def schedules() -> dict[str, str]:
    scheduler = boto3.client("scheduler")
    found = scheduler.list_schedules(GroupName="lab")["Schedules"]
    return {
        each["Name"]: scheduler.get_schedule(GroupName="lab", Name=each["Name"])["ScheduleExpression"]
        for each in found
    }


def held(lab: LabOnMoto) -> Money:
    return ledger(lab).budget("2026-11", "USD").held


def spent(lab: LabOnMoto, cost: Money, state: PoolState, budget: BudgetPeriod) -> None:
    """Somebody let nodes run without a lease, for so much."""
    ran = Charge("gpu", EIGHT, NodeTime(60 * MINUTE, cost))
    ledger(lab).charge(ran, [], pool=state, budget=budget, why=None)


def test_a_person_gets_nodes_the_money_is_held_and_the_failsafe_is_armed_first(lab: LabOnMoto) -> None:
    lease = opened(lab)

    assert (lease.nodes, lease.state, lease.closes) == (2, LeaseState.ADMITTED, EIGHT + 120 * MINUTE)
    assert held(lab) == lease.hold == Money.of(lease_services(lab).terms("gpu").price_per_hour * 4, "USD")
    assert schedules() == {
        "failsafe-gpu-10": "at(2026-11-20T22:10:00)",
        "failsafe-gpu-20": "at(2026-11-20T22:20:00)",
        "failsafe-gpu-30": "at(2026-11-20T22:30:00)",
        "failsafe-gpu-40": "at(2026-11-20T22:40:00)",
        f"close-{lease.id}": "at(2026-11-20T22:00:00)",
        f"warn-15-{lease.id}": "at(2026-11-20T21:45:00)",
        f"warn-5-{lease.id}": "at(2026-11-20T21:55:00)",
    }


def test_without_an_armed_failsafe_nobody_gets_a_lease(lab: LabOnMoto) -> None:
    nowhere = boto3.client(
        "scheduler", endpoint_url="http://127.0.0.1:9", config=Config(retries={"total_max_attempts": 1})
    )
    lame = replace(lease_services(lab), failsafes=Schedules("lab", "role", "queue", nowhere))

    with pytest.raises(OutsideFailed, match="scheduler:CreateSchedule on lab/failsafe-gpu-10"):
        STEPS["Admit"]({"command": asks(lab), "results": {}}, lame)

    assert ledger(lab).leases("gpu") == []
    assert held(lab) == Money.zero("USD")


def test_a_failsafe_that_stands_is_only_read_and_what_became_of_its_shots_is_put_right(
    lab: LabOnMoto,
) -> None:
    admitted = step(lab, "Admit", asks(lab))
    armed = schedules()
    scheduler = boto3.client("scheduler")
    written: list[str] = []
    scheduler.meta.events.register(
        "provide-client-params.scheduler.*",
        lambda params, **_: written.append(params["Name"]) if "Target" in params else None,
    )
    dead = f"arn:aws:sqs:{boto3.client('sqs').meta.region_name}:123456789012:dead"
    watched = replace(lease_services(lab), failsafes=Schedules("lab", ROLE, dead, scheduler))
    run = {"command": asks(lab), "results": {"Admit": admitted}}

    STEPS["ArmFailsafe"](run, watched)
    assert written == []

    gone, off = sorted(armed)[:2]
    scheduler.delete_schedule(GroupName="lab", Name=gone)
    found = scheduler.get_schedule(GroupName="lab", Name=off)
    asked: dict[str, Any] = {key: value for key, value in found.items() if key in UPDATABLE}
    scheduler.update_schedule(**{**asked, "State": "DISABLED"})
    written.clear()
    STEPS["ArmFailsafe"](run, watched)
    assert {*written} == {gone, off}
    assert scheduler.get_schedule(GroupName="lab", Name=off)["State"] == "ENABLED"
    assert {name: at for name, at in schedules().items() if name in armed} == armed


def test_the_same_command_gets_the_same_lease_and_holds_once(lab: LabOnMoto) -> None:
    first = step(lab, "Admit", asks(lab))
    lab.at(3)
    second = step(lab, "Admit", asks(lab))

    assert second["lease"]["id"] == first["lease"]["id"]
    assert held(lab) == Money.from_json(first["lease"]["hold"])
    assert ledger(lab).pool("gpu").generation == 1


def test_a_command_replayed_after_its_lease_was_closed_opens_nothing(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(30)
    closed(lab, lab.command("close", lease=lease.id))

    replayed = step(lab, "Admit", asks(lab))

    assert replayed["outcome"] == "refused"
    assert "a command opens once" in sentence(replayed["reason"])
    assert lab.capacity.target("gpu", None).nodes == 0


def test_an_open_pool_says_until_when_and_adds_nodes_only_on_request(lab: LabOnMoto) -> None:
    opened(lab, nodes=1)

    again = step(lab, "Admit", asks(lab, "open-2", nodes=1))
    added = step(lab, "Admit", asks(lab, "open-3", nodes=1, add=True, owner="bob"))

    assert again["outcome"] == "already-open"
    assert "refused" not in {entry.kind for entry in ledger(lab).audit("gpu", EIGHT)}
    assert "until 07:00 on 2026-11-21 (Asia/Seoul)" in sentence(again["reason"])
    assert added["outcome"] == "granted"


def test_why_a_person_asked_stands_in_the_trail_and_on_the_receipt(lab: LabOnMoto) -> None:
    opened(lab, nodes=1)
    added = opened(lab, name="open-2", nodes=1, add=True, owner="bob", because="of the exam")

    granted = [each for each in ledger(lab).audit("gpu", EIGHT) if each.lease == added.id]
    assert "for bob because of the exam" in str(granted[0].why)
    assert closed(lab, lab.command("close", lease=added.id))["because"] == "of the exam"


def test_an_opening_in_the_past_is_now_and_counts_in_this_period(lab: LabOnMoto) -> None:
    lease = opened(lab, opens="2026-09-01T00:00:00Z")

    assert lease.opens == EIGHT
    assert lease.period == "2026-11"


def test_a_window_that_is_granted_late_had_no_nodes_before_that(lab: LabOnMoto) -> None:
    window = planned(lab, "evening", 0, 120)
    lab.at(30)
    step(lab, "Admit", open_command(window).to_json())

    lease = ledger(lab).lease("gpu", window.id)
    assert lease is not None
    assert lease.wanted_before == ((EIGHT + 30 * MINUTE, 0),)


def test_a_full_pool_refuses_and_says_when_it_would_grant(lab: LabOnMoto) -> None:
    opened(lab)

    refused = step(lab, "Admit", asks(lab, "open-2", add=True))

    assert (refused["outcome"], refused["earliest"]) == ("refused", "2026-11-20T22:00:00Z")
    assert "would be 4 of 2 nodes" in sentence(refused["reason"])


def test_a_person_gives_way_to_a_planned_window(lab: LabOnMoto) -> None:
    planned(lab, "evening", 60, 240)

    refused = step(lab, "Admit", asks(lab))

    assert refused["outcome"] == "refused"
    assert "the evening lease (2)" in sentence(refused["reason"])
    assert refused["earliest"] == "2026-11-21T00:00:00Z"


def test_an_expired_command_is_refused_however_late(lab: LabOnMoto) -> None:
    refused = step(lab, "Admit", asks(lab, expires="2026-11-20T20:00:00Z"))

    assert refused["outcome"] == "refused"
    assert "was good until 05:00 on 2026-11-21" in sentence(refused["reason"])


def test_a_command_for_another_generation_is_refused(lab: LabOnMoto) -> None:
    lab.generation_moves()

    refused = step(lab, "Admit", asks(lab, generation=0))

    assert refused["outcome"] == "refused"
    assert "state 0" in sentence(refused["reason"])


def test_the_last_dollar_is_given_away_once(lab: LabOnMoto) -> None:
    state = ledger(lab).pool("gpu")
    budget = ledger(lab).budget("2026-11", "USD")
    dear = Money.of("118", "USD")
    spent(lab, dear, state, budget)

    first = step(lab, "Admit", asks(lab, nodes=1, for_seconds=3600))
    second = step(lab, "Admit", asks(lab, "open-2", nodes=1, for_seconds=3600, add=True))

    assert (first["outcome"], second["outcome"]) == ("granted", "refused")
    assert "is left until 00:00 on 2026-12-01" in sentence(second["reason"])
    assert second["earliest"] == "2026-11-30T15:00:00Z"


def test_extending_moves_the_failsafe_the_end_and_the_hold(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(60)

    extended = step(lab, "Extend", lab.command("extend", lease=lease.id, for_seconds=3600))

    assert extended["outcome"] == "extended"
    assert extended["lease"]["closes"] == "2026-11-20T23:00:00Z"
    assert held(lab) == Money(lease.hold.amount * 3 / 2, "USD")
    found = schedules()
    assert found["failsafe-gpu-10"] == "at(2026-11-20T23:10:00)"
    assert found[f"close-{lease.id}"] == "at(2026-11-20T23:00:00)"


def test_the_close_of_an_end_that_was_moved_closes_nothing(lab: LabOnMoto) -> None:
    lease = opened(lab)
    stale = close_command(lease).to_json()
    step(lab, "Extend", lab.command("extend", lease=lease.id, for_seconds=3600))
    lab.at(120)

    done = step(lab, "RestoreExperiments", stale)

    assert done["over"] is True
    assert "was moved to 08:00" in sentence(done["reason"])
    kept = ledger(lab).lease("gpu", lease.id)
    assert kept is not None
    assert kept.in_force(lab.capacity.now())


def test_an_extension_leaves_planned_windows_their_money(lab: LabOnMoto) -> None:
    lease = opened(lab)
    state, ledger_ = ledger(lab).pool("gpu"), ledger(lab)
    later = planned(lab, "evening", 600, 720)
    rest = lease_services(lab).terms("gpu").budget - lease.hold - later.hold
    spent(lab, rest, state, ledger_.budget("2026-11", "USD"))

    refused = step(lab, "Extend", {**lab.command("extend", lease=lease.id), "for_seconds": 60})

    assert refused["outcome"] == "refused"
    assert reason("audit.extend-refused", pool="gpu") in {
        entry.what for entry in ledger(lab).audit("gpu", EIGHT)
    }
    assert "4.95 USD planned for windows, until" in sentence(refused["reason"])


def test_a_lease_is_not_extended_beyond_the_longest(lab: LabOnMoto) -> None:
    lease = opened(lab)

    refused = step(lab, "Extend", lab.command("extend", lease=lease.id, for_seconds=7 * 3600))

    assert refused["outcome"] == "refused"
    assert "until 13:00" in sentence(refused["reason"])


def test_a_close_ends_the_lease_pays_for_it_and_leaves_a_receipt(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(30)

    receipt = closed(lab, lab.command("close", lease=lease.id))

    assert receipt["lease"] == lease.id
    assert receipt["proof_of_zero"] == {
        "at": "2026-11-20T20:30:00Z",
        "desired": 0,
        "instances": [],
        "kubernetes_nodes": [],
    }
    assert held(lab) == Money.zero("USD")
    assert schedules() == {}
    assert ledger(lab).receipts("gpu") == [receipt]


def test_every_closing_step_may_run_twice(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(120)
    command = close_command(lease).to_json()

    first = closed(lab, command)
    ledger_after = ledger(lab).budget("2026-11", "USD")
    restored = step(lab, "RestoreExperiments", command)

    assert first["lease"] == lease.id
    assert restored["over"] is True
    assert ledger(lab).budget("2026-11", "USD") == ledger_after


def test_a_lease_for_later_gets_a_schedule_and_can_be_cancelled_before_it_begins(lab: LabOnMoto) -> None:
    later = step(lab, "Admit", asks(lab, opens="2026-11-20T23:00:00Z"))
    lease_id = later["lease"]["id"]
    assert (later["outcome"], later["later"]) == ("granted", True)
    assert schedules() == {
        f"open-{lease_id}": "at(2026-11-20T23:00:00)",
        f"warn-15-{lease_id}": "at(2026-11-21T00:45:00)",
        f"warn-5-{lease_id}": "at(2026-11-21T00:55:00)",
        f"close-{lease_id}": "at(2026-11-21T01:00:00)",
    }
    lab.at(10)

    closed(lab, lab.command("close", lease=lease_id))

    assert schedules() == {}
    assert held(lab) == Money.zero("USD")
    gone = ledger(lab).lease("gpu", lease_id)
    assert gone is not None
    assert (gone.state, gone.node_seconds) == (LeaseState.CLOSED, 0)


def test_a_pool_whose_node_group_is_gone_is_refused_with_the_reason(lab: LabOnMoto) -> None:
    boto3.client("eks").delete_nodegroup(clusterName="lab", nodegroupName="lab-ng-gpu")

    refused = step(lab, "Admit", asks(lab))

    assert refused["outcome"] == "refused"
    assert "node group lab-ng-gpu is not in cluster lab" in sentence(refused["reason"])


def test_while_it_closes_early_the_failsafe_moves_nearer(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(30)

    step(lab, "RestoreExperiments", lab.command("close", lease=lease.id))

    assert schedules()["failsafe-gpu-10"] == "at(2026-11-20T20:40:00)"


def test_a_window_that_begins_as_another_ends_takes_its_nodes_over(lab: LabOnMoto) -> None:
    first = planned(lab, "early", 0, 60)
    second = planned(lab, "late", 60, 120)
    step(lab, "Admit", open_command(first).to_json())
    lab.at(60)

    step(lab, "RestoreExperiments", close_command(first).to_json())

    now = ledger(lab).lease("gpu", second.id)
    assert now is not None
    assert now.in_force(lab.capacity.now())
    assert lab.capacity.target("gpu", None).nodes == 2
    assert schedules()["failsafe-gpu-10"] == "at(2026-11-20T22:10:00)"
    again = step(lab, "Admit", open_command(second).to_json())
    assert again["outcome"] == "granted"


def test_the_order_of_a_window_that_was_moved_since_opens_nothing_at_its_old_time(lab: LabOnMoto) -> None:
    """The planner died between the lease and its schedule: the ledger counts, not what was sent before."""
    old = planned(lab, "evening", 60, 180)
    ledger(lab).plan(replace(old, opens=EIGHT + 120 * MINUTE, closes=EIGHT + 150 * MINUTE))
    lab.at(60)

    early = step(lab, "Admit", open_command(old).to_json())
    lab.at(120)
    granted = step(lab, "Admit", {**open_command(old).to_json(), "id": "open-late"})

    assert (early["outcome"], sentence(early["reason"])) == (
        "refused",
        "the evening lease was moved and opens at 07:00 on 2026-11-21 (Asia/Seoul)",
    )
    assert granted["outcome"] == "granted"
    assert granted["lease"]["closes"] == "2026-11-20T22:30:00Z"


def test_a_close_right_before_a_window_waits_for_it(lab: LabOnMoto) -> None:
    lease = opened(lab, for_seconds=1800)
    planned(lab, "evening", 31, 120)
    lab.at(30.5)

    with pytest.raises(TryLater, match="takes over"):
        step(lab, "RestoreExperiments", close_command(lease).to_json())


def test_a_failed_opening_is_closed_by_its_command_alone(lab: LabOnMoto) -> None:
    lease = opened(lab)
    cause = '{"errorMessage": "the validator is stuck", "errorType": "OutsideFailed"}'

    done = step(
        lab,
        "RestoreExperiments",
        lab.command(
            "close", lease=None, opened_by="open-1", source="guard", because=f"OutsideFailed: {cause}"
        ),
    )

    assert done["closing"] == [lease.id]
    assert sentence(done["reason"]) == "OutsideFailed: the validator is stuck"


def test_a_run_that_found_the_pool_open_and_failed_closes_nobodys_lease(lab: LabOnMoto) -> None:
    theirs = opened(lab)
    found = step(lab, "Admit", asks(lab, "open-2", owner="bob", by="bob"))

    failed = lab.command("close", lease=None, opened_by="open-2", source="guard", because="no answer came")
    done = step(lab, "RestoreExperiments", failed)

    assert found["outcome"] == "already-open"
    assert done["closing"] == []
    assert [lease.granted for lease in ledger(lab).leases("gpu") if lease.id == theirs.id] == [True]


def test_proven_gpus_are_announced_and_stand_in_the_receipt(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(7)
    verdict = {"check": "vectorAdd", "node": "n1", "verdict": "passed", "reason": "ok", "measurements": {}}
    run = {
        "command": asks(lab),
        "results": {
            "Admit": {"outcome": "granted", "lease": lease.to_json(), "later": False},
            "AwaitNodes": {"wanted": 2, "instances": [], "shortage": None},
            "AwaitGpus": {"nodes": [{"name": "n1", "ready": True}, {"name": "n2", "ready": True}]},
            "Validate": {"verdict": "passed", "at": "2026-11-20T20:07:00Z", "counts": {"passed": 1}},
        },
    }

    ledger(lab).keep_rows("gpu", lease.id, EIGHT + 7 * MINUTE, [verdict])

    said = announce(run, voice(lab))
    lab.at(120)
    receipt = closed(lab, close_command(lease).to_json())

    assert read(said["subject"]) == reason("notice.open.subject", pool="gpu", until=lease.closes)
    assert receipt["minutes_to_ready"] == 7.0
    assert receipt["verdicts"] == [verdict]


def test_a_lease_beside_another_counts_the_nodes_of_both(lab: LabOnMoto) -> None:
    lease = opened(lab, nodes=1)
    results: dict[str, Any] = {
        "Admit": {"outcome": "granted", "lease": lease.to_json(), "later": False},
        "AwaitNodes": {"wanted": 2, "instances": [], "shortage": None},
        "AwaitGpus": {"nodes": [{"name": "n1", "ready": True}, {"name": "n2", "ready": True}]},
    }

    said = drawn(announcement_opening.of_opening("gpu", lease, results))

    assert said.text.startswith("2 of 2 nodes are ready")


def test_what_a_shortage_keeps_away_is_not_held_until_it_is_asked_for_again(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(60)
    admit = {"outcome": "granted", "lease": lease.to_json(), "later": False}
    results = {
        "Admit": admit,
        "AwaitNodes": {"wanted": 2, "instances": [{"id": "i-1"}], "shortage": "1 of 2 nodes: no capacity"},
        "AwaitGpus": {"nodes": [{"name": "n1", "ready": True}]},
    }

    said = announce({"command": asks(lab), "results": results}, voice(lab))
    assert said["kind"] == "degraded"
    lab.scale(1)
    released = release({"command": asks(lab), "results": results}, lab.capacity)

    assert released == {"over": False, "missing": 1}
    assert held(lab) == Money(lease.hold.amount * 3 / 4, "USD")
    assert lab.capacity.target("gpu", None).nodes == lab.sizes["desiredSize"] == 1
    assert release({"command": asks(lab), "results": results}, lab.capacity)["missing"] == 0
    lab.at(90)
    step(lab, "ArmFailsafe", asks(lab), Admit=admit)
    assert held(lab) == Money(lease.hold.amount * 7 / 8, "USD")
    again = ledger(lab).lease("gpu", lease.id)
    assert again is not None
    assert (again.nodes, again.missing) == (2, 0)
    assert again.wanted_before == ((EIGHT + timedelta(minutes=60), 2), (EIGHT + timedelta(minutes=90), 1))


def test_what_a_shortage_keeps_away_is_expected_all_the_same(lab: LabOnMoto) -> None:
    short = replace(opened(lab), nodes=2, missing=1)

    wanted = expected("gpu", [short], EIGHT + MINUTE, max_nodes=2, instance_type="g5.xlarge")

    assert wanted.nodes == 2


def test_two_leases_never_miss_one_node(lab: LabOnMoto) -> None:
    first = opened(lab, nodes=1)
    lab.at(10)
    second = opened(lab, nodes=1, name="open-2", add=True)
    whole = held(lab)
    lab.scale(1)
    for lease, asked in ((first, asks(lab)), (second, asks(lab, "open-2"))):
        admit = {"outcome": "granted", "lease": lease.to_json(), "later": False}
        results = {"Admit": admit, "AwaitNodes": {"wanted": 2, "shortage": "1 of 2 nodes: no capacity"}}
        release({"command": asked, "results": results}, lab.capacity)

    there = {lease.id: lease.missing for lease in ledger(lab).leases("gpu")}
    assert there == {first.id: 0, second.id: 1}
    assert held(lab) == whole - second.hold


def test_without_money_for_what_is_missing_the_lease_keeps_what_came(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(60)
    state, budget = ledger(lab).pool("gpu"), ledger(lab).budget("2026-11", "USD")
    ledger(lab).rehold(lease, replace(lease, missing=1), pool=state, budget=budget, why=_any_entry())
    dear = lease_services(lab).terms("gpu").budget - lease.hold
    state = ledger(lab).pool("gpu")
    spent(lab, dear, state, ledger(lab).budget("2026-11", "USD"))

    admit = {"outcome": "granted", "lease": lease.to_json(), "later": False}
    step(lab, "ArmFailsafe", asks(lab), Admit=admit)

    assert lab.capacity.target("gpu", None).nodes == 1


def test_a_warning_for_an_end_that_was_moved_is_not_said(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(105)
    run = {"command": close_command(lease).to_json(), "results": {}}

    assert warn(run, voice(lab))["announced"] is True
    step(lab, "Extend", lab.command("extend", lease=lease.id, for_seconds=3600))
    assert warn(run, voice(lab))["announced"] is False


def voice(lab: LabOnMoto) -> NoticeServices:
    topic = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
    return NoticeServices(lab.lab, ledger(lab), Notices(topic))


def _any_entry() -> Any:
    from lamplighter.domain.audit.entry import Entry  # noqa: PLC0415

    return Entry(EIGHT, "gpu", "metered", "test", "spent most of it", "to leave little")
