"""Judges the laws by the observations of the second act. It is pure, like laws.py, which judges the first act."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from local.demo import laws
from local.demo.experiment_state import ExperimentState
from local.demo.laws import LawVerdict

VANISHES, SHORTER = "night-owls", "until-dawn"
#: The second window of the night in trouble.yaml, in wall-clock time.
DAWN = (datetime(2027, 3, 28, 1, 30), datetime(2027, 3, 28, 4, 30))  # noqa: DTZ001 (the zone is BERLIN)
BERLIN = ZoneInfo("Europe/Berlin")


@dataclass(frozen=True, slots=True)
class Trouble:
    """The observations: the evening, the experiment's report, and the state of what an experiment may change."""

    day: laws.Day
    experiment: str
    report: Mapping[str, Any] | None
    standing: Sequence[ExperimentState]
    closes: datetime
    """The end of the lease that the experiment ran in."""


def judge(trouble: Trouble) -> list[LawVerdict]:
    """All ten, in order."""
    own = {
        verdict.law: verdict for verdict in (_on_evidence(trouble), _clock_change(trouble), _undone(trouble))
    }
    return [own.get(verdict.law, verdict) for verdict in laws.judge(trouble.day)]


def _on_evidence(trouble: Trouble) -> LawVerdict:
    seen = (trouble.report or {}).get("seen", {}).get("verdicts") or []
    if not seen:
        return LawVerdict(6, held=False, evidence="no check was made while the fault was in")
    passed = [one for one in seen if one["verdict"] == "passed"]
    if passed:
        names = ", ".join(f"{one['check']} on {one['node']}" for one in passed)
        return LawVerdict(6, held=False, evidence=f"passed while {trouble.experiment} was on: {names}")
    proven = [one for receipt in trouble.day.receipts for one in receipt.get("verdicts", [])]
    silent = [one for one in proven if one["verdict"] == "passed" and not one.get("reason")]
    if silent or not proven:
        return LawVerdict(6, held=False, evidence="a verdict was passed without a word of what was seen")
    return LawVerdict(
        6,
        held=True,
        evidence=f"{len(seen)} checks were made while {trouble.experiment} was on and none passed: "
        f"{seen[0]['check']} was {seen[0]['verdict']}, {seen[0]['reason']}; each of the {len(proven)} verdicts "
        "of the window says what it rests on",
    )


def _clock_change(trouble: Trouble) -> LawVerdict:
    skipped = _first(trouble.day.entries, "skipped", VANISHES)
    if skipped is None:
        return LawVerdict(9, held=False, evidence=f"nobody said that {VANISHES} does not open")
    dawn = _lease(trouble, SHORTER)
    planned = _first(trouble.day.entries, "planned", SHORTER)
    if dawn is None or planned is None:
        return LawVerdict(9, held=False, evidence=f"{SHORTER} was not planned")
    opens, closes = (wall.replace(tzinfo=BERLIN).astimezone(UTC) for wall in DAWN)
    if (dawn.opens, dawn.closes) != (opens, closes):
        return LawVerdict(9, held=False, evidence=f"{SHORTER} is {dawn.opens} to {dawn.closes}")
    hours = (closes - opens) // timedelta(hours=1)
    return LawVerdict(
        9,
        held="clock" in str(planned.why),
        evidence=f"{skipped.what}: {skipped.why}; {SHORTER} lasts {hours} hours, told: {planned.why}",
    )


def _first(entries: Sequence[Entry], kind: str, window: str) -> Entry | None:
    return next((entry for entry in entries if entry.kind == kind and window in str(entry.what)), None)


def _lease(trouble: Trouble, window: str) -> Lease | None:
    leases = [lease for sample in trouble.day.samples for lease in sample.leases]
    return next((lease for lease in leases if lease.window == window), None)


def _undone(trouble: Trouble) -> LawVerdict:
    name, looks = trouble.experiment, trouble.standing
    changed = [look for look in looks if not look.same(looks[0])]
    if not changed:
        return LawVerdict(10, held=False, evidence=f"{name} was not seen to change anything")
    after = [look for look in looks if look.at > changed[-1].at]
    if not after or after[0].at >= trouble.closes:
        return LawVerdict(
            10, held=False, evidence=f"what {name} changed was still changed at {changed[-1].at:%H:%M:%S} UTC"
        )
    restored = (trouble.report or {}).get("restored", {})
    ahead = (trouble.closes - after[0].at) // timedelta(minutes=1)
    evidence = (
        f"{name} was seen from {changed[0].at:%H:%M:%S} to {changed[-1].at:%H:%M:%S} UTC, and from "
        f"{after[0].at:%H:%M:%S} on the ClusterPolicy and all security-group rules were as before it, "
        f"{ahead} minutes ahead of its lease's end; by its own report: {(trouble.report or {}).get('conclusion')}"
    )
    return LawVerdict(10, held=restored.get("undone") is True, evidence=evidence)
