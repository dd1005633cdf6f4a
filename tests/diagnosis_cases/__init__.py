"""For every cause of the diagnosis: a snapshot that has it, one that only looks like it, and a healthy one.

Written from the recognition table of facts about GPUs on EKS. Each case changes a healthy pool of two nodes,
20 minutes after it was ordered; a positive one is about the node with the given number.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.snapshots import NODES, Document, activity, healthy, instance

On = Callable[[Document, int], None]
Change = Callable[[Document], None]


@dataclass(frozen=True)
class Case:
    """`shows` has the cause on one node; `near_miss` has another one or none; `well` has neither."""

    cause: str
    shows: On
    near_miss: Change
    well: Change


def leave(document: Document, number: int) -> None:
    """The node is not there, nor anything on it; its instance stays."""
    kubernetes = document["kubernetes"]
    kubernetes["nodes"] = [each for each in kubernetes["nodes"] if each["metadata"]["name"] != NODES[number]]
    kubernetes["pods"] = [
        each for each in kubernetes["pods"] if each["spec"].get("nodeName") != NODES[number]
    ]


def vanish(document: Document, number: int) -> None:
    """Neither the node nor its instance ever came."""
    leave(document, number)
    gone = instance(number)["InstanceId"]
    aws = document["aws"]
    aws["instances"] = [each for each in aws["instances"] if each["InstanceId"] != gone]
    aws["scaling_activities"].remove(activity("", "Successful", 0.4))


def one_missing(now: float = 20) -> Document:
    """A healthy pool whose second node never came."""
    document = healthy(now=now)
    vanish(document, 1)
    return document


def node_of(document: Document, number: int) -> Document:
    found: Document = next(
        each for each in document["kubernetes"]["nodes"] if each["metadata"]["name"] == NODES[number]
    )
    return found


def conditions(document: Document, number: int) -> list[Document]:
    found: list[Document] = node_of(document, number)["status"]["conditions"]
    return found
