"""Judges the laws by the observations of the third act. Law 1 is another one there: the API server holds it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from local.demo import laws
from local.demo.laws import LawVerdict


@dataclass(frozen=True, slots=True)
class ByHand:
    """The scaling without a lease: when it was, whether the API server refused a NodeClaim, and when it was undone."""

    at: datetime | None
    refused: bool
    back: datetime | None


def judge(day: laws.Day, by_hand: ByHand) -> list[LawVerdict]:
    """All ten, in order."""
    return [
        _no_lease_no_node(day, by_hand, verdict) if verdict.law == 1 else verdict
        for verdict in laws.judge(day)
    ]


def _no_lease_no_node(day: laws.Day, by_hand: ByHand, past_the_end: LawVerdict) -> LawVerdict:
    if laws.unleased(day.samples) and past_the_end.held is not True:
        return past_the_end
    if by_hand.at is None or not by_hand.refused:
        return LawVerdict(1, held=False, evidence="the API server was not seen to refuse a NodeClaim")
    after = [sample for sample in day.samples if sample.at > by_hand.at]
    started = [sample for sample in after if sample.instances]
    if started:
        at = started[0].at
        return LawVerdict(1, held=False, evidence=f"a node without a lease was in EC2 at {at:%H:%M:%S} UTC")
    if by_hand.back is None:
        return LawVerdict(1, held=False, evidence="nobody set the size back that was scaled without a lease")
    lasted = by_hand.back - by_hand.at
    minutes = lasted / timedelta(minutes=1)
    return LawVerdict(
        1,
        held=lasted <= laws.ORDER_WITHIN + day.interval,
        evidence=f"scaled without a lease at {by_hand.at:%H:%M:%S} UTC: the API server refused the NodeClaim, EC2 had "
        f"no instance in {len(after)} looks, the guard set the size back after {minutes:.1f} minutes",
    )
