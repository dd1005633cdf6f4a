"""The second act, trouble: a window without capacity, its finding and its repair; then an experiment, and its undoing.

This file has the order of events; trouble_laws.py judges them.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lamplighter.domain.audit.entry import TIMELINE
from lamplighter.domain.audit.findings import KIND as FINDING
from lamplighter.domain.audit.findings import advice_of, summary_of
from local.demo import trouble_laws
from local.demo.awaited import Awaited
from local.demo.experiment_state import ExperimentStateReader
from local.demo.play import Stage
from local.demo.script import command_line

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


class Trouble(Awaited):
    """People use the command line for everything. EC2's own refusals play the fault."""

    lab = Path(__file__).with_name("trouble.yaml")
    start = START

    def perform(self, stage: Stage) -> None:
        self._changeable = ExperimentStateReader(stage.cloud.control_plane.admin(), stage.api("ec2"))
        self.observers.append(self._changeable.look)
        self._live: list[dict[str, Any]] = []
        self._experiment: dict[str, Any] | None = None
        stage.cloud.clock.sleep_until((OPENS - timedelta(minutes=5)).timestamp())
        self.act(stage, "EC2", "fault", f"has no g5.xlarge left in any zone ({FAULT})", self._runs_out)
        self.wait_for(stage, f"a finding {FAULT}", self._found, OPENS + FOUND_WITHIN)
        self.act(stage, "instructor", "command", "asks for a diagnosis", self._diagnose)
        self.act(stage, "EC2", "fault", "has g5.xlarge again", self._comes_back)
        self.wait_until_open(stage, OPENS + OPEN_WITHIN)
        self.act(stage, "instructor", "command", f"runs the experiment {EXPERIMENT}", self._run_experiment)
        begun = stage.cloud.clock.now()
        self.wait_for(stage, f"{EXPERIMENT} undone and reported", self._reported, begun + UNDONE_WITHIN)
        self.act(stage, "instructor", "command", "asks for the experiment's report", self._read_report)
        self.wait_for_zero(stage, CLOSES + ZERO_WITHIN)
        self.ask_too_much(stage)
        self.replay(stage, OPENS)
        asked = stage.cloud.clock.now()
        self.wait_for(stage, "the answers", lambda: not stage.look.running(), asked + ZERO_WITHIN)

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
