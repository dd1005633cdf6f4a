"""An import inside a function saves something: what it loads is not loaded with its module anyway.

`handlers/at_init.py` has the figures of those that pay.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.checkout import ROOT

SOURCES = {ROOT / "lambdas": ("lamplighter", "handlers"), ROOT: ("cli",)}


@cache
def modules() -> dict[str, ast.Module]:
    """Our modules by name."""
    return {
        _name(file.relative_to(base)): ast.parse(file.read_text("utf-8"))
        for base, packages in SOURCES.items()
        for package in packages
        for file in (base / package).rglob("*.py")
    }


def _name(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _names(node: ast.stmt) -> set[str]:
    """What an import loads: a name from a package may be a module of it."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()


def _at_start(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.If):
            yield from _at_start(node.orelse if "TYPE_CHECKING" in ast.unparse(node.test) else node.body)
        else:
            yield from _names(node)


def loaded_with(names: Iterable[str]) -> set[str]:
    """Our modules, and other packages' modules by their full name, that these load."""
    loaded: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in loaded:
            continue
        loaded.add(name)
        if name in modules():
            waiting += _at_start(modules()[name].body)
        if "." in name:
            waiting.append(name.rpartition(".")[0])
    return loaded


def test_no_import_inside_a_function_is_of_something_that_is_loaded_anyway() -> None:
    useless = []
    for module, tree in modules().items():
        at_start = loaded_with([module])
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if not isinstance(node, ast.Import | ast.ImportFrom):
                    continue
                names = _names(node)
                ours = {name for name in names if name in modules()}
                if ours and loaded_with(ours) <= at_start:
                    useless.append(f"{module}:{node.lineno}: {ast.unparse(node)}")

    assert sorted(set(useless)) == []
