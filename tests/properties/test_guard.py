"""The guard may shrink, never grow, and never takes a node that a lease justifies, whatever it sees."""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.capacity.evidence import Change, Changing, Claim, Controller, Instance, Member, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.guard.breach import EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.facts import CLOSING_PATIENCE, PoolFacts
from lamplighter.domain.guard.guard import OF_LEASES, sweep
from lamplighter.domain.guard.incident import Incident
from lamplighter.domain.guard.node_pools.outside_instance import OutsideInstance
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.reasons.reason import in_english
from tests.builders.guard_facts import pool, seen, shots
from tests.builders.leases import EIGHT, persons

NOW = EIGHT
MAX_NODES = 4
minutes = st.integers(-300, 300)
EMPTY = replace(seen(pool(), maximum=MAX_NODES), max_nodes=MAX_NODES)


def at(offset: int) -> datetime:
    return NOW + timedelta(minutes=offset)


@st.composite
def leases(draw: st.DrawFn) -> tuple[Lease, ...]:
    drawn = draw(
        st.lists(
            st.tuples(minutes, st.integers(1, 300), st.integers(1, 4), st.sampled_from(LeaseState)),
            max_size=3,
        )
    )
    return tuple(
        persons(f"lease-{number}", start, start + length, nodes=nodes, state=state)
        for number, (start, length, nodes, state) in enumerate(drawn)
    )


@st.composite
def worlds(draw: st.DrawFn) -> PoolFacts:
    """Anything a sweep may see, consistent or not."""
    ways = st.sampled_from([(False, False), (True, True), (True, False)])
    members = tuple(
        Member(f"i-{number}", "a", leaving=leaving, waits_for_drain=waits)
        for number, (leaving, waits) in enumerate(draw(st.lists(ways, max_size=6)))
    )
    states = st.sampled_from(["pending", "running", "shutting-down", "stopped", "terminated"])
    listed = [Instance(m.instance, "g5.xlarge", "a", "running", at(-60), None, "g", "") for m in members]
    strays = [
        Instance(f"i-stray{number}", "g5.xlarge", "a", state, at(launched), None, None, "")
        for number, (state, launched) in enumerate(
            draw(st.lists(st.tuples(states, st.integers(-60, 0)), max_size=3))
        )
    ]
    sizes = st.integers(0, 6)
    changes = st.none() | st.builds(Change, st.sampled_from(Changing), st.none() | minutes.map(at))
    exists = draw(st.booleans())
    found = Seen(
        NODE_GROUP,
        exists=exists,
        ordered=draw(sizes) if exists else 0,
        minimum=draw(sizes) if exists else 0,
        maximum=draw(st.integers(1, 8)) if exists else 0,
        change=draw(changes),
        controller=draw(st.none() | st.just(Controller("g", draw(sizes), 6, draw(sizes), members))),
        instances=(*listed, *strays),
    )
    found_at = draw(st.none() | minutes)
    return PoolFacts(
        pool="gpu",
        now=NOW,
        enforcing=draw(st.booleans()),
        ours=draw(st.booleans()),
        max_nodes=MAX_NODES,
        leases=draw(leases()),
        closing_since=draw(st.none() | st.integers(-30, 0).map(at)),
        seen=found,
        kubernetes_nodes=draw(st.none() | st.just(()) | st.just(("node",))),
        failsafe_wanted=shots(at(130)) if draw(st.booleans()) else (),
        failsafe_found=() if found_at is None else shots(at(found_at)),
        incident=draw(st.none() | st.builds(Incident, st.integers(-600, 0).map(at))),
    )


def justified(facts: PoolFacts) -> int:
    """An independent reading of the law: nodes of leases granted and in force, at most the maximum."""
    granted = {LeaseState.ADMITTED, LeaseState.OPENING, LeaseState.OPEN}
    return min(
        MAX_NODES,
        sum(each.nodes for each in facts.leases if each.state in granted and each.opens <= NOW < each.closes),
    )


@given(worlds())
def test_no_breach_ever_asks_for_less_than_the_leases_justify(facts: PoolFacts) -> None:
    for breach in sweep(facts):
        if breach.action is GuardAction.CLOSE:
            assert breach.target == justified(facts)


@given(worlds())
def test_the_guard_never_grows_a_pool(facts: PoolFacts) -> None:
    """A close is only asked for where more is there than is justified, or a lease or a leak must end."""
    for breach in sweep(facts):
        if breach.rule in {Rule.NODE_WITHOUT_LEASE, Rule.MORE_NODES_THAN_LEASES}:
            assert breach.target is not None
            assert facts.staying > breach.target


@given(worlds())
def test_ended_strays_leave_at_least_what_the_leases_justify(facts: PoolFacts) -> None:
    alive = {each.id for each in facts.seen.alive}
    listed = {member.instance for member in facts.seen.members}
    for breach in sweep(facts):
        if breach.rule is Rule.LEAKED and breach.action is GuardAction.TERMINATE:
            # By force only where nothing is justified and nothing is ordered any more.
            assert justified(facts) == 0
            assert facts.seen.controller is None or facts.seen.size == 0
        elif breach.action is GuardAction.TERMINATE:
            assert not set(breach.instances) & listed
            left = facts.staying + len(alive - listed - set(breach.instances))
            assert left >= justified(facts)


@given(worlds())
def test_a_pool_that_is_watched_is_never_touched(facts: PoolFacts) -> None:
    if facts.enforcing:
        return
    for breach in sweep(facts):
        if breach.rule in OF_LEASES:
            # A lease of ours that is over ends here too: it brought its nodes.
            assert breach.action is GuardAction.CLOSE
            continue
        # Our own failsafe is kept in order: a lease on a watched pool needs it as any other.
        ours = {GuardAction.REARM, GuardAction.DISARM, GuardAction.NOTE, GuardAction.PROTECT}
        assert breach.action in {GuardAction.SAY, GuardAction.PAGE, GuardAction.RECOVER} | ours


@given(worlds())
def test_a_node_without_a_lease_is_closed_unless_somebody_is_at_it(facts: PoolFacts) -> None:
    """The other half of the law: what has no justification does not stay unnoticed."""
    if not facts.enforcing or facts.staying <= justified(facts):
        return
    busy = (
        (facts.closing_since is not None and NOW - facts.closing_since < CLOSING_PATIENCE)
        or (facts.seen.change is not None and facts.seen.change.kind is not Changing.UPDATING)
        or any(each.granted and each.closes <= NOW for each in facts.leases)
    )
    if busy:
        return
    assert any(breach.action is GuardAction.CLOSE for breach in sweep(facts))


@given(worlds())
def test_every_breach_has_a_reason_that_names_the_pool(facts: PoolFacts) -> None:
    for breach in sweep(facts):
        assert "pool gpu" in in_english(breach.reason)


@st.composite
def outside_the_pools(draw: st.DrawFn) -> tuple[OutsideInstance, ...]:
    """Any GPU instances of no pool: of Karpenter, of Auto Mode, of a group, by hand; with a claim or without."""
    ages = st.none() | st.integers(-120, 0).map(at)
    return tuple(
        OutsideInstance(
            Instance(f"i-{number}", "g5.xlarge", "a", "running", at(-60), None, group, ""),
            node_pool=draw(st.sampled_from(["", "theirs", "others"])),
            managed=draw(st.booleans()),
            claims_read=draw(st.booleans()),
            claim=draw(
                st.none() | st.builds(Claim, st.just(f"claim-{number}"), leaving=st.booleans(), left=ages)
            ),
        )
        for number, group in enumerate(draw(st.lists(st.sampled_from([None, "their-group"]), max_size=5)))
    )


@given(
    outside_the_pools(),
    st.booleans(),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(["theirs", "others", "i-0", "i-1"]), st.integers(-60, 0)), max_size=3),
)
def test_outside_the_pools_it_ends_only_what_it_has_announced_and_may_end(
    found: tuple[OutsideInstance, ...], enforcing: bool, may: bool, said: list[tuple[str, int]]
) -> None:
    earlier = tuple(
        EarlierBreach(Rule.GPU_OUTSIDE_POOLS, "page", None, at(ago), subject=subject) for subject, ago in said
    )
    facts = replace(EMPTY, enforcing=enforcing, outside=found, ends_outside=may, earlier=earlier)
    by_id = {each.instance.id: each for each in found}
    ended: list[str] = []
    for breach in sweep(facts):
        if breach.action not in {GuardAction.END_CLAIMS, GuardAction.END_OUTSIDE}:
            assert breach.instances == ()
            continue
        assert enforcing
        assert may
        for name in breach.instances:
            one = by_id[name]
            assert one.instance.controller is None
            assert one.claims_read
            assert any(subject == one.subject and ago <= -4 for subject, ago in said)
            if breach.action is GuardAction.END_CLAIMS:
                assert one.claim is not None
            else:
                assert not one.managed
            ended.append(name)
    assert len(ended) == len(set(ended))
