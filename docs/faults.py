"""The reference page of the embedded cloud's faults, from their catalogue."""

from collections.abc import Iterator

from local.faults.catalogue import FAULTS, Fault, Reach

HEAD = """# Faults of the embedded cloud

Generated from the program by `make docs`. `lamplighter local fault list` shows the same list, and which faults are on.
[Play a fault](../../how-to/trouble/play-a-fault.md) shows how to use them.

Each fault has the name of the cause that `lamplighter diagnose` then finds first; `nvlink-down` is found by checks
alone. While it is on, the embedded cloud behaves as AWS, Kubernetes and NVIDIA's software do under that cause: texts,
events, conditions, logs and times.
"""
_WHOSE = {
    Reach.POOL: "It affects pools: one with `--pool P`, otherwise all.",
    Reach.CLUSTER: "It affects the cluster, and so all pools.",
    Reach.ACCOUNT: "It affects the account, and so all pools.",
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
