"""The meter adds up: whatever ran is on exactly one account."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.billing.metering import Grant, NodeLife, meter

START = datetime(2026, 11, 20, tzinfo=UTC)
minutes = st.integers(0, 300)
KINDS = ("g5.xlarge", "g6.xlarge", "p5.48xlarge", "")


@st.composite
def lives(draw: st.DrawFn) -> list[NodeLife]:
    return [
        NodeLife(
            f"i-{n}",
            START + timedelta(minutes=start),
            None if length is None else START + timedelta(minutes=start + length),
            type=kind,
        )
        for n, (start, length, kind) in enumerate(
            draw(st.lists(st.tuples(minutes, st.none() | minutes, st.sampled_from(KINDS)), max_size=6))
        )
    ]


@st.composite
def grants(draw: st.DrawFn) -> list[Grant]:
    types = st.sampled_from(((), ("g5.xlarge",), ("g5.xlarge", "g6.xlarge")))
    drawn = draw(st.lists(st.tuples(minutes, minutes, st.integers(1, 4), types), max_size=5))
    return [
        Grant(
            f"lease-{n}",
            nodes,
            START + timedelta(minutes=start),
            START + timedelta(minutes=start + length),
            types=kinds,
        )
        for n, (start, length, nodes, kinds) in enumerate(drawn)
    ]


def ran(runs: list[NodeLife], since: datetime, until: datetime) -> timedelta:
    spans = (min(run.ended or until, until) - max(run.started, since) for run in runs)
    return sum((max(span, timedelta()) for span in spans), timedelta())


@given(lives(), grants(), minutes, minutes)
def test_accounts_add_up_to_all(
    runs: list[NodeLife], given_grants: list[Grant], one: int, other: int
) -> None:
    since, until = sorted((START + timedelta(minutes=one), START + timedelta(minutes=other)))
    assert meter(runs, given_grants, since, until).total == ran(runs, since, until)


@given(lives(), grants())
def test_no_lease_pays_more_than_it_was_granted(runs: list[NodeLife], given_grants: list[Grant]) -> None:
    until = START + timedelta(days=1)
    metered = meter(runs, given_grants, START, until)
    for grant in given_grants:
        assert metered.leased.get(grant.lease, timedelta()) <= grant.nodes * (grant.closes - grant.opens)
        paid = {*metered.of_leases.get(grant.lease, {}), *metered.past_ends.get(grant.lease, {})}
        assert not grant.types or paid <= {*grant.types, ""}


@given(lives(), grants(), minutes)
def test_two_parts_give_the_same_as_one(runs: list[NodeLife], given_grants: list[Grant], cut: int) -> None:
    middle, until = START + timedelta(minutes=cut), START + timedelta(days=1)
    whole = meter(runs, given_grants, START, until)
    first, second = meter(runs, given_grants, START, middle), meter(runs, given_grants, middle, until)

    for grant in given_grants:
        assert whole.of_lease(grant.lease) == first.of_lease(grant.lease) + second.of_lease(grant.lease)
    assert whole.unleased == first.unleased + second.unleased
