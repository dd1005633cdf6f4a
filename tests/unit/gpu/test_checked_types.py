"""Every CDK service that we import has checked types: pyproject.toml leaves the others out."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("app.py", "cli", "docs", "lambdas", "local", "stacks", "tests")


def imported(source: str) -> Iterator[str]:
    """The modules of the CDK that a source names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("aws_cdk."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aws_cdk"):
            submodules = [each.name for each in node.names if each.name.startswith("aws_")]
            yield from (f"aws_cdk.{name}" for name in submodules)
            if node.module != "aws_cdk":
                yield str(node.module)


def test_the_types_of_every_service_in_use_are_checked() -> None:
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["overrides"]
    read = {name for each in overrides if each.get("follow_imports") == "normal" for name in each["module"]}
    folders = [ROOT / name for name in SOURCES]
    files = [file for folder in folders for file in (folder.rglob("*.py") if folder.is_dir() else [folder])]
    sources = [source for file in files if "aws_cdk" in (source := file.read_text("utf-8"))]

    used = {name for source in sources for name in imported(source)}

    assert len(used) > 20
    assert used <= read
