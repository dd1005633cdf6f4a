"""Why fewer nodes come of a NodePool than were ordered: a cause and a reason, within three minutes of the order.

Karpenter calls every refused launch InsufficientCapacityError; the code of EC2 inside decides. Only the first event has
it: for three minutes Karpenter asks EC2 no more, and its later events say that everything is unavailable.
"""

from collections.abc import Sequence
from datetime import timedelta

from lamplighter.domain.capacity.evidence import Seen
from lamplighter.domain.capacity.launch_cause import LaunchAttempt, LaunchCause, LaunchRefusal, refusals
from lamplighter.domain.capacity.node_pool import interruptions
from lamplighter.domain.capacity.node_pool.evidence import ClaimEvent
from lamplighter.domain.capacity.port import Awaited
from lamplighter.domain.capacity.shortage import Shortage, as_aws_says, short_of, short_of_refusal
from lamplighter.reasons.reason import Reason, reason

SILENCE = timedelta(minutes=3)
KARPENTERS_WORDS = "insufficient capacity, "
IAM_SETTLES = timedelta(minutes=2)
"""After the failsafe's lock is removed, IAM may refuse for so long what it allows by then."""
CODE_STANDS = timedelta(minutes=10)
"""How long an event with EC2's code explains later ones without."""


def explain(awaited: Awaited, seen: Seen, events: Sequence[ClaimEvent]) -> Shortage | None:
    """Why fewer than the wanted nodes are there; None while the order is young and nothing has failed."""
    waited = awaited.now - awaited.since
    if awaited.have >= awaited.wanted:
        return None
    events = [event for event in events if event.reason not in interruptions.REASONS]
    # Events have whole seconds: one of the second of the order counts.
    began = awaited.since.replace(microsecond=0)
    since = [event for event in _newest_first(events) if event.at >= began]
    refused = _refusal(awaited, seen, since, events)
    if refused is not None:
        if refused.cause is LaunchCause.LAUNCH_DENIED and waited < IAM_SETTLES:
            return None
        return short_of_refusal(refused, awaited.have, awaited.wanted)
    if waited < SILENCE:
        return None
    return short_of(LaunchCause.UNKNOWN, awaited.have, awaited.wanted, _of_unknown(awaited, seen, since))


def _refusal(
    awaited: Awaited, seen: Seen, since: Sequence[ClaimEvent], events: Sequence[ClaimEvent]
) -> LaunchRefusal | None:
    of_claims = [
        LaunchAttempt(claim.created, "Failed", claim.trouble.text) for claim in seen.claims if claim.trouble
    ]
    recent = [event for event in _newest_first(events) if since and awaited.since - event.at <= CODE_STANDS]
    named = (
        refusals([*map(_inner, since), *of_claims], ())
        or refusals(map(_inner, recent), ())
        or refusals(map(_attempt, since), ())
    )
    return named[0] if named else None


def _of_unknown(awaited: Awaited, seen: Seen, since: Sequence[ClaimEvent]) -> Reason:
    """What Karpenter says, where no rule knows the cause."""
    if seen.ordered < awaited.wanted:
        return reason("pool.short.size-stands", desired=seen.ordered)
    if since:
        return as_aws_says(since[0].message)
    if seen.health:
        return reason("pool.short.not-ready", words=seen.health[0].text)
    minutes = (awaited.now - awaited.since) // timedelta(minutes=1)
    if not seen.claims:
        return reason("pool.short.no-claim", minutes=minutes)
    return reason("pool.short.silent", minutes=minutes)


def _inner(event: ClaimEvent) -> LaunchAttempt:
    """Without Karpenter's own words, which call a quota a shortage as well."""
    return LaunchAttempt(event.at, "Failed", event.message.partition(KARPENTERS_WORDS)[2] or event.message)


def _attempt(event: ClaimEvent) -> LaunchAttempt:
    return LaunchAttempt(event.at, "Failed", event.message)


def _newest_first(events: Sequence[ClaimEvent]) -> list[ClaimEvent]:
    return sorted(events, key=lambda event: event.at, reverse=True)
