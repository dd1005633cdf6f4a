"""How GPUs are offered to pods while a lease is open: whole, shared or sliced; and what is kept of it for people.

ApplyGpuSettings writes the offer into the run, so all later steps have the same. sharing.py says which labels bring
it about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lamplighter.reasons.document import document
from lamplighter.reasons.fields import from_odd_document, to_document
from lamplighter.reasons.reason import Reason, reason

Document = Mapping[str, object]


@dataclass(frozen=True)
class Offer:
    """How a pool's nodes shall offer their GPUs to pods."""

    replicas: int = 1
    strategy: str = "none"
    """none, time-slicing or mps, as GPU feature discovery labels it."""
    renamed: bool = False
    mig: str | None = None
    """The MIG manager's configuration; None where the lab says nothing of slices."""
    slices: int = 1
    """The number of slices of a GPU; 1 where it is whole."""
    labels: Mapping[str, str] | None = None
    """The labels of the nodes; None where this lab shares and slices no GPU."""

    @property
    def called(self) -> Reason:
        """How a sentence names it."""
        sliced = reason("gpu.offer.sliced", slices=self.slices, mig=self.mig or "")
        shared = reason("gpu.offer.shared", replicas=self.replicas, strategy=self.strategy)
        if self.slices > 1 and self.replicas > 1:
            return reason("gpu.offer.sliced-and-shared", sliced=sliced, shared=shared)
        if self.slices > 1:
            return sliced
        return shared if self.replicas > 1 else reason("gpu.offer.whole")

    def seats(self, gpus: int) -> int:
        """The number of pods that may hold a GPU, or a part of one, at the same time."""
        return gpus * self.slices * self.replicas


def kept(applied: Document, awaited: Document) -> dict[str, object]:
    """The part of a lease's settings that the ledger keeps, for its receipt and for the number of seats."""
    offer = from_odd_document(Offer, applied.get("offer"))
    rows = awaited.get("nodes")
    nodes = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) else []
    return {
        "asked": document(offer.called),
        "offer": to_document(offer),
        "state": applied.get("state"),
        "reason": applied.get("reason") or None,
        "before": _mapping(applied.get("before")),
        "during": _mapping(applied.get("during")),
        "seats": sum(int(str(row.get("gpus") or 0)) for row in nodes),
    }


def in_receipt(settings: Document, given_back: Document) -> dict[str, object] | None:
    """A lease's settings for its receipt, with the fields as they were after the close; None where unknown."""
    if not settings:
        return None
    during = _mapping(settings.get("during"))
    before = _mapping(_mapping(settings.get("before")).get("cluster_policy"))
    state = str(given_back.get("state") or "")
    after: object = {"given-back": given_back.get("after"), "gone": None, "nothing-borrowed": before}.get(
        # As changed, where another lease keeps the settings or they are not given back yet.
        state,
        during.get("cluster_policy"),
    )
    return {
        "asked": settings.get("asked"),
        "state": settings.get("state"),
        "reason": settings.get("reason"),
        "seats": settings.get("seats"),
        "before": settings.get("before"),
        "during": during,
        "after": {"cluster_policy": after},
    }


def _mapping(value: object) -> Document:
    return value if isinstance(value, Mapping) else {}
