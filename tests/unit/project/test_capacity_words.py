"""Only a kind's rooms know what it is: another kind of capacity changes no other line.

Elsewhere code asks a pool what its kind has (lab/kinds.py), so the trait "node pool" is no word of NodePools here.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import get_args

from lamplighter.lab.kinds import Code
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
    "cli/plan/node_notes.py": "lines for people, and the lab's groups that are always on: they are no pools",
    "cli/verification/": "acts as somebody who passes by the lab, on the kind of pool that most labs have",
    "cli/reference/example.py": "the lab's groups that are always on, a key of lab.yaml",
    "lambdas/lamplighter/domain/money/unguarded.py": "what the lab's groups that are always on cost",
    "lambdas/lamplighter/domain/doctor/window.py": "the name of a function's role, in deployed labs",
}

#: What code says and calls.
NODE_POOL = re.compile(r"node[-_]?pool|karpenter|auto[-_]?mode", re.IGNORECASE)
NODE_POOL_ROOMS = (
    "lambdas/lamplighter/domain/capacity/node_pool/",
    "lambdas/lamplighter/domain/capacity/kinds.py",
    "lambdas/lamplighter/domain/doctor/",
    "lambdas/lamplighter/domain/diagnosis/",
    "lambdas/lamplighter/domain/guard/node_pools/",
    "lambdas/lamplighter/domain/pool/node_pool_adoption.py",
    "lambdas/lamplighter/application/deploy/kinds.py",
    "lambdas/lamplighter/application/deploy/node_pool/",
)
NODE_POOL_EXCUSED = {
    "lambdas/lamplighter/domain/capacity/evidence.py": "a claim names its NodePool",
    "lambdas/lamplighter/application/guard/outside.py": "reads that name, to leave the lab's own out",
    "lambdas/lamplighter/domain/pool/adoption.py": "what else may start nodes in a cluster that a lab adopts",
    "lambdas/lamplighter/domain/gpu/readiness.py": "AWS's label of a node that brings its device plugin",
    "lambdas/lamplighter/domain/guard/breach.py": "a rule's name, which stands in ledgers",
    "lambdas/lamplighter/application/guard/controllers.py": "asks whether Karpenter runs, which is a program",
    "lambdas/lamplighter/application/guard/sweep.py": "the same program, in a failure's name",
    "lambdas/lamplighter/application/capacity/prices.py": "the fee by its name in AWS's price list",
}
#: Files of one kind, which may ask whether a pool is of it.
COMPARING = (
    "lambdas/lamplighter/domain/capacity/node_pool/",
    "lambdas/lamplighter/domain/pool/node_pool_adoption.py",
    "lambdas/lamplighter/labfile/rules/auto_mode.py",
    "lambdas/lamplighter/labfile/rules/karpenter.py",
    "stacks/constructs/failsafe/ended_pool.py",
    "stacks/constructs/pool/node_pool/",
    "cli/plan/adopt",
)

#: What code says and calls. Comments may name EKS: the cluster is always one of EKS.
EKS = re.compile(r"(?<![a-z])eks(?![a-z])", re.IGNORECASE)
EKS_PORT = ("lambdas/lamplighter/domain/capacity/", "lambdas/lamplighter/application/deploy/node_group/")
EKS_EXCUSED = {
    "lambdas/lamplighter/domain/diagnosis/": "reads AWS's documents by their names, as the contract has them",
    "lambdas/lamplighter/domain/doctor/cluster.py": "the command that lists the versions of clusters",
    "lambdas/lamplighter/domain/gpu/efa_plugin.py": "the address of AWS's charts",
    "lambdas/lamplighter/domain/money/unguarded.py": "what the cluster itself costs",
    "cli/": "lines for people",
}


def sources(*folders: str) -> Iterator[tuple[str, str]]:
    for folder in folders or LOOKED_AT:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), file.read_text("utf-8")


@cache
def spoken(text: str) -> frozenset[str]:
    """The names and texts of a module, without its docstrings."""
    return frozenset(_spoken(list(ast.walk(ast.parse(text)))))


def _spoken(nodes: Sequence[ast.AST]) -> Iterator[str]:
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
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


def test_nothing_outside_its_rooms_names_a_node_pool() -> None:
    found = [
        f"{name}: {word}"
        for name, text in sources()
        if not name.startswith((*NODE_POOL_ROOMS, *NODE_POOL_EXCUSED, "cli/"))
        for word in spoken(text)
        if NODE_POOL.search(word)
    ]

    assert found == []


def test_nothing_outside_a_kind_s_files_asks_whether_a_pool_is_of_it() -> None:
    found = [
        f"{name}:{node.lineno}: ask Pool.has, or let a match end in assert_never"
        for name, text in sources("lambdas", "stacks", "cli", "local", "docs")
        if not name.startswith(COMPARING)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare) and any(map(_is_code, (node.left, *node.comparators)))
    ]

    assert found == []


def _is_code(side: ast.expr) -> bool:
    match side:
        case ast.Constant(value=str(said)):
            return said in get_args(Code)
        case ast.Attribute(value=ast.Name(id=name), attr="code"):
            return name in {"KARPENTER", "AUTO_MODE"}
        case ast.Name(id=name):
            return name == "NODE_GROUP"
    return False


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
    named = [name for name, text in sources() if any(map(NODE_POOL.search, spoken(text)))]
    assert [
        excused for excused in NODE_POOL_EXCUSED if not any(name.startswith(excused) for name in named)
    ] == []
    named = [name for name, text in sources() if any(map(EKS.search, spoken(text)))]
    assert [excused for excused in EKS_EXCUSED if not any(name.startswith(excused) for name in named)] == []
    assert all(
        (ROOT / path).exists() for path in (*PORT, *EXCUSED, *NODE_POOL_ROOMS, *EKS_PORT, *EKS_EXCUSED)
    )


def test_the_pattern_knows_the_spellings() -> None:
    for word in ("nodegroup", "node_group", "NodeGroup", "node group", "Auto Scaling", "autoscaling", "ASG"):
        assert WORDS.search(word)
    assert not WORDS.search(str(Path("an autoscaler of pods, a group of nodes")))
