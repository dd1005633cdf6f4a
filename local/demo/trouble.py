"""The second act, trouble: a window without capacity, its finding and its repair; then an experiment, and its undoing.

This file has the order of events; trouble_laws.py judges them.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lamplighter.domain.audit.entry import TIMELINE
from lamplighter.domain.audit.findings import KIND as FINDING
from lamplighter.domain.audit.findings import advice_of, summary_of
from lamplighter.domain.leases.lease import Lease, LeaseState
from local.demo import trouble_laws
from local.demo.experiment_state import ExperimentStateReader
from local.demo.play import Play, Stage
from local.demo.script import Act, ask_too_much, command_line, replay

START = datetime(2027, 3, 27, 10, 52, tzinfo=UTC)  # Saturday 19:52 in Seoul
OPENS = datetime(2027, 3, 27, 11, 0, tzinfo=UTC)
CLOSES = datetime(2027, 3, 27, 12, 15, tzinfo=UTC)
FAULT = "no-capacity"
EXPERIMENT = "device-plugin-off"
#: A shortage has its cause within three minutes of the order. Then the lab asks again every five minutes.
FOUND_WITHIN = timedelta(minutes=10)
OPEN_WITHIN = timedelta(minutes=25)
UNDONE_WITHIN = timedelta(minutes=25)
ZERO_WITHIN = timedelta(minutes=30)
KINDS = (*TIMELINE, FINDING, "experiment", "experiment-restored", "experiment-report", "skipped")


class Trouble(Play):
    """People use the command line for everything. EC2's own refusals play the fault."""

    lab = Path(__file__).with_name("trouble.yaml")
    start = START

    def perform(self, stage: Stage) -> None:
        self._changeable = ExperimentStateReader(stage.cloud.control_plane.admin(), stage.api("ec2"))
        self.observers.append(self._changeable.look)
        self._live: list[dict[str, Any]] = []
        self._experiment: dict[str, Any] | None = None
        stage.cloud.clock.sleep_until((OPENS - timedelta(minutes=5)).timestamp())
        self._act(stage, "EC2", "fault", f"has no g5.xlarge left in any zone ({FAULT})", self._runs_out)
        self._await(stage, f"a finding {FAULT}", self._found, OPENS + FOUND_WITHIN)
        self._act(stage, "instructor", "command", "asks for a diagnosis", self._diagnose)
        self._act(stage, "EC2", "fault", "has g5.xlarge again", self._comes_back)
        self._await(
            stage, "the window open and proven", lambda: self._is(LeaseState.OPEN), OPENS + OPEN_WITHIN
        )
        self._act(stage, "instructor", "command", f"runs the experiment {EXPERIMENT}", self._run_experiment)
        begun = stage.cloud.clock.now()
        self._await(stage, f"{EXPERIMENT} undone and reported", self._reported, begun + UNDONE_WITHIN)
        self._act(stage, "instructor", "command", "asks for the experiment's report", self._read_report)
        self._await(stage, "proof of zero", lambda: self._over(stage), CLOSES + ZERO_WITHIN)
        self._act(
            stage,
            "instructor",
            "command",
            "asks for 2 nodes for 3 hours, more than the budget has left",
            lambda stage: ask_too_much(stage.doors, stage.pool, self.answers),
        )
        self._act(
            stage,
            "a retry",
            "command",
            "delivers a command to open that expired an hour ago",
            lambda stage: replay(stage.doors, stage.pool, OPENS, self.answers),
        )
        asked = stage.cloud.clock.now()
        self._await(stage, "the answers", lambda: not stage.look.running(), asked + ZERO_WITHIN)

    def report(self, stage: Stage) -> dict[str, Any]:
        day = self.day(stage)
        verdicts = trouble_laws.judge(
            trouble_laws.Trouble(day, EXPERIMENT, self._experiment, self._changeable.looks, CLOSES)
        )
        return self.document(day, verdicts, KINDS) | {
            "act": "trouble",
            "findings": self._findings(),
            "experiments": [self._experiment] if self._experiment else [],
        }

    def _act(self, stage: Stage, who: str, kind: str, what: str, do: Callable[[Stage], None]) -> None:
        self.do(Act(stage.cloud.clock.now(), who, what, kind, lambda: do(stage)))

    def _await(self, stage: Stage, what: str, seen: Callable[[], bool], end: datetime) -> None:
        if not self.until(stage, seen, end):
            self.answers.failures.append(f"not seen by {end:%H:%M} UTC: {what}")

    def _runs_out(self, stage: Stage) -> None:
        stage.cloud.fault_on(FAULT, stage.pool.name)

    def _comes_back(self, stage: Stage) -> None:
        stage.cloud.fault_off(FAULT, stage.pool.name)

    def _diagnose(self, stage: Stage) -> None:
        """Diagnoses live, and again from the saved snapshot."""
        saved = Path(stage.doors.environment["KUBECONFIG"]).with_name("snapshot.json")
        words = ("diagnose", stage.pool.name, "--save", str(saved), "--json", "-")
        for said, asked in (
            ("live", words),
            ("saved", ("diagnose", "--snapshot", str(saved), "--json", "-")),
        ):
            done = command_line(stage.doors, *asked)
            if done.returncode != 0:
                self.answers.failures.append(f"diagnose ended {done.returncode}: {done.stderr.strip()}")
                continue
            found = json.loads(done.stdout)["findings"]
            self._live += [{"seen": said, **finding} for finding in found]
            if [finding["cause"] for finding in found[:1]] != [FAULT]:
                self.answers.failures.append(f"{said}, diagnose did not find {FAULT} first: {found}")

    def _run_experiment(self, stage: Stage) -> None:
        words = ("experiment", "run", EXPERIMENT, stage.pool.name, "--yes", "--no-wait", "--json")
        done = command_line(stage.doors, *words)
        if done.returncode != 0:
            self.answers.failures.append(f"{EXPERIMENT} did not begin: {(done.stdout + done.stderr).strip()}")

    def _read_report(self, stage: Stage) -> None:
        done = command_line(stage.doors, "experiment", "report", "--json")
        if done.returncode != 0:
            self.answers.failures.append(f"no report of {EXPERIMENT}: {(done.stdout + done.stderr).strip()}")
            return
        self._experiment = json.loads(done.stdout)

    def _found(self) -> bool:
        return any(
            entry.kind == FINDING and entry.details.get("cause") == FAULT for entry in self.watch.entries
        )

    def _reported(self) -> bool:
        return any(entry.kind == "experiment-report" for entry in self.watch.entries)

    def _is(self, state: LeaseState) -> bool:
        return any(lease.state is state for lease in self._leases())

    def _leases(self) -> list[Lease]:
        """The leases of the evening, as they were read last."""
        last = self.watch.samples[-1:]
        return [lease for sample in last for lease in sample.leases if lease.window == "evening"]

    def _over(self, stage: Stage) -> bool:
        closed = any(entry.kind == "receipt" for entry in self.watch.entries)
        gone = not any(sample.instances or sample.desired for sample in self.watch.samples[-1:])
        return closed and gone and not stage.look.running()

    def _findings(self) -> list[dict[str, Any]]:
        """What the opening found, by the audit trail, and what the instructor was told."""
        told = [
            {
                "seen": "opening",
                "evidence": [str(entry.why)],
                "summary": str(summary_of(entry)),
                "advice": str(advice_of(entry)),
                **{key: entry.details.get(key) for key in ("cause", "layer")},
            }
            for entry in self.watch.entries
            if entry.kind == FINDING
        ]
        return told + self._live
