"""A CI job beside a lab: the role and the script of the how-to, and the programs that the script calls."""

import json
import os
import re
import sys
from pathlib import Path

from tests.checkout import ROOT
from tests.scenarios.events import ci_programs
from tests.scenarios.events.bus import Sender
from tests.scenarios.lab_day import LabDay, Said

CI = ROOT / "docs/how-to/run/ci-job"
LOOKING = ROOT / "docs/how-to/set-up/let-people-in.md"
PROGRAMS = ("aws", "date", "sleep")


class CiRunner:
    """A CI job with the role `ci`, whose policies are those of the how-to: for the script, and for the command line."""

    def __init__(self, day: LabDay, folder: Path) -> None:
        self._day = day
        permissions = (CI / "permissions.json").read_text("utf-8")
        looking = re.findall(r"```json\n(.*?)```", LOOKING.read_text("utf-8"), re.DOTALL)[0]
        policies = [json.loads(filled(text, day)) for text in (permissions, looking)]
        self._role = Sender(day, "ci", *policies).environment
        for program in PROGRAMS:
            script = folder / program
            script.write_text(
                f'#!/bin/sh\nexec "{sys.executable}" -m {ci_programs.__name__} {program} "$@"\n', "utf-8"
            )
            script.chmod(0o755)
        self._path = f"{folder}:{os.environ['PATH']}"

    def script(self, *words: str, token: str) -> Said:
        """pool.sh, with the variables of the how-to's workflow."""
        given = {"LAB": self._day.lab.name, "SOURCE": "ci.training", "POOL": "gpu", "TOKEN": token}
        path = {"PATH": self._path, "POLL_SECONDS": "120"}
        return self._day.program("bash", str(CI / "pool.sh"), *words, **self._role, **given, **path)

    def command(self, *words: str) -> Said:
        return self._day.command(*words, **self._role)


def filled(text: str, day: LabDay) -> str:
    """A policy of a how-to, with the names in their places in ARNs; the key "LAB" of the ledger stays."""
    names = {
        "REGION": day.lab.region,
        "ACCOUNT": "123456789012",
        "LAB": day.lab.name,
        "CLUSTER": day.lab.cluster_name,
    }
    return re.sub(rf"(?<=[:/])({'|'.join(names)})\b", lambda found: names[found[1]], text)
