"""What every surface shows of a lease: the same words and counts, from the day it is planned to its receipt."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.application.cluster.settings import LATE
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.diagnosis.stages import ProvisioningStage as Normal
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.progress import Noted, Progress, Stage
from lamplighter.domain.money.money import Money
from lamplighter.domain.pool.pool import Phase, PoolState, SeenGpus
from lamplighter.domain.pool.target import Target
from lamplighter.domain.views import lease_view
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.domain.views.lease_view import Known, LeaseStanding, LeaseView
from lamplighter.domain.views.stages import NORMAL, WEIGHT, StageState, bar, stages
from lamplighter.reasons.reason import Said, Sentences, reason
from lamplighter.values.counted import counted
from tests.checkout import ROOT

EIGHT = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PRICE = Decimal("1.237")
POOL = PoolState("gpu")
EVENING = Lease(
    id="evening-2026-11-20", pool="gpu", nodes=2, owner="evening-class", source="window", state=LeaseState.OPENING,
    opens=EIGHT, closes=EIGHT + 180 * MINUTE, hold=Money.of("7.422", "USD"), window="evening", date="2026-11-20",
    ordered=EIGHT, price_per_hour=PRICE,
)  # fmt: skip
PASSED = {"check": "nvidia-smi", "node": "a", "verdict": "passed", "reason": "one GPU is there"}


def noted(done: int, of: int, minutes: float = 0, since: float = 0) -> Noted:
    return Noted(done, of, EIGHT + since * MINUTE, EIGHT + minutes * MINUTE)


WHOLE: Progress = {stage: noted(1, 1) for stage in Stage}


SHORT = Sentences(("AWS has no g5.xlarge in ap-northeast-2a", reason("capacity.hold-free", money="3.71 USD")))


def entry(kind: str, why: Said, *, who: str = "notices", notice: str = "", minutes: float = 5) -> Entry:
    details = {"notice": notice} if notice else {}
    at = EIGHT + minutes * MINUTE
    return Entry(at, "gpu", kind, who, f"{kind} it", why, lease=EVENING.id, details=details)


def shown(lease: Lease = EVENING, minutes: float = 1, known: Known | None = None) -> LeaseView:
    return lease_view.of(lease, known or Known(POOL, leases=[lease]), EIGHT + minutes * MINUTE)


def of_stages(progress: Progress, minutes: float = 1, lease: Lease = EVENING) -> str:
    found = shown(lease, minutes, Known(POOL, progress=progress)).stages
    return " ".join(f"{each.stage} {each.state}{f' {each.count}' if each.count else ''}" for each in found)


def test_a_planned_lease_waits_for_everything_and_says_when_its_gpus_are_expected() -> None:
    planned = replace(EVENING, state=LeaseState.PLANNED, ordered=None)
    view = shown(planned, minutes=-60)
    assert (view.standing, view.bar, view.cost_so_far) == (LeaseStanding.PLANNED, 0, Money.zero("USD"))
    assert {each.state for each in view.stages} == {StageState.WAITING}
    assert view.gpus_expected == EIGHT + 10 * MINUTE


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        ({}, "armed waiting nodes waiting settings waiting gpus waiting checks waiting"),
        ({Stage.ARMED: noted(0, 1)}, "armed going nodes waiting settings waiting gpus waiting checks waiting"),
        ({Stage.ARMED: noted(1, 1), Stage.NODES: noted(1, 2)},
         "armed done nodes going 1/2 settings waiting gpus waiting checks waiting"),
        ({**WHOLE, Stage.GPUS: noted(1, 2), Stage.CHECKS: None},
         "armed done nodes done settings done gpus going 1/2 checks waiting"),
        ({**WHOLE, Stage.NODES: noted(2, 2), Stage.CHECKS: noted(5, 6)},
         "armed done nodes done 2/2 settings done gpus done checks going 5/6"),
    ],
)  # fmt: skip
def test_an_opening_is_told_stage_by_stage(progress: dict[Stage, Noted | None], said: str) -> None:
    assert of_stages({stage: each for stage, each in progress.items() if each}) == said


def test_the_reference_says_what_is_normal_and_what_each_stage_is_of_the_bar() -> None:
    page = (ROOT / "docs/reference/shown.md").read_text("utf-8")

    for stage in (Stage.ARMED, Stage.NODES, Stage.SETTINGS, Stage.GPUS):
        minutes = counted(NORMAL[stage] // MINUTE, "minute")
        assert re.search(rf"\| {stage} \|.*\| {minutes} \|", page, re.IGNORECASE), stage
    weights = [WEIGHT[stage] for stage in Stage]
    assert [int(each) for each in re.findall(r"(\d+) for\s[a-zA-Z]", page)] == weights
    assert sum(weights) == 100
    for word in LeaseStanding:
        assert f"| {word.value} |" in page


def test_what_is_normal_is_what_the_diagnosis_calls_normal() -> None:
    assert NORMAL[Stage.NODES] == Normal.LAUNCH.normal
    assert NORMAL[Stage.SETTINGS] == Normal.OPERATOR.normal
    assert NORMAL[Stage.GPUS] == Normal.JOIN.normal + Normal.READY.normal == LATE


def test_checks_have_the_time_that_their_ladder_has() -> None:
    known = Known(POOL, progress={**WHOLE, Stage.CHECKS: noted(1, 9)}, checks_normal=30 * MINUTE)
    assert shown(minutes=20, known=known).stages[-1].state is StageState.GOING
    assert shown(minutes=31, known=known).stages[-1].state is StageState.LATE


def test_a_node_that_came_gives_the_next_one_its_own_time() -> None:
    assert "nodes going 1/2" in of_stages({Stage.NODES: noted(1, 2, minutes=10)}, minutes=12)


def test_a_pool_that_is_short_of_nodes_is_degraded_and_says_what_is_missing_and_why() -> None:
    short = entry("degraded", SHORT, who="nodegroups")
    again = entry(
        "degraded", "1 of 2 nodes are asked for again, and 7.42 USD is held", who="leases", minutes=10
    )
    lease = replace(EVENING, missing=1)
    known = Known(
        POOL, progress={**WHOLE, Stage.NODES: noted(1, 2), Stage.GPUS: noted(1, 2)}, audit=[short, again]
    )

    view = shown(lease, 30, known)

    assert view.standing is LeaseStanding.DEGRADED
    assert view.degraded_because == "AWS has no g5.xlarge in ap-northeast-2a"
    states = {each.stage: each.state for each in view.stages}
    assert (states[Stage.NODES], states[Stage.GPUS]) == (StageState.SHORT, StageState.SHORT)
    assert view.stages[1].said == "AWS has no g5.xlarge in ap-northeast-2a"
    assert view.usable == 1
    assert view.cost_so_far == Money.of(PRICE / 2, "USD"), "only the node that came is paid for"


def test_gpus_that_are_not_proven_leave_the_lease_degraded_until_a_notice_says_it_is_open() -> None:
    wrong = entry("announced", "dcgm-2 is not proven on a: in use.", notice="degraded")
    well = entry("announced", "2 of 2 nodes are ready.", notice="open", minutes=20)
    rows = [{**PASSED, "verdict": "not-proven"}]

    view = shown(minutes=10, known=Known(POOL, audit=[wrong], verdicts=rows))
    assert (view.standing, view.degraded_because) == (LeaseStanding.DEGRADED, wrong.why)
    assert (view.verdict, view.gpus_expected) == (Outcome.NOT_PROVEN, None)

    opened = replace(EVENING, state=LeaseState.OPEN, ready=EIGHT + 20 * MINUTE)
    view = shown(opened, 30, Known(POOL, audit=[wrong, well], verdicts=[PASSED]))
    assert (view.standing, view.degraded_because) == (LeaseStanding.OPEN, None)


def test_an_open_lease_is_done_whoever_noted_its_stages_and_knows_what_it_has_cost() -> None:
    opened = replace(EVENING, state=LeaseState.OPEN, ready=EIGHT + 7 * MINUTE)
    view = shown(opened, minutes=60, known=Known(POOL, verdicts=[PASSED]))
    assert (view.standing, view.bar, view.gpus_expected) == (LeaseStanding.OPEN, 1, EIGHT + 7 * MINUTE)
    assert view.cost_so_far == Money.of(2 * PRICE, "USD")
    assert [row.check for row in view.verdict_rows] == ["nvidia-smi"]


def test_a_failed_check_is_the_stage_that_failed() -> None:
    known = Known(POOL, progress=WHOLE, verdicts=[{**PASSED, "verdict": "failed"}])
    assert shown(minutes=9, known=known).stages[-1].state is StageState.FAILED


def test_an_opening_that_was_given_up_failed_at_the_stage_it_had_come_to() -> None:
    ended = replace(EVENING, state=LeaseState.CLOSING, closes=EIGHT + 6 * MINUTE)
    given_up = entry(
        "closing", "OutsideFailed: eks:DescribeNodegroup answered nothing", who="OpenLab", minutes=6
    )
    progress: Progress = {Stage.ARMED: noted(1, 1), Stage.NODES: noted(0, 2)}

    view = shown(ended, 7, Known(POOL, progress=progress, audit=[given_up]))

    assert (view.standing, view.failed_because) == (LeaseStanding.CLOSING, given_up.why)
    assert [each.state for each in view.stages] == ["done", "failed", "waiting", "waiting", "waiting"]


def test_a_closed_lease_costs_what_was_settled_and_keeps_what_was_found() -> None:
    settled = Money.of("7.10", "USD")
    closed = replace(
        EVENING, state=LeaseState.CLOSED, cost=settled, ready=EIGHT + 7 * MINUTE, closed=EIGHT + 186 * MINUTE
    )
    said = {"cause": "vcpu-quota", "summary": "too few vCPUs", "advice": "ask for more", "layer": "aws"}
    found = replace(entry("finding", "the quota is 4", who="diagnosis"), details=said)

    view = shown(closed, 240, Known(POOL, audit=[found, found], verdicts=[PASSED]))

    assert (view.standing, view.cost_so_far, view.bar) == (LeaseStanding.CLOSED, settled, 1)
    assert [(each.cause, each.advice) for each in view.findings] == [("vcpu-quota", "ask for more")]


def test_warnings_of_its_end_stand_with_it() -> None:
    warned = entry("warned", "Save your work.", minutes=170)
    assert shown(minutes=171, known=Known(POOL, audit=[warned])).warnings == (warned,)


def pool(seen: SeenGpus | None, *leases: Lease) -> PoolView:
    views = tuple(shown(lease, 60) for lease in leases)
    state, target = replace(POOL, seen_gpus=seen), Target(sum(lease.nodes for lease in leases), leases)
    return PoolView("gpu", "g5.xlarge", 2, 1, "enforce", state, target, leases=views, closing=(), next=None)


def test_a_lease_granted_for_later_does_not_open_the_pool_now() -> None:
    granted = replace(pool(None), state=replace(POOL, phase=Phase.OPENING))
    assert granted.phase is Phase.CLOSED
    beside = pool(None, replace(EVENING, state=LeaseState.OPEN))
    assert replace(beside, state=granted.state).phase is Phase.OPEN
    assert replace(pool(None, EVENING), state=granted.state).phase is Phase.OPENING


COUNTS = st.tuples(st.integers(0, 8), st.integers(1, 8)).map(lambda pair: (min(pair), max(pair)))


@given(
    st.dictionaries(st.sampled_from(Stage), COUNTS),
    st.integers(0, 300),
    st.sampled_from(LeaseState),
    st.sampled_from([None, *Outcome]),
)
def test_the_bar_never_leaves_its_frame_and_is_full_only_when_all_is_done(
    counts: dict[Stage, tuple[int, int]], minutes: int, state: LeaseState, verdict: Outcome | None
) -> None:
    progress: Progress = {stage: noted(done, of) for stage, (done, of) in counts.items()}
    views = stages(replace(EVENING, state=state), progress, EIGHT + minutes * MINUTE, verdict=verdict)
    assert [view.stage for view in views] == [*Stage]
    assert 0 <= bar(views) <= 1
    done = [*takewhile(lambda view: view.state is StageState.DONE, views)]
    assert len(done) < len(views) or bar(views) == 1
