"""Reads the summary of each verb from its file without importing it.

`lamplighter --help` and shells use it, so that nobody waits until every verb is loaded.
"""

import ast
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def summary(module: str) -> str:
    """The first paragraph of a verb's help (`command`) or of a group's (`HELP`)."""
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "command":
            return _first(ast.get_docstring(node) or "")
        if isinstance(node, ast.Assign) and _name(node) == "HELP":
            text: object = ast.literal_eval(node.value)
            return _first(str(text))
    return ""


def summaries(modules: Mapping[str, str]) -> dict[str, str]:
    """The summaries of many verbs, by verb."""
    return {verb: summary(module) for verb, module in modules.items()}


def _name(node: ast.Assign) -> str:
    (target,) = node.targets[:1]
    return target.id if isinstance(target, ast.Name) else ""


def _first(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())
