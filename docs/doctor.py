"""The reference page of `lamplighter doctor`, from its own table of checks and the dates that it goes by."""

import json
from collections.abc import Iterator
from importlib.resources import files

from lamplighter.domain.doctor.checks import CHECKS

HEAD = """# What the doctor looks at

Generated from the program by `make docs`. `lamplighter doctor` looks before a deploy at a lab file, and after it at the
deployed lab; the function `doctor` looks every 30 days and says what it found as a notice.
[How to use it](../../how-to/set-up/check-an-account.md).

Each line is **ok**; **not ok**, with what to do; or **not known**, with which call on what was refused. What could not
be read is never taken for well, fails nothing, and is counted. A check of pools has a line for each pool. Reads fail
each for itself, and it changes nothing.

| check | looks at | not ok when | asks |
|---|---|---|---|"""

FOOT = """
Exit code 0: nothing is not ok. 1: something is. 2: bad input. 3: AWS does not answer. `--json` prints a list of
`{"check", "outcome", "said", "advice"}`; `outcome` is `ok`, `not-ok` or `not-known`, and `advice` is empty unless there
is something to do.

A cluster that the deploy will make has its lines answered by the lab: ok, as made by the deploy. What an adopted pool
leaves to AWS is taken from its node group.
"""


def page() -> str:
    """The whole page."""
    rows = [
        f"| `{one.name}` | {one.looks_at} | {one.not_ok} | {one.reads or 'nothing: the lab tells'} |"
        for one in CHECKS
    ]
    return "\n".join([HEAD, *rows, FOOT, *_dates()]).rstrip() + "\n"


def _dates() -> Iterator[str]:
    document = json.loads(files("lamplighter.data").joinpath("lifecycle.json").read_text("utf-8"))
    yield f"## Ends of support\n\nAs known on {document['known']}. A version that is not here is not known.\n"
    yield "| Kubernetes on EKS | standard support until | extended support until |\n|---|---|---|"
    for version, ends in document["kubernetes"].items():
        yield f"| {version} | {ends['standard']} | {ends['extended']} |"
    more = f"{document['extended_support_hour']} {document['currency']}"
    yield f"\nIn extended support a cluster costs {more} an hour more.\n"
    yield "| Lambda runtime | supported until |\n|---|---|"
    for runtime, ends in document["runtimes"].items():
        yield f"| {runtime} | {ends} |"
    yield "\nSources:\n"
    yield from (f"- {what}: {where}" for what, where in document["sources"].items())
