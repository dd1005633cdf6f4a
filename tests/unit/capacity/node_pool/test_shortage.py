"""Why fewer nodes of a NodePool came than were ordered, by Karpenter's events and the conditions of claims."""

from dataclasses import replace
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


USED_UP = "0 of 2 nodes: the account's vCPU quota for these instances is used up"


@pytest.mark.parametrize(
    ("minutes", "events", "cause"),
    [
        pytest.param(1, [event(0.1, QUOTA)], LaunchCause.VCPU_QUOTA, id="inside karpenter's shortage"),
        pytest.param(2, [event(0.1, QUOTA), event(1, ALL_SHUT), event(2, ALL_SHUT)], LaunchCause.VCPU_QUOTA,
                     id="the first event explains the later ones"),
        pytest.param(1, [event(-2, QUOTA), event(1, ALL_SHUT)], LaunchCause.VCPU_QUOTA,
                     id="and so does one of before the order"),
        pytest.param(1, [event(-2, QUOTA)], None, id="which is no trouble of the order by itself"),
        pytest.param(1, [event(-2, QUOTA), replace(event(0.5, "Spot"), reason="SpotInterrupted")], None,
                     id="an interruption is no refused launch"),
        pytest.param(1, [event(1, ALL_SHUT)], LaunchCause.NO_CAPACITY, id="without a known code"),
    ],
)  # fmt: skip
def test_the_cause_is_read_from_the_events(
    minutes: float, events: list[ClaimEvent], cause: LaunchCause | None
) -> None:
    found = told(minutes, *events)

    assert (found and found[0]) == cause
    assert found is None or cause is LaunchCause.NO_CAPACITY or found[1] == USED_UP


def test_an_event_of_the_second_of_the_order_is_about_the_order() -> None:
    """Kubernetes writes whole seconds."""
    ordered = ORDERED.replace(microsecond=400_000)
    awaited = Awaited(wanted=2, have=1, since=ordered, now=ordered + 0.1 * MINUTE, order=None)
    found = explain(awaited, Seen("karpenter", exists=True, ordered=2), [event(0, QUOTA)])
    assert found is not None
    assert found.cause is LaunchCause.VCPU_QUOTA


def test_a_denial_counts_only_when_iam_has_settled() -> None:
    denied = Seen("karpenter", exists=True, ordered=2, claims=(DENIED,))
    found = told(2, seen=denied)

    assert told(1, seen=denied) is None
    assert found is not None
    assert found[0] is LaunchCause.LAUNCH_DENIED


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
