"""The tutorial's commands, as its pages show them, each with the place where it runs."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = ROOT / "docs/tutorial"
_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<kind>console|yaml)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
ONLY_ON_AWS = "*Only on AWS:*"


@dataclass(frozen=True)
class Block:
    """A block of a page: its lines, and whether only AWS can run them."""

    kind: str
    lines: tuple[str, ...]
    only_on_aws: bool


def blocks(page: str) -> list[Block]:
    """What a reader of a page types, or writes into files, from top to bottom."""
    text = (TUTORIAL / page).read_text("utf-8")
    return [
        Block(
            found["kind"],
            tuple(line.removeprefix(found["indent"]) for line in found["text"].splitlines()),
            text[: found.start()].rstrip().endswith(ONLY_ON_AWS),
        )
        for found in _BLOCK.finditer(text)
    ]


def commands(page: str, *, only_on_aws: bool = False) -> list[str]:
    """The commands of a page that only AWS can run, or all others."""
    return [
        line
        for block in blocks(page)
        if block.kind == "console" and block.only_on_aws is only_on_aws
        for line in block.lines
    ]
