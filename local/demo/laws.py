"""Judges the ten laws by the observations of a day: each held, broken, or not tried, with its evidence.

It is pure: from samples, audit entries and receipts to verdicts on the laws. A law that the day did not try says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from lamplighter.domain.audit.entry import Entry
from local.demo.observations import Sample

ORDER_WITHIN = timedelta(minutes=7)
ZERO_WITHIN = timedelta(minutes=15)
FAILSAFE_AFTER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class LawVerdict:
    """`held` is None where the day did not try the law."""

    law: int
    held: bool | None
    evidence: str

    def to_json(self) -> dict[str, object]:
        return {"law": self.law, "held": self.held, "evidence": self.evidence}


@dataclass(frozen=True, slots=True)
class Day:
    """The observations: samples in order, the audit trail, the receipts, and the answers to refused commands."""

    samples: Sequence[Sample]
    interval: timedelta
    """The longest time between two samples. A measured duration may be too long by this much."""
    entries: Sequence[Entry]
    receipts: Sequence[Mapping[str, Any]]
    budget: Decimal
    over_budget_answer: str | None = None
    """The answer to a request beyond the budget; None if it was granted."""
    stale_answer: str | None = None
    """The answer to an expired command; None if it had an effect."""


def judge(day: Day) -> list[LawVerdict]:
    """All ten, in order."""
    return [
        _no_lease_no_node(day),
        _failsafe_first(day),
        _stale_is_refused(day),
        _within_budget(day),
        _leased_nodes_stay(day),
        LawVerdict(6, None, "not tried: no check failed or was unreadable in this run"),
        _closed_is_proven(day),
        _every_decision_has_a_reason(day),
        LawVerdict(9, None, "not tried: no clock change falls on this day in the lab's zone"),
        LawVerdict(10, None, "not tried: no experiment runs in this act"),
    ]


def _no_lease_no_node(day: Day) -> LawVerdict:
    stretches = unleased(day.samples)
    if not stretches:
        return LawVerdict(
            1, held=False, evidence="no node ever ran without a lease, so the breach was not seen"
        )
    slowest_order, slowest_zero = timedelta(0), timedelta(0)
    for stretch in stretches:
        begun = stretch[0].at
        ordered = next((sample.at for sample in stretch if sample.desired == 0), None)
        ended = next((s.at for s in day.samples if s.at > stretch[-1].at), None)
        if ordered is None and ended is None:
            return LawVerdict(
                1, held=False, evidence=f"nodes without a lease since {begun:%H:%M:%S} UTC still run"
            )
        slowest_order = max(slowest_order, (ordered or ended or begun) - begun)
        slowest_zero = max(slowest_zero, (ended or stretch[-1].at) - begun)
    held = slowest_order <= ORDER_WITHIN + day.interval and slowest_zero <= ZERO_WITHIN + day.interval
    return LawVerdict(
        1,
        held,
        f"{len(stretches)} times nodes ran past or without a lease: zero ordered within {_minutes(slowest_order)}, "
        f"EC2 at zero within {_minutes(slowest_zero)}, looked at every {day.interval.total_seconds():.0f} s",
    )


def unleased(samples: Sequence[Sample]) -> list[list[Sample]]:
    """The periods of samples in which instances ran and no lease justified any."""
    stretches: list[list[Sample]] = []
    inside = False
    for sample in samples:
        unleased = bool(sample.instances) and sample.justified() == 0
        if unleased and not inside:
            stretches.append([])
        if unleased:
            stretches[-1].append(sample)
        inside = unleased
    return stretches


def _failsafe_first(day: Day) -> LawVerdict:
    leased = [sample for sample in day.samples if sample.justified() and sample.desired]
    if not leased:
        return LawVerdict(2, held=False, evidence="no leased node was ever ordered, so no failsafe was seen")
    for before, sample, following in zip(
        [leased[0], *leased[:-1]], leased, [*leased[1:], leased[-1]], strict=True
    ):
        last = _last_end(sample)
        # An extension moves the failsafe first, one schedule after the other. A shortening moves it last. A sample in
        # between sees schedules with two different ends.
        ends = [last, max(last, _last_end(following)), max(last, _last_end(before))]
        first = min(sample.failsafe, default=None)
        if first is None or not min(ends) <= first - FAILSAFE_AFTER <= max(ends):
            seen = f"{first:%H:%M} UTC" if first else "none"
            return LawVerdict(
                2,
                held=False,
                evidence=f"at {sample.at:%H:%M:%S} UTC nodes were ordered until {last:%H:%M} UTC, failsafe: {seen}",
            )
    return LawVerdict(
        2,
        held=True,
        evidence=f"in all {len(leased)} looks at ordered nodes the failsafe stood 10 minutes after the last end",
    )


def _last_end(sample: Sample) -> datetime:
    return max(lease.closes for lease in sample.leases if lease.in_force(sample.at))


def _stale_is_refused(day: Day) -> LawVerdict:
    if day.stale_answer is None:
        return LawVerdict(3, held=False, evidence="a command past its expiry was not refused")
    return LawVerdict(3, held=True, evidence=f"a command past its expiry was refused: {day.stale_answer}")


def _within_budget(day: Day) -> LawVerdict:
    most = max(Decimal(sample.committed) for sample in day.samples)
    refused = day.over_budget_answer is not None
    evidence = f"held plus spent was at most {most:.4f} of {day.budget}"
    if refused:
        evidence += f"; one ask too many was refused: {day.over_budget_answer}"
    else:
        evidence += "; an ask beyond the budget was not refused"
    return LawVerdict(4, held=refused and most <= day.budget, evidence=evidence)


def _leased_nodes_stay(day: Day) -> LawVerdict:
    lost: list[str] = []
    looks = 0
    # A node with failed GPUs, which the lab replaced after a notice, and a Spot node that AWS took.
    changed = " ".join(
        str(entry.what) if entry.kind == "replaced" else entry.details.get("instances", "")
        for entry in day.entries
        if entry.kind == "replaced" or entry.details.get("notice") == "taken"
    )
    for before, after in zip(day.samples, day.samples[1:], strict=False):
        # An instance of a lease that ended between the two samples does not count as taken.
        if 0 < len(before.instances) <= min(before.justified(), after.justified()):
            looks += 1
            lost += [
                f"{gone} at {after.at:%H:%M:%S} UTC"
                for gone in set(before.instances) - set(after.instances)
                if gone not in changed
            ]
    if lost:
        return LawVerdict(5, held=False, evidence=f"leased nodes were taken: {', '.join(lost)}")
    held = looks > 0
    return LawVerdict(5, held, f"in {looks} looks during leases no leased instance went away")


def _closed_is_proven(day: Day) -> LawVerdict:
    if not day.receipts:
        return LawVerdict(7, held=False, evidence="no receipt was written")
    for receipt in day.receipts:
        proof = receipt["proof_of_zero"]
        if (
            not isinstance(proof, Mapping)
            or proof.get("desired") != 0
            or proof.get("instances")
            or proof.get("kubernetes_nodes")
        ):
            return LawVerdict(
                7, held=False, evidence=f"the receipt of {receipt['lease']} proves no zero: {proof}"
            )
        at = datetime.fromisoformat(str(proof["at"]))
        # A proof has the time of its beginning, but it is reported at its end.
        said = min((e.at for e in day.entries if e.kind == "zero-proven" and e.at >= at), default=at)
        seen = next((sample for sample in day.samples if sample.at >= said), None)
        if seen is None or seen.instances or seen.kubernetes_nodes or seen.desired:
            return LawVerdict(
                7,
                held=False,
                evidence=f"{receipt['lease']} was proven closed at {at:%H:%M:%S} UTC, but seen: {seen}",
            )
    return LawVerdict(
        7,
        held=True,
        evidence=f"{len(day.receipts)} receipts, each with a proof that EC2, Kubernetes and the ordered size bore out",
    )


def _every_decision_has_a_reason(day: Day) -> LawVerdict:
    silent = [entry for entry in day.entries if not str(entry.why).strip()]
    if silent or not day.entries:
        names = ", ".join(f"{entry.kind} at {entry.at:%H:%M:%S}" for entry in silent) or "the trail is empty"
        return LawVerdict(8, held=False, evidence=f"decisions without a reason: {names}")
    return LawVerdict(8, held=True, evidence=f"all {len(day.entries)} entries of the trail say why")


def _minutes(length: timedelta) -> str:
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    return f"{minutes} min {seconds} s"
