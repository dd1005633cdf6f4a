"""What `lamplighter verify` undoes, written down before it is done, so that a later run can undo it too.

Each may be undone twice, and where it was never done.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Self

from cli.use import orders
from cli.verification.account import Account
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.orders import closing
from lamplighter.domain.leases.lease import Lease, LeaseState

MINUTES_TO_ZERO = 45
ABSENT = frozenset({"ResourceNotFoundException"})
BECAUSE = "lamplighter verify"
"""The reason of a lease that a step opens: by it a later run knows the lease again."""


class UndoKind(StrEnum):
    STACK = "stack"
    TABLE = "table"
    CONCURRENCY = "concurrency"
    LEASE = "lease"
    SIZE = "size"


@dataclass(frozen=True)
class Undo:
    """One thing to undo: its kind and name. `value` is what was there before; None where nothing was."""

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
            _close(account, it.name)
        case UndoKind.SIZE:
            _to_zero(account, it.name)


def table_is_absent(account: Account, name: str) -> bool:
    """Whether DynamoDB has no such table."""
    return account.attempt(ABSENT, "dynamodb", "describe_table", name, TableName=name) is None


def _delete_table(account: Account, name: str) -> None:
    if account.attempt(ABSENT, "dynamodb", "delete_table", name, TableName=name) is not None:
        account.until(
            f"the table {name} is deleted", timedelta(minutes=5), lambda: table_is_absent(account, name)
        )


def _give_back_concurrency(account: Account, it: Undo) -> None:
    request: dict[str, object] = {"FunctionName": it.name}
    operation = "delete_function_concurrency"
    if it.value is not None:
        operation, request = "put_function_concurrency", {**request, "ReservedConcurrentExecutions": it.value}
    account.attempt(ABSENT, "lambda", operation, it.name, **request)


def _close(account: Account, pool: str) -> None:
    """Close the lease that a step opened on the pool, and none of other people."""

    def opened() -> list[Lease]:
        leases = account.lab.ledger.leases(pool)
        return [
            lease for lease in leases if lease.because == BECAUSE and lease.state is not LeaseState.CLOSED
        ]

    for lease in opened():
        order = closing(orders.order(account.lab, Verb.CLOSE, pool), lease)
        orders.start(account.lab, orders.concerning(order, lease))
    account.until(f"the lease on {pool} is closed", timedelta(minutes=MINUTES_TO_ZERO), lambda: not opened())


def _to_zero(account: Account, group: str) -> None:
    """Order zero nodes, unless a lease has begun since: then the lab says how many run."""
    if account.leased(account.clock()):
        return
    request = {"AutoScalingGroupName": group, "DesiredCapacity": 0, "MinSize": 0}
    account.call("autoscaling", "update_auto_scaling_group", group, **request)
    zero = timedelta(minutes=MINUTES_TO_ZERO)
    account.until(f"the pool {account.pool} has no instance", zero, lambda: not account.see().existing)
