"""Which statements of which roles the scenarios exercised, collected from all processes of a session.

A line is what one statement says about one action and one resource, without the names of labs and pools. The demo's
program writes a record too (judged_program.py). The clouds of `local up` judge as well, and write none.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from local.aws.authorization.record import RECORD
from tests.checkout import ROOT
from tests.lengths import LONG

LIST = Path(__file__).with_name("not_exercised.yaml")
FOLDERS = ROOT / ".build" / "judged"
FOLDER = FOLDERS / (os.environ.get("LAMPLIGHTER_PART", "session") + ("-long" if LONG else ""))
"""What each process of this session judged."""
_STACK = re.compile(r"(.+)-(?:cluster|controller)")
_ARN = re.compile(r"arn:aws:([\w-]*):[\w-]*:\w*:")
_REGION = re.compile(r"LAB-[a-z]{2}-[a-z]+-\d-")
#: The part that AWS or CloudFormation adds to a name.
_ADDED = re.compile(r"(secret:LAB-slack)-\w{6}\b|(LAB-\w+-\w+)-[0-9a-f]{12}\b|(/stream)/[\d:.T-]+")
#: Roles to which CDK gives no name.
_OF_CDK = {"Handler": "kubectl", "framework": "kubectl-provider", "ControlPlane": "control-plane"}


@dataclass
class Judged:
    """All lines that existed, and how often each decided something; and what nobody could judge."""

    standing: set[str] = field(default_factory=set)
    exercised: Counter[str] = field(default_factory=Counter)
    denied: Counter[str] = field(default_factory=Counter)
    not_judged: Counter[str] = field(default_factory=Counter)
    calls: int = 0

    def missing(self) -> set[str]:
        """The lines that existed and that nothing needed."""
        return self.standing - set(self.exercised)

    def roles(self) -> dict[str, tuple[int, int]]:
        """Lines exercised and lines in all, by role."""
        role_of = {line: line.partition(": ")[0] for line in self.standing}
        of: dict[str, list[str]] = {}
        for line, role in sorted(role_of.items()):
            of.setdefault(role, []).append(line)
        return {
            role: (sum(each in self.exercised for each in lines), len(lines)) for role, lines in of.items()
        }


def of_this_process() -> Judged:
    labs = sorted(
        {found[1] for each in RECORD.stacks if (found := _STACK.fullmatch(each))}, key=len, reverse=True
    )
    judged = Judged(calls=RECORD.judged, not_judged=Counter(RECORD.not_judged))
    judged.standing = {text for line in RECORD.standing if (text := _plain(line, labs))}
    for line, times in RECORD.exercised.items():
        if text := _plain(line, labs):
            judged.exercised[text] += times
    judged.denied.update(RECORD.denied)
    return judged


def _plain(line: tuple[str, str], labs: Iterable[str]) -> str | None:
    """The line without names; None for what is no role of a lab: other roles, and policies of resources."""
    role, said = line
    lab = next((each for each in labs if role.startswith(f"{each}-")), None)
    if lab is None:
        return None
    named = _REGION.sub("", role.replace(lab, "LAB")).removeprefix("LAB-")
    unnamed = next((name for part, name in _OF_CDK.items() if part in named), None)
    named = unnamed or re.sub(r"^ng-.*", "nodes", named)
    said, _, condition = said.partition(" if ")
    # Karpenter's rights go by the tag of the cluster, whose key has the cluster's name.
    condition = condition.replace(f"kubernetes.io/cluster/{lab}", "kubernetes.io/cluster/LAB")
    said = _ARN.sub(r"\1 ", said.replace(lab, "LAB"))
    said = _ADDED.sub(lambda added: added[1] or added[2] or added[3], _REGION.sub("LAB-", said))
    said = re.sub(r"LAB-ng-[\w-]+", "LAB-ng-POOL", said)
    return f"{named}: {said}" + (f" if {_keys(condition)}" if condition else "")


def _keys(condition: str) -> str:
    """The keys of a condition, and the leading keys with their values: they distinguish statements."""
    document: Mapping[str, Mapping[str, Any]] = json.loads(condition)
    keys = [(key, wanted) for of in document.values() for key, wanted in of.items()]
    return ", ".join(
        f"{key} {' '.join(wanted)}" if key == "dynamodb:LeadingKeys" else key for key, wanted in sorted(keys)
    )


def write(folder: Path, name: str) -> None:
    """What this process judged, for `read`."""
    mine = of_this_process()
    document = {
        "standing": sorted(mine.standing),
        "exercised": mine.exercised,
        "denied": mine.denied,
        "not_judged": mine.not_judged,
        "calls": mine.calls,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(document, indent=1), "utf-8")


def read(*folders: Path) -> Judged:
    """What all processes of these sessions judged."""
    every = Judged()
    for path in (path for folder in folders for path in folder.glob("*.json")):
        document = json.loads(path.read_text("utf-8"))
        every.standing |= set(document["standing"])
        every.exercised.update(document["exercised"])
        every.denied.update(document["denied"])
        every.not_judged.update(document["not_judged"])
        every.calls += document["calls"]
    return every


@dataclass(frozen=True)
class Reason:
    """Why no scenario exercises the lines of a pattern."""

    lines: str
    why: str


def reasons() -> list[Reason]:
    return [Reason(**each) for each in yaml.safe_load(LIST.read_text("utf-8"))]


def not_judged(judged: Judged) -> list[str]:
    """A sentence for each thing that the embedded IAM could not judge."""
    return [
        f"The embedded IAM could not judge {gap}: {times} times." for gap, times in judged.not_judged.items()
    ]


def not_exercised(judged: Judged, listed: Iterable[Reason]) -> list[str]:
    """A sentence for each line that is missing without a reason."""
    listed = list(listed)
    return [
        f"No scenario exercises {line!r}, and {LIST.name} does not say why."
        for line in sorted(judged.missing())
        if not any(fnmatchcase(line, each.lines) for each in listed)
    ]


def in_vain(judged: Judged, listed: Iterable[Reason]) -> list[str]:
    """A sentence for each reason without a line. Some failures are random, so some sessions exercise their lines."""
    missing = judged.missing()
    return [
        f"{LIST.name} lists {each.lines!r}, and nothing that is missing fits it."
        for each in listed
        if not any(fnmatchcase(line, each.lines) for line in missing)
    ]
