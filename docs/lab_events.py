"""The generated table of the reference page of events: each detail-type with its schema, from the classes.

The rest of the page is written.
"""

import inspect
from collections.abc import Iterator
from dataclasses import fields

from docs.generated_parts import filled
from lamplighter.domain.events.lab_event import KINDS, LabEvent


def page(written: str) -> str:
    """The written page with the table of today's classes."""
    return filled(written, {"told": _table()})


def _table() -> Iterator[str]:
    yield "| detail-type | what happened | keys of its own |"
    yield "|---|---|---|"
    common = {field.name for field in fields(LabEvent)}
    for kind in KINDS:
        what = " ".join(inspect.cleandoc(kind.__doc__ or "").split())
        own = ", ".join(f"`{field.name}`" for field in fields(kind) if field.name not in common)
        yield f"| [`{kind.TYPE}`]({kind.TYPE}.schema.json) | {what} |{f' {own} ' if own else ' '}|"
