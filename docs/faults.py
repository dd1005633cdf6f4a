"""The reference page of the embedded cloud's faults, from their catalogue."""

from collections.abc import Iterator

from local.faults.catalogue import FAULTS, Fault, Reach

HEAD = """# Faults of the embedded cloud

Generated from the program by `make docs`; `lamplighter local fault list` says the same, and which are on. How to use
them: [play a fault](../../how-to/trouble/play-a-fault.md).

Each is named as the cause that `lamplighter diagnose` then finds first. From the moment at which it is switched on,
the embedded cloud does what the real ones do under that cause: texts, events, conditions, logs and times.
"""
_WHOSE = {
    Reach.POOL: "A pool's: `--pool P` for one, all without.",
    Reach.CLUSTER: "The cluster's: for all pools.",
    Reach.ACCOUNT: "The account's: for all pools.",
}


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for fault in FAULTS.values() for line in _fault(fault))]).rstrip() + "\n"


def _fault(fault: Fault) -> Iterator[str]:
    yield f"## {fault.name}\n"
    yield f"{_sentence(fault.does)} {_WHOSE[fault.reach]}\n"
    yield f"- reaches: {fault.on}"
    yield f"- expect: {fault.expect}"
    yield f"- off: {fault.heals}\n"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
