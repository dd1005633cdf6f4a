"""The generated table of the page about the first deploy: the steps that `lamplighter verify` plays, in their order.

The rest of the page is written.
"""

from collections.abc import Iterator

from cli.verification.steps.catalogue import CATALOGUE
from docs.generated_parts import filled


def page(written: str) -> str:
    """The written page with the table of today's steps."""
    return filled(written, {"steps": _table()})


def _table() -> Iterator[str]:
    yield "| step | what it does | it passes if | it makes | at most |"
    yield "|---|---|---|---|---|"
    for step in CATALOGUE.values():
        minutes = round(step.longest.total_seconds() / 60)
        yield f"| `{step.name}` | {step.asks} | {step.passes} | {step.makes} | {minutes} minutes |"
