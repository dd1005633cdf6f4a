"""Only the folders of the port know what a node group is: a second kind of capacity changes no other line."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.suite.parts import ROOT

WORDS = re.compile(r"node[-_ ]?group|auto[-_ ]?scaling|scaling[-_ ]group|\bASG\b", re.IGNORECASE)
LOOKED_AT = ("lambdas/lamplighter/domain", "lambdas/lamplighter/application", "lambdas/handlers", "cli")
PORT = (
    "lambdas/lamplighter/domain/capacity/node_group/",
    "lambdas/lamplighter/domain/capacity/kinds.py",
    "lambdas/lamplighter/application/deploy/node_group/",
    "lambdas/lamplighter/application/deploy/kinds.py",
)
EXCUSED = {
    "lambdas/lamplighter/domain/diagnosis/": "reads AWS's documents by their names, as the contract has them",
    "lambdas/lamplighter/domain/audit/entry.py": "a word that stands in the ledgers of all releases",
    "lambdas/lamplighter/application/experiments/services.py": "the name of a security group in deployed labs",
    "cli/plan/adopt.py": "the words of the command that adopts a node group, and a key of lab.yaml",
    "cli/plan/check.py": "a line for people",
    "cli/plan/images.py": "lines for people, and the lab's groups that are always on: they are no pools",
    "cli/reference/example.py": "the lab's groups that are always on, a key of lab.yaml",
    "lambdas/lamplighter/domain/money/unguarded.py": "what the lab's groups that are always on cost",
}


def sources() -> Iterator[tuple[str, str]]:
    for folder in LOOKED_AT:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), file.read_text("utf-8")


def test_nothing_outside_the_port_names_a_kind_of_capacity() -> None:
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, text in sources()
        if not name.startswith((*PORT, *EXCUSED))
        for number, line in enumerate(text.splitlines(), 1)
        if WORDS.search(line)
    ]

    assert found == []


def test_each_excuse_is_still_needed() -> None:
    named = [name for name, text in sources() if WORDS.search(text)]

    assert [excused for excused in EXCUSED if not any(name.startswith(excused) for name in named)] == []
    assert all((ROOT / path).exists() for path in (*PORT, *EXCUSED))


def test_the_pattern_knows_the_spellings() -> None:
    for word in ("nodegroup", "node_group", "NodeGroup", "node group", "Auto Scaling", "autoscaling", "ASG"):
        assert WORDS.search(word)
    assert not WORDS.search(str(Path("an autoscaler of pods, a group of nodes")))
