"""The ledger on a DynamoDB table: locks, fences, transactions that hold together, and what it remembers."""

from dataclasses import replace

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from lamplighter.adapters.aws.ledger.ledger import Conflict, Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.pool.pool import Fence
from lamplighter.errors import OutsideFailed, Stale, TryLater
from tests.builders.leases import EIGHT, MINUTE, persons, usd


def lease(name: str = "cli-1", state: LeaseState = LeaseState.ADMITTED, hold: str = "2.474") -> Lease:
    return persons(name, nodes=1, state=state, hold=usd(hold))


def entry(kind: str = "lease-granted", minutes: float = 0) -> Entry:
    return Entry(EIGHT + minutes * MINUTE, "gpu", kind, "alice", "did it", "for a reason", nodes=1)


def decision(command: str = "open-1") -> Decision:
    return Decision(command, "granted", "for a reason", EIGHT, lease="cli-1")


def granted(ledger: Ledger, one: Lease | None = None, command: str = "open-1") -> Lease:
    with ledger.writing("gpu", command, EIGHT) as fence:
        return ledger.grant(
            one or lease(),
            decision(command),
            pool=ledger.pool("gpu"),
            budget=ledger.budget("2026-11", "USD"),
            fence=fence,
            why=entry(),
        )


def test_a_grant_writes_lease_hold_generation_decision_and_reason_together(ledger: Ledger) -> None:
    written = granted(ledger)

    assert ledger.lease("gpu", "cli-1") == written
    assert ledger.pool("gpu").generation == written.generation == 1
    assert ledger.budget("2026-11", "USD").held == written.hold
    assert ledger.command("gpu", "open-1") == decision()
    assert ledger.audit("gpu", EIGHT) == [entry()]


def test_of_two_grants_on_the_same_reading_one_is_written(ledger: Ledger) -> None:
    pool, budget = ledger.pool("gpu"), ledger.budget("2026-11", "USD")
    with ledger.writing("gpu", "both", EIGHT) as fence:
        ledger.grant(lease(), decision(), pool=pool, budget=budget, fence=fence, why=entry())
        with pytest.raises(Conflict):
            ledger.grant(
                lease("cli-2"), decision("open-2"), pool=pool, budget=budget, fence=fence, why=entry()
            )

    assert [each.id for each in ledger.leases("gpu")] == ["cli-1"]
    assert ledger.budget("2026-11", "USD").held == lease().hold
    assert ledger.command("gpu", "open-2") is None


def test_of_two_pools_that_want_the_last_money_one_gets_it(ledger: Ledger) -> None:
    budget = ledger.budget("2026-11", "USD")
    granted(ledger)
    with ledger.writing("other", "open-2", EIGHT) as fence, pytest.raises(Conflict):
        ledger.grant(
            replace(lease("cli-2"), pool="other"),
            decision("open-2"),
            pool=ledger.pool("other"),
            budget=budget,
            fence=fence,
            why=entry(),
        )


def test_only_one_writes_to_a_pool_at_a_time(ledger: Ledger) -> None:
    with (
        ledger.writing("gpu", "first", EIGHT),
        pytest.raises(TryLater, match="first is writing to pool gpu"),
        ledger.writing("gpu", "second", EIGHT + 59 * MINUTE / 60),
    ):
        pass

    with ledger.writing("gpu", "second", EIGHT + MINUTE / 60):
        pass


def test_a_writer_that_died_is_taken_over_after_a_minute_and_can_do_nothing_more(ledger: Ledger) -> None:
    with ledger.writing("gpu", "dead", EIGHT) as dead, ledger.writing("gpu", "next", EIGHT + MINUTE) as fence:
        assert fence.number > dead.number
        with pytest.raises(Stale, match="dead may no longer write to pool gpu"):
            ledger.still_writing(dead, EIGHT)
        with pytest.raises(Conflict):
            ledger.grant(
                lease(),
                decision(),
                pool=ledger.pool("gpu"),
                budget=ledger.budget("2026-11", "USD"),
                fence=dead,
                why=entry(),
            )
    assert ledger.pool("gpu").holder is None


def test_the_same_run_takes_its_own_lock_again(ledger: Ledger) -> None:
    with ledger.writing("gpu", "run", EIGHT) as crashed, ledger.writing("gpu", "run", EIGHT) as again:
        assert isinstance(again, Fence)
        assert again.number == crashed.number + 1


def test_a_lease_that_is_being_closed_never_opens_again(ledger: Ledger) -> None:
    written = granted(ledger)
    ledger.begin_closing([written], ledger.pool("gpu"), EIGHT + 30 * MINUTE, entry("closing"))

    assert ledger.advance("gpu", "cli-1", LeaseState.OPEN, EIGHT) is False
    closing = ledger.lease("gpu", "cli-1")
    assert closing is not None
    assert (closing.state, closing.closes) == (LeaseState.CLOSING, EIGHT + 30 * MINUTE)
    assert ledger.pool("gpu").generation == 2


def test_a_lease_that_opens_while_its_hold_or_its_end_changes_stays_open(ledger: Ledger) -> None:
    """Whoever changed the one had read the lease before the other did."""
    written = granted(ledger)
    ledger.advance("gpu", "cli-1", LeaseState.OPEN, EIGHT + 4 * MINUTE)
    half = replace(written, missing=1, hold=Money.of("1.237", "USD"))
    budget = ledger.budget("2026-11", "USD")
    ledger.rehold(written, half, pool=ledger.pool("gpu"), budget=budget, why=entry("degraded"))
    # Other nodes are another generation; that it is open by now, nobody has read.
    half = replace(half, generation=ledger.pool("gpu").generation)
    later = replace(half, closes=EIGHT + 180 * MINUTE)
    with ledger.writing("gpu", "extend-1", EIGHT) as fence:
        pool, budget = ledger.pool("gpu"), ledger.budget("2026-11", "USD")
        answer = decision("extend-1")
        ledger.extend(half, later, answer, pool=pool, budget=budget, fence=fence, why=entry("extended"))

    now = ledger.lease("gpu", "cli-1")
    assert now is not None
    assert (now.state, now.ready) == (LeaseState.OPEN, EIGHT + 4 * MINUTE)
    assert (now.missing, now.hold, now.closes) == (1, half.hold, later.closes)


def test_settling_frees_the_hold_counts_the_cost_and_happens_once(ledger: Ledger) -> None:
    written = granted(ledger)
    ledger.begin_closing([written], ledger.pool("gpu"), EIGHT + 30 * MINUTE, entry("closing"))
    closing = ledger.lease("gpu", "cli-1")
    assert closing is not None
    settled = replace(closing, closed=EIGHT + 33 * MINUTE, node_seconds=1980, cost=Money.of("0.68035", "USD"))

    ledger.settle(settled, ledger.budget("2026-11", "USD"), entry("closed"))

    budget = ledger.budget("2026-11", "USD")
    assert (budget.held, budget.spent) == (Money.zero("USD"), Money.of("0.68035", "USD"))
    assert ledger.lease("gpu", "cli-1") == replace(settled, state=LeaseState.CLOSED)
    with pytest.raises(Conflict):
        ledger.settle(settled, budget, entry("closed"))


def test_planning_leaves_a_granted_lease_alone(ledger: Ledger) -> None:
    planned = lease("evening-2026-11-20", LeaseState.PLANNED)
    ledger.plan(planned)
    ledger.plan(replace(planned, nodes=2))
    again = ledger.lease("gpu", planned.id)
    assert again is not None
    assert again.nodes == 2

    granted(ledger, lease(planned.id))
    ledger.plan(replace(planned, nodes=3))
    ledger.unplan("gpu", planned.id)

    kept = ledger.lease("gpu", planned.id)
    assert kept is not None
    assert (kept.state, kept.nodes) == (LeaseState.ADMITTED, 1)


def test_a_refused_window_says_why_and_stays_refused(ledger: Ledger) -> None:
    planned = lease("evening-2026-11-20", LeaseState.PLANNED)
    ledger.plan(planned)
    refusal = Decision("open-evening", "refused", "the pool is full", EIGHT)

    ledger.refuse("gpu", refusal, entry("refused"), planned)

    kept = ledger.lease("gpu", planned.id)
    assert kept is not None
    assert (kept.state, kept.because) == (LeaseState.REFUSED, "the pool is full")
    assert ledger.command("gpu", "open-evening") == refusal


def test_a_leak_is_news_once_and_its_end_too(ledger: Ledger) -> None:
    assert ledger.mark_leaked("gpu", EIGHT, "i-1 still in EC2") is True
    assert ledger.mark_leaked("gpu", EIGHT + MINUTE, "i-1 still in EC2") is False
    assert ledger.pool("gpu").leaked_since == EIGHT
    assert ledger.clear_leaked("gpu") is True
    assert ledger.clear_leaked("gpu") is False


def test_the_trail_is_read_from_an_instant_on_in_order(ledger: Ledger) -> None:
    for minutes in (3, 1, 2):
        ledger.append_audit(entry("announced", minutes))

    since = ledger.audit("gpu", EIGHT + 2 * MINUTE)

    assert [each.at - EIGHT for each in since] == [2 * MINUTE, 3 * MINUTE]
    assert len(ledger.audit("gpu", EIGHT + MINUTE, EIGHT + 2 * MINUTE)) == 2


def test_receipts_are_kept_in_order_of_closing(ledger: Ledger) -> None:
    for number in (2, 1, 3):
        ledger.put_receipt("gpu", EIGHT + number * MINUTE, f"cli-{number}", {"lease": f"cli-{number}"})
    assert [receipt["lease"] for receipt in ledger.receipts("gpu")] == ["cli-1", "cli-2", "cli-3"]
    assert [receipt["lease"] for receipt in ledger.receipts("gpu", newest=1)] == ["cli-3"]


def test_every_item_carries_its_schema_number(ledger: Ledger) -> None:
    granted(ledger)
    ledger.put_receipt("gpu", EIGHT, "cli-1", {})
    ledger.put_document("{}", EIGHT)

    items = boto3.client("dynamodb").scan(TableName="ledger")["Items"]

    assert {item["schema"]["N"] for item in items} == {"1"}


def test_an_endpoint_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    nowhere = boto3.client(
        "dynamodb",
        region_name="eu-west-1",
        endpoint_url="http://127.0.0.1:9",
        config=Config(retries={"total_max_attempts": 1}),
    )

    with pytest.raises(OutsideFailed, match="dynamodb:GetItem on ledger, POOL#gpu/STATE got no answer"):
        Ledger("ledger", nowhere).pool("gpu")


@pytest.mark.parametrize(("refusals", "outcome"), [(0, "written"), (3, "written"), (4, "refused")])
def test_a_write_waits_for_a_transaction(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, refusals: int, outcome: str
) -> None:
    paused: list[float] = []
    monkeypatch.setattr("lamplighter.adapters.aws.ledger.table.sleep", paused.append)
    refused = 0

    def collide(params: object, **_more: object) -> None:
        nonlocal refused
        if refused < refusals:
            refused += 1
            raise ClientError(
                {"Error": {"Code": "TransactionConflictException", "Message": "Transaction is ongoing"}},
                "UpdateItem",
            )

    dynamodb = ledger._table._dynamodb
    dynamodb.meta.events.register("before-call.dynamodb.UpdateItem", collide)
    if outcome == "written":
        ledger.set_failsafe("gpu", EIGHT)
        assert ledger.pool("gpu").failsafe_at == EIGHT
    else:
        with pytest.raises(OutsideFailed, match="dynamodb:UpdateItem"):
            ledger.set_failsafe("gpu", EIGHT)
    assert paused == [0.05, 0.1, 0.2][:refusals]


def test_a_lease_that_nobody_can_read_is_said_by_its_place(ledger: Ledger) -> None:
    written = granted(ledger)
    ledger._table.update("POOL#gpu", f"LEASE#{written.id}", "SET #state = :state", state="strange")

    for read in (lambda: ledger.leases("gpu"), lambda: ledger.lease("gpu", written.id)):
        with pytest.raises(
            OutsideFailed, match=r"the item POOL#gpu/LEASE#cli-1 of the ledger cannot be read: 'strange'"
        ):
            read()
