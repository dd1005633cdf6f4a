"""The steps of leases on the lab on moto: who asks, what Admit and CloseLab leave, and others who write meanwhile."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3

from handlers.leases import STEPS
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.leases.services import LeaseServices
from lamplighter.application.notices.services import NoticeServices
from lamplighter.domain.billing.charge import Charge
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.pool.pool import PoolState
from lamplighter.values import instant
from tests.builders import leases
from tests.builders.leases import EIGHT, MINUTE
from tests.unit import aws_calls
from tests.unit.lab_on_moto import LEDGER, LabOnMoto

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
    return lab.kept(admitted["lease"]["id"])


def closed(lab: LabOnMoto, command: Mapping[str, object]) -> dict[str, Any]:
    """Runs the lease steps of CloseLab; gives the receipt."""
    restored = step(lab, "RestoreExperiments", command)
    minutes = (lab.capacity.now() - EIGHT) / MINUTE
    proof_of_zero = {**proof(minutes), "instances": [], "kubernetes_nodes": []}
    results: dict[str, object] = {"RestoreExperiments": restored, "ProveZero": proof_of_zero}
    results["Settle"] = step(lab, "Settle", command, **results)
    step(lab, "Disarm", command, **results)
    told = step(lab, "Receipt", command, **results)
    return next(each for each in ledger(lab).receipts("gpu") if each["lease"] == told["lease"])


def planned(lab: LabOnMoto, name: str, opens: int, closes: int) -> Lease:
    """A window's lease-to-be, in the ledger; minutes after eight."""
    terms = lease_services(lab).terms("gpu")
    begins, ends = EIGHT + opens * MINUTE, EIGHT + closes * MINUTE
    lease = leases.lease(
        f"{name}-2026-11-20",
        opens,
        closes,
        owner=f"{name}-class",
        state=LeaseState.PLANNED,
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


def voice(lab: LabOnMoto) -> NoticeServices:
    topic = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
    return NoticeServices(lab.lab, ledger(lab), Notices(topic))


@contextmanager
def others_write_first(lab: LabOnMoto, times: int = 99) -> Iterator[list[str]]:
    """Before each of so many transactions somebody else moves pool and budget; gives the transactions."""
    seen: list[str] = []

    def move(_service: str, operation: str, _given: object) -> None:
        if operation != "TransactWriteItems":
            return
        seen.append(operation)
        if len(seen) <= times:
            lab.generation_moves()
            for period in ("2026-11", ""):
                _raise_version(period)

    with aws_calls.heard(move):
        yield seen


def _raise_version(period: str) -> None:
    boto3.client("dynamodb").update_item(
        TableName=LEDGER,
        Key={"pk": {"S": "LAB"}, "sk": {"S": f"BUDGET#{period}"}},
        UpdateExpression="ADD version :one SET held = :nothing, spent = :nothing",
        ExpressionAttributeValues={
            ":one": {"N": "1"},
            ":nothing": {"M": {"amount": {"S": "0"}, "currency": {"S": "USD"}}},
        },
    )


def of(lease: str, **values: dict[str, Any]) -> None:
    """Writes what the ledger has of a lease."""
    dynamodb: Any = boto3.client("dynamodb")
    dynamodb.update_item(
        TableName=LEDGER,
        Key={"pk": {"S": "POOL#gpu"}, "sk": {"S": f"LEASE#{lease}"}},
        UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
        ExpressionAttributeNames={f"#{name}": name for name in values},
        ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
    )


def proof(minutes: float) -> dict[str, object]:
    return {"zero": True, "at": instant.written(EIGHT + minutes * MINUTE), "desired": 0}
