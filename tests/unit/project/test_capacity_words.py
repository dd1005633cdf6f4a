"""Only the folders of the port know what a node group is: a second kind of capacity changes no other line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.checkout import ROOT

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
    "cli/verification/": "acts as somebody who passes by the lab, on the kind of pool that most labs have",
    "cli/reference/example.py": "the lab's groups that are always on, a key of lab.yaml",
    "lambdas/lamplighter/domain/money/unguarded.py": "what the lab's groups that are always on cost",
}

#: What code says and calls. Comments may name EKS: the cluster is always one of EKS.
EKS = re.compile(r"(?<![a-z])eks(?![a-z])", re.IGNORECASE)
EKS_PORT = ("lambdas/lamplighter/domain/capacity/", "lambdas/lamplighter/application/deploy/node_group/")
EKS_EXCUSED = {
    "lambdas/lamplighter/domain/diagnosis/": "reads AWS's documents by their names, as the contract has them",
    "lambdas/lamplighter/domain/doctor/cluster.py": "the command that lists the versions of clusters",
    "lambdas/lamplighter/domain/money/unguarded.py": "what the cluster itself costs",
    "cli/": "lines for people",
}


def sources() -> Iterator[tuple[str, str]]:
    for folder in LOOKED_AT:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), file.read_text("utf-8")


def spoken(text: str) -> Iterator[str]:
    """The names and texts of a module, without its docstrings."""
    tree = ast.parse(text)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(said)) if id(node) not in docstrings:
                yield said
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name


def test_nothing_outside_the_port_names_a_kind_of_capacity() -> None:
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, text in sources()
        if not name.startswith((*PORT, *EXCUSED))
        for number, line in enumerate(text.splitlines(), 1)
        if WORDS.search(line)
    ]

    assert found == []


def test_nothing_outside_the_port_names_eks() -> None:
    found = [
        f"{name}: {word}"
        for name, text in sources()
        if not name.startswith((*EKS_PORT, *EKS_EXCUSED))
        for word in spoken(text)
        if EKS.search(word)
    ]

    assert found == []


def test_each_excuse_is_still_needed() -> None:
    named = [name for name, text in sources() if WORDS.search(text)]

    assert [excused for excused in EXCUSED if not any(name.startswith(excused) for name in named)] == []
    named = [name for name, text in sources() if any(map(EKS.search, spoken(text)))]
    assert [excused for excused in EKS_EXCUSED if not any(name.startswith(excused) for name in named)] == []
    assert all((ROOT / path).exists() for path in (*PORT, *EXCUSED, *EKS_PORT, *EKS_EXCUSED))


def test_the_pattern_knows_the_spellings() -> None:
    for word in ("nodegroup", "node_group", "NodeGroup", "node group", "Auto Scaling", "autoscaling", "ASG"):
        assert WORDS.search(word)
    assert not WORDS.search(str(Path("an autoscaler of pods, a group of nodes")))
