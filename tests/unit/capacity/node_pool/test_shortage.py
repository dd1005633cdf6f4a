"""Why fewer nodes of a NodePool came than were ordered, by Karpenter's events and the conditions of claims."""

from datetime import UTC, datetime

import pytest

from lamplighter.domain.capacity.evidence import Claim, HealthIssue, Seen
from lamplighter.domain.capacity.launch_cause import LaunchCause
from lamplighter.domain.capacity.node_pool.evidence import ClaimEvent
from lamplighter.domain.capacity.node_pool.shortage import explain
from lamplighter.domain.capacity.port import Awaited
from lamplighter.reasons.reason import in_english
from tests.builders.leases import MINUTE

ORDERED = datetime(2026, 11, 20, 20, tzinfo=UTC)
BEGINS = "NodeClaim lab-gpu-12345 event: creating instance, insufficient capacity, "
QUOTA = f"{BEGINS}with fleet error(s), VcpuLimitExceeded: You have requested more vCPU capacity than allowed"
ALL_SHUT = f"{BEGINS}all requested instance types were unavailable during launch"
DENIED = Claim(
    "lab-gpu-12345", created=ORDERED, trouble=HealthIssue("Unauthorized", "User is not authorized to do this")
)


def event(minutes: float, message: str) -> ClaimEvent:
    return ClaimEvent("lab-gpu-12345", ORDERED + minutes * MINUTE, "InsufficientCapacityError", message)


def told(minutes: float, *events: ClaimEvent, seen: Seen | None = None) -> tuple[LaunchCause, str] | None:
    awaited = Awaited(wanted=2, have=0, since=ORDERED, now=ORDERED + minutes * MINUTE, order=None)
    found = explain(awaited, seen or Seen("karpenter", exists=True, ordered=2), events)
    return None if found is None else (found.cause, in_english(found.reason))


def test_a_quota_is_read_inside_karpenters_shortage() -> None:
    assert told(1, event(0.1, QUOTA)) == (
        LaunchCause.VCPU_QUOTA,
        "0 of 2 nodes: the account's vCPU quota for these instances is used up",
    )


def test_the_first_event_explains_the_later_ones_without_a_code() -> None:
    assert told(2, event(0.1, QUOTA), event(1, ALL_SHUT), event(2, ALL_SHUT))[0] is LaunchCause.VCPU_QUOTA  # type: ignore[index]


def test_an_event_from_before_the_order_explains_those_after_it() -> None:
    assert told(1, event(-2, QUOTA), event(1, ALL_SHUT))[0] is LaunchCause.VCPU_QUOTA  # type: ignore[index]
    assert told(1, event(-2, QUOTA)) is None


def test_where_no_code_is_known_a_shortage_is_one() -> None:
    assert told(1, event(1, ALL_SHUT))[0] is LaunchCause.NO_CAPACITY  # type: ignore[index]


def test_a_denial_counts_only_when_iam_has_settled() -> None:
    denied = Seen("karpenter", exists=True, ordered=2, claims=(DENIED,))
    assert told(1, seen=denied) is None
    assert told(2, seen=denied)[0] is LaunchCause.LAUNCH_DENIED  # type: ignore[index]


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (Seen("karpenter", exists=True, ordered=1), "the NodePool's size was changed and stands at 1"),
        (Seen("karpenter", exists=True, ordered=2), "no NodeClaim for 3 minutes: does the controller run?"),
        (
            Seen("karpenter", exists=True, ordered=2, health=(HealthIssue("AMINotFound", "no AMIs"),)),
            "the NodePool starts no node: AMINotFound: no AMIs",
        ),
        (
            Seen("karpenter", exists=True, ordered=2, claims=(Claim("lab-gpu-12345"),)),
            "no launch for 3 minutes and AWS gives no reason yet",
        ),
    ],
)
def test_silence_is_told_after_three_minutes(seen: Seen, says: str) -> None:
    assert told(2.9, seen=seen) is None
    assert told(3, seen=seen) == (LaunchCause.UNKNOWN, f"0 of 2 nodes: {says}")


def test_an_interruption_before_the_order_is_no_refused_launch() -> None:
    interrupted = ClaimEvent("lab-gpu-12345", ORDERED + 0.5 * MINUTE, "SpotInterrupted", "Spot interruption")
    assert told(1, event(-2, QUOTA), interrupted) is None
