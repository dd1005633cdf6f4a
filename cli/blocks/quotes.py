"""Remembers the offerings that were shown: AWS gives an offering another id at every search, and sells by each of them.

In the user's cache folder, beside the names that a shell completes. What was not remembered is looked for again.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from cli import known_names
from lamplighter.domain.capacity.block_offering import BlockOffering

MOST = 100
"""Of the latest."""


def note(offered: Sequence[BlockOffering]) -> None:
    """Remember these beside those shown before."""
    file = _file()
    if file is None or not offered:
        return
    with suppress(*known_names.UNUSABLE):
        shown = {**_read(file), **{each.id: each.to_json() for each in offered}}
        known_names.write(file, dict(list(shown.items())[-MOST:]))


def shown(id_: str) -> BlockOffering | None:
    """The offering that was shown with this id; None where it is not remembered."""
    file = _file()
    with suppress(*known_names.UNUSABLE, ArithmeticError, KeyError, TypeError):
        if file is not None and (one := _read(file).get(id_)) is not None:
            begins, ends = (datetime.fromisoformat(one[key]) for key in ("from", "until"))
            return BlockOffering(
                id=id_,
                instance_type=one["instance_type"],
                zone=one["zone"],
                nodes=int(one["nodes"]),
                begins=begins,
                ends=ends,
                price=Decimal(one["price"]),
                currency=one["currency"],
            )
    return None


def _file() -> Path | None:
    names = known_names.file_of_names()
    return names and names.with_name("block-offerings.json")


def _read(file: Path) -> dict[str, dict[str, str]]:
    content = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return content if isinstance(content, dict) else {}
