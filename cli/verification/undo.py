"""What `lamplighter verify` undoes, written down before it is done, so that a later run can undo it too.

Each may be undone twice, and where it was never done.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Self

from cli.use import orders
from cli.verification.account import OVER, Account
from cli.verification.outcome import Unfit
from lamplighter.adapters.aws.cloudformation import Stacks
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.adapters.capacity.node_pool.lock import Lock
from lamplighter.domain.capacity.node_pool.off_switch import Rail
from lamplighter.domain.capacity.node_pool.roles import launching_role
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.orders import EXPIRES_AFTER, closing
from lamplighter.domain.leases.lease import Lease

MINUTES_TO_ZERO = 45
TAG = "lamplighter-verify"
LISTED_WITHIN = timedelta(minutes=1)
MINUTES_OF_RUN = 10
"""The failsafe's machine gives up half a minute earlier."""
RAILS = Rail.KUBERNETES, Rail.EC2
"""Those of Karpenter's pools, which a step plays."""
ABSENT = frozenset({"ResourceNotFoundException"})


class UndoKind(StrEnum):
    STACK = "stack"
    TABLE = "table"
    CONCURRENCY = "concurrency"
    LEASE = "lease"
    SIZE = "size"
    INSTANCES = "instances"
    LOCK = "lock"


@dataclass(frozen=True)
class Undo:
    """One thing to undo: its kind and name; a lease is `LAB/POOL/REASON`, a size `LAB/POOL/GROUP`, a lock
    `LAB/POOL/RUNS`, instances the value of their tag.

    `value` is the concurrency that was there before, None where none was; of a lease, the second since 1970 from which
    the lab grants its order no more.
    """

    kind: UndoKind
    name: str
    value: int | None = None

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "kind": self.kind.value}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        value = document.get("value")
        return cls(
            UndoKind(str(document["kind"])), str(document["name"]), None if value is None else int(str(value))
        )

    @property
    def what(self) -> str:
        """What would be left, for people."""
        return f"{self.kind.value} {self.name}"


def undo(account: Account, it: Undo) -> None:
    """Undo it, and wait until it is undone."""
    match it.kind:
        case UndoKind.STACK:
            account.delete_stack(it.name)
        case UndoKind.TABLE:
            _delete_table(account, it.name)
        case UndoKind.CONCURRENCY:
            _give_back_concurrency(account, it)
        case UndoKind.LEASE:
            _close(account, it)
        case UndoKind.SIZE:
            _to_zero(account, it.name)
        case UndoKind.INSTANCES:
            _terminate(account, it.name)
        case UndoKind.LOCK:
            _unlock(account, it.name)


def table_is_absent(account: Account, name: str) -> bool:
    """Whether DynamoDB has no such table."""
    return account.attempt(ABSENT, "dynamodb", "describe_table", name, TableName=name) is None


def _delete_table(account: Account, name: str) -> None:
    if account.attempt(ABSENT, "dynamodb", "delete_table", name, TableName=name) is not None:
        account.until(
            f"the table {name} is deleted", timedelta(minutes=5), lambda: table_is_absent(account, name)
        )


def _give_back_concurrency(account: Account, it: Undo) -> None:
    """Unless somebody has changed it since, a deploy for example."""
    request: dict[str, object] = {"FunctionName": it.name}
    found = account.attempt(ABSENT, "lambda", "get_function_concurrency", it.name, **request)
    if found is None or found.get("ReservedConcurrentExecutions") != 0:
        return
    operation = "delete_function_concurrency"
    if it.value is not None:
        operation, request = "put_function_concurrency", {**request, "ReservedConcurrentExecutions": it.value}
    account.attempt(ABSENT, "lambda", operation, it.name, **request)


def _close(account: Account, it: Undo) -> None:
    """Close the lease that a step ordered, and no other. An order without an answer may still be granted."""
    lab, pool, because = it.name.split("/")
    if _is_gone(account, lab):
        return
    last = datetime.fromtimestamp(it.value or 0, UTC)

    def ordered() -> list[Lease]:
        return [lease for lease in account.lab.ledger.leases(pool) if lease.because == because]

    account.until(
        f"the lab answers the order of {because}",
        EXPIRES_AFTER + timedelta(minutes=1),
        lambda: bool(ordered()) or account.clock() > last,
    )
    for lease in ordered():
        if lease.state not in OVER:
            order = closing(orders.order(account.lab, Verb.CLOSE, pool), lease)
            orders.start(account.lab, orders.concerning(order, lease))
    account.until(
        f"the lease on {pool} is closed",
        timedelta(minutes=MINUTES_TO_ZERO),
        lambda: all(lease.state in OVER for lease in ordered()),
    )


def _to_zero(account: Account, name: str) -> None:
    """Order zero nodes, unless a lease of the pool has begun since: then the lab says how many run."""
    lab, pool, group = name.split("/")
    if _is_gone(account, lab) or account.leased(account.clock(), pool):
        return
    request = {"AutoScalingGroupName": group, "DesiredCapacity": 0, "MinSize": 0}
    account.call("autoscaling", "update_auto_scaling_group", group, **request)
    zero = timedelta(minutes=MINUTES_TO_ZERO)
    account.until(
        f"the pool {pool} has no instance", zero, lambda: not account.lab.capacity.see(pool).existing
    )


def instances(account: Account, value: str, *states: str) -> list[str]:
    """The instances with this value of the tag, in these states."""
    filters = [
        {"Name": f"tag:{TAG}", "Values": [value]},
        {"Name": "instance-state-name", "Values": list(states)},
    ]
    pages = account.call("ec2", "describe_instances", value, Filters=filters)["Reservations"]
    return [instance["InstanceId"] for page in pages for instance in page["Instances"]]


def _terminate(account: Account, value: str) -> None:
    """Also those whose start had no answer: EC2 may list them later."""
    listed = account.clock() + LISTED_WITHIN

    def gone() -> bool:
        alive = instances(account, value, "pending", "running", "stopping", "stopped")
        if alive:
            account.call("ec2", "terminate_instances", value, InstanceIds=alive)
        return not alive and not instances(account, value, "shutting-down") and account.clock() > listed

    account.until(f"EC2 has no instance of {value}", timedelta(minutes=15), gone)


def run_of(runs: str, rail: Rail) -> str:
    """The name of the failsafe's run by which a step plays a rail."""
    return f"{runs}-{rail.value}"


def _unlock(account: Account, name: str) -> None:
    """Wait for the failsafe's runs that a step started, and remove the lock that one of them may have put."""
    lab, pool, runs = name.split("/")
    if _is_gone(account, lab):
        return
    account.until(
        f"the failsafe's runs for {pool} have ended",
        timedelta(minutes=MINUTES_OF_RUN),
        lambda: not any(Workflows().running(account.failsafe, run_of(runs, rail)) for rail in RAILS),
    )
    role = launching_role(account.lab.lab, pool)
    if role is not None:
        Lock(role).remove(account.lab.lab.node_pool_name(pool))


def _is_gone(account: Account, lab: str) -> bool:
    """Whether the lab was destroyed, which proves its pools to be at zero. Raises Unfit where another one is asked."""
    if account.deployment is not None and account.deployment.name == lab:
        return False
    if any("LedgerTable" in stack.outputs for stack in Stacks().of_labs(lab)):
        raise Unfit(f"it is of another lab: --lab-name {lab}")
    return True
