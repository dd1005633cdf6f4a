"""More leases than a transaction of DynamoDB takes: they are written in parts, and each part is whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Conflict, Ledger
from lamplighter.adapters.aws.ledger.table import LedgerTable
from lamplighter.domain.billing.charge import Charge
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.pool.pool import Phase
from lamplighter.errors import OutsideFailed
from tests.builders.leases import EIGHT, MINUTE, usd
from tests.unit import aws_calls
from tests.unit.ledger.test_ledger import entry, lease
from tests.unit.ledger_in_memory import LedgerInMemory

NUMBER = 250


@pytest.fixture
def many() -> Ledger:
    """A ledger with 250 leases in force."""
    in_memory: Any = LedgerInMemory()
    kept = Ledger("ledger", in_memory)
    for number in range(NUMBER):
        kept.plan(lease(f"cli-{number:03}", LeaseState.OPEN))
    return kept


@contextmanager
def dies_at(transaction: int) -> Iterator[list[int]]:
    """The function dies before its transaction of this number; gives the actions of each one before."""
    sizes: list[int] = []

    def count(_service: str, operation: str, given: Any) -> None:
        if operation == "TransactWriteItems":
            if len(sizes) == transaction:
                raise OutsideFailed("dead", "dynamodb:TransactWriteItems")
            sizes.append(len(given["TransactItems"]))

    with aws_calls.heard(count):
        yield sizes


def charge(ledger: Ledger, until: int = 1) -> None:
    """A minute past the end of each lease, and a minute without one, as they are counted anew from the ledger."""
    pool, minute = ledger.pool("gpu"), NodeTime(MINUTE, usd("0.1"))
    counted = Charge(
        "gpu", pool.metering_until or EIGHT + until * MINUTE, minute, dict.fromkeys(names(), minute)
    )
    budget = ledger.budget("2026-11", "USD")
    ledger.charge(counted, ledger.leases("gpu"), pool=pool, budget=budget, why=entry("metered"))


def names() -> list[str]:
    return [f"cli-{number:03}" for number in range(NUMBER)]


def spent(ledger: Ledger) -> tuple[Any, Any, Any]:
    budget = ledger.budget("2026-11", "USD")
    return budget.spent, budget.overrun, budget.unleased


@pytest.mark.parametrize("dies", [0, 1, 2, 99])
def test_each_lease_is_charged_once_also_if_a_part_is_never_written(many: Ledger, dies: int) -> None:
    with dies_at(dies) as sizes:
        try:
            charge(many)
        except OutsideFailed:
            assert many.pool("gpu").metered_until is None
            assert spent(many)[2] is None, "the time without a lease is counted with the last part"
    assert max(sizes, default=0) <= 100

    if many.pool("gpu").metered_until is None:
        charge(many, until=2)  # the first parts were counted up to minute 1, and so are the others

    minute = NodeTime(MINUTE, usd("0.1"))
    assert [each.overrun for each in many.leases("gpu")] == [minute] * NUMBER
    assert spent(many) == (usd("25.1"), usd(25), usd("0.1"))
    pool = many.pool("gpu")
    assert (pool.metering_until, pool.metering_after, pool.unbilled) == (None, "", minute)
    assert pool.metered_until == EIGHT + (MINUTE if dies else 2 * MINUTE)
    assert [one.kind for one in many.audit("gpu", EIGHT)] == ["metered"]


def test_two_that_charge_at_once_count_no_lease_twice(many: Ledger) -> None:
    minute = NodeTime(MINUTE, usd("0.1"))
    read = many.pool("gpu"), many.leases("gpu"), many.budget("2026-11", "USD")
    with dies_at(1), pytest.raises(OutsideFailed):
        charge(many)

    again = Charge("gpu", EIGHT + MINUTE, minute, dict.fromkeys(names(), minute))
    with pytest.raises(Conflict):
        many.charge(again, read[1], pool=read[0], budget=read[2], why=None)


def closing(ledger: Ledger) -> None:
    ledger.begin_closing(ledger.leases("gpu"), ledger.pool("gpu"), EIGHT, entry("closing"))


@pytest.mark.parametrize("dies", [0, 1, 2, 99])
def test_all_leases_begin_to_close_also_if_a_part_is_never_written(many: Ledger, dies: int) -> None:
    def states() -> dict[LeaseState, int]:
        found = [each.state for each in many.leases("gpu")]
        return {state: found.count(state) for state in set(found)}

    with dies_at(dies) as sizes:
        try:
            closing(many)
        except OutsideFailed:
            assert many.audit("gpu", EIGHT) == []
            assert many.pool("gpu").generation == dies
    assert max(sizes, default=0) <= 100
    closing(many)

    assert states() == {LeaseState.CLOSING: NUMBER}
    assert many.pool("gpu").phase is Phase.CLOSING
    assert [one.kind for one in many.audit("gpu", EIGHT)] == ["closing"]


@pytest.mark.parametrize("memory", [False, True])
def test_a_transaction_of_more_than_100_actions_is_refused_whole(dynamodb: Any, *, memory: bool) -> None:
    in_memory: Any = LedgerInMemory()
    table = LedgerTable("ledger", in_memory if memory else dynamodb)
    puts = [table.put_in_transaction({"pk": {"S": "a"}, "sk": {"S": str(number)}}) for number in range(101)]

    with pytest.raises(OutsideFailed, match="less than or equal to 100"):
        table.transact(puts)
    assert list(table.query("a", "0", "~")) == []
    table.transact(puts[:100])
