"""Jobs of several ranks, which meet over the network or do not."""

from typing import Any

from tests.snapshots import Document, healthy, pod, without
from tests.unit.diagnosis.table import given

STORE = "torch.distributed.DistNetworkError: The client socket has timed out after 120000ms"
RESULT = "# Out of bounds values : 0 OK"
BLOCKED = "nccl-path-blocked"
JOB = (BLOCKED, "lab/Job/nccl")


def rank(number: int, minute: float = 10, *, owner: str = "Job/nccl", phase: str = "Running") -> Document:
    """The rank of a job that is on the node of that number."""
    return pod(f"nccl-{number}", "lab", number, gpus=1, owner=owner, minute=minute, phase=phase)


def ranks(
    *logs: str, closed: bool = False, now: float = 20, minute: float = 10, with_: dict[str, Any] | None = None,
    phase: str = "Running", owner: str = "Job/nccl",
) -> Document:  # fmt: skip
    """A job with one rank on each node, and these logs; `closed` nodes let no rank in."""
    document = healthy(now=now)
    without(document, "train")
    for number, log in enumerate(logs):
        document["kubernetes"]["pods"].append(rank(number, minute, phase=phase, owner=owner))
        document["logs"][f"lab/nccl-{number}"] = log
    if closed:
        document["aws"]["security_groups"][0]["IpPermissions"] = []
    return given(document, **(with_ or {}))


def alone(*beside: Document, **parts: Any) -> Document:
    """A rank without a job, which met no other, and other pods."""
    document = given(healthy(), gone="train", logs={"lab/rank-0": STORE}, **parts)
    document["kubernetes"]["pods"] += [pod("rank-0", "lab", 0, gpus=1, minute=10), *beside]
    return document


def labelled(document: Document, *names: str, **labels: str) -> Document:
    """Gives the pods whose names begin like this these labels."""
    for each in document["kubernetes"]["pods"]:
        if each["metadata"]["name"].startswith(names):
            each["metadata"]["labels"] = labels
    return document
