"""What the ledger keeps of charges, leaks, kept leases and deploys: counted once, and stale once it moved."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lamplighter.adapters.aws.ledger.ledger import Conflict, Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.billing.charge import Charge
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.pool.pool import DeployMark, Phase, SeenGpus
from tests.builders.leases import EIGHT, MINUTE, SECOND, usd
from tests.ledger_table import kept
from tests.unit.ledger.test_ledger import decision, entry, granted, lease


def budget(ledger: Ledger) -> BudgetPeriod:
    return ledger.budget("2026-11", "USD")


WHY = Entry(EIGHT, "gpu", "receipt", "leases", "the time without a lease", "counted")


def ran(minutes: int, cost: str | int = 1) -> NodeTime:
    return NodeTime(minutes * MINUTE, usd(cost))


def charges(ledger: Ledger, *leases: Lease, until: int, unleased: NodeTime, **overrun: NodeTime) -> None:
    counted = Charge(
        "gpu", EIGHT + until * MINUTE, unleased, {f"cli-{name[1:]}": of for name, of in overrun.items()}
    )
    ledger.charge(counted, leases, pool=ledger.pool("gpu"), budget=budget(ledger), why=None)


def test_what_is_charged_adds_up_until_it_is_billed_as_it_was_read(ledger: Ledger) -> None:
    charges(ledger, until=1, unleased=ran(1))
    first = ledger.pool("gpu").unbilled
    charges(ledger, until=2, unleased=ran(2, 4))
    both = ledger.pool("gpu").unbilled

    assert (first, both, budget(ledger).unleased) == (ran(1), ran(3, 5), usd(5))
    assert first is not None
    assert both is not None
    assert ledger.bill_unleased("gpu", EIGHT, {"lease": None}, first, WHY) is False
    assert ledger.bill_unleased("gpu", EIGHT, {"pool": "gpu", "lease": None}, both, WHY) is True
    [receipt] = ledger.receipts("gpu")
    assert (ledger.pool("gpu").unbilled, list(receipt.items())) == (None, [("lease", None), ("pool", "gpu")])


def test_what_is_unbilled_is_the_same_in_whatever_order_its_keys_come(ledger: Ledger) -> None:
    charges(ledger, until=1, unleased=ran(1))
    text = json.dumps(dict(sorted(ran(1).to_json().items())))
    assert kept("POOL#gpu", "STATE")["unbilled"] == text
    assert ledger.bill_unleased("gpu", EIGHT, {}, ran(1), WHY) is True


def test_an_overrun_is_unbilled_only_where_its_lease_has_its_receipt(ledger: Ledger) -> None:
    nothing = NodeTime.nothing("USD")
    open_one, closed_one = lease("cli-1", LeaseState.OPEN), replace(lease("cli-2"), closed=EIGHT)
    for each in (open_one, closed_one):
        ledger.plan(each)

    charges(ledger, open_one, until=1, unleased=nothing, c1=ran(1))
    assert ledger.pool("gpu").unbilled is None
    [again, _] = ledger.leases("gpu")
    charges(ledger, again, closed_one, until=2, unleased=nothing, c1=ran(2), c2=ran(4))

    assert ledger.pool("gpu").unbilled == ran(4)
    assert [each.overrun for each in ledger.leases("gpu")] == [ran(3, 2), ran(4)]
    assert (budget(ledger).overrun, budget(ledger).unleased) == (usd(3), None)


def test_a_count_of_nothing_moves_no_budget_and_one_of_an_older_reading_is_lost(ledger: Ledger) -> None:
    before = ledger.pool("gpu")
    charges(ledger, until=1, unleased=NodeTime.nothing("USD"))
    assert (budget(ledger).version, ledger.pool("gpu").metered_until) == (0, EIGHT + MINUTE)

    again = Charge("gpu", EIGHT + 2 * MINUTE, ran(1))
    with pytest.raises(Conflict):
        ledger.charge(again, [], pool=before, budget=budget(ledger), why=None)
    ledger.begin_counting("gpu", EIGHT)
    assert ledger.pool("gpu").metered_until == EIGHT + MINUTE


def test_a_leak_is_silenced_as_it_was_read_and_a_new_one_pages_again(ledger: Ledger) -> None:
    why = Entry(EIGHT, "gpu", "acknowledged", "alice", "has seen it", "so it is")
    with pytest.raises(Conflict):
        ledger.acknowledge(ledger.pool("gpu"), EIGHT + MINUTE, decision("ack-0"), why)
    ledger.mark_leaked("gpu", EIGHT, "i-1 still in EC2")
    ledger.acknowledge(ledger.pool("gpu"), EIGHT + MINUTE, decision("ack-1"), why)
    assert ledger.pool("gpu").acked_until == EIGHT + MINUTE

    ledger.clear_leaked("gpu", Phase.OPEN)
    assert ledger.pool("gpu").phase is Phase.OPEN
    ledger.mark_leaked("gpu", EIGHT + MINUTE, "i-2 still in EC2")
    assert ledger.pool("gpu").acked_until is None


def test_a_lease_that_is_kept_is_of_the_next_generation(ledger: Ledger) -> None:
    written = granted(ledger)

    ledger.keep(written, ledger.pool("gpu"), decision("keep-1"), entry("kept"))

    assert ledger.pool("gpu").generation == 2
    assert ledger.leases("gpu") == [replace(written, kept="alice", generation=2)]
    with pytest.raises(Conflict):
        ledger.keep(written, ledger.pool("gpu"), decision("keep-2"), entry("kept"))


@pytest.mark.parametrize(("age", "at"), [(59 * SECOND, EIGHT), (MINUTE, EIGHT + MINUTE)])
@pytest.mark.parametrize(("in_use", "of", "same"), [(1, 2, True), (2, 2, False), (1, 3, False)])
def test_the_same_gpus_in_use_are_noted_once_a_minute(
    ledger: Ledger, age: timedelta, at: datetime, in_use: int, of: int, *, same: bool
) -> None:
    first = SeenGpus(1, 2, EIGHT)
    ledger.note_gpus("gpu", first, None)
    ledger.note_gpus("gpu", SeenGpus(in_use, of, EIGHT + age), first)
    assert ledger.pool("gpu").seen_gpus == SeenGpus(in_use, of, at if same else EIGHT + age)


@pytest.mark.parametrize("empty", [True, False])
def test_a_deploy_marks_a_pool_and_holds_each_lease_up_once(ledger: Ledger, *, empty: bool) -> None:
    mark = DeployMark(EIGHT + MINUTE, empty=empty)
    assert ledger.deploy_mark("gpu") is None
    ledger.mark_deploy("gpu", mark)

    assert ledger.deploy_mark("gpu") == mark
    assert [ledger.note_held_up("gpu", name, mark) for name in ("a", "a", "b")] == [True, False, True]
    assert ledger.note_held_up("gpu", "c", DeployMark(EIGHT)) is False
    ledger.end_deploy("gpu")
    assert ledger.deploy_mark("gpu") is None
