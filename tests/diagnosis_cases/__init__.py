"""For every cause: a snapshot that shows it, a near miss, and a healthy snapshot.

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
    """`shows` has the cause on one node; `near_miss` has another cause or none; `well` has no cause."""

    cause: str
    shows: On
    near_miss: Change
    well: Change


def leave(document: Document, number: int) -> None:
    """Remove the node and its pods. Its instance stays."""
    kubernetes = document["kubernetes"]
    kubernetes["nodes"] = [each for each in kubernetes["nodes"] if each["metadata"]["name"] != NODES[number]]
    kubernetes["pods"] = [
        each for each in kubernetes["pods"] if each["spec"].get("nodeName") != NODES[number]
    ]


def vanish(document: Document, number: int) -> None:
    """Remove the node, its pods and its instance."""
    leave(document, number)
    gone = instance(number)["InstanceId"]
    aws = document["aws"]
    aws["instances"] = [each for each in aws["instances"] if each["InstanceId"] != gone]
    aws["scaling_activities"].remove(activity("", "Successful", 0.4))


def one_missing(now: float = 20) -> Document:
    """A healthy pool without its second node."""
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
