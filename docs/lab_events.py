"""The generated table of the reference page of events: each detail-type with its schema, from the classes.

The rest of the page is written.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields

from lamplighter.domain.events.lab_event import KINDS, LabEvent

_MARKED = re.compile(r"(<!-- generated: told -->\n).*?(<!-- /generated -->)", re.DOTALL)


def page(written: str) -> str:
    """The written page with the table of today's classes."""
    table = "\n".join(_table())
    return _MARKED.sub(lambda mark: f"{mark[1]}\n{table}\n\n{mark[2]}", written)


def _table() -> Iterator[str]:
    yield "| detail-type | what happened | keys of its own |"
    yield "|---|---|---|"
    common = {field.name for field in fields(LabEvent)}
    for kind in KINDS:
        what = " ".join(inspect.cleandoc(kind.__doc__ or "").split())
        own = ", ".join(f"`{field.name}`" for field in fields(kind) if field.name not in common)
        yield f"| [`{kind.TYPE}`]({kind.TYPE}.schema.json) | {what} |{f' {own} ' if own else ' '}|"
