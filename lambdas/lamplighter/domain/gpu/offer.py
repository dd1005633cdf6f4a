"""What pods shall find of GPUs while a lease is open: whole, shared or cut; and what is kept of it for people.

Written into a run by ApplyGpuSettings, so that every later step means the same. What makes it so is
gpu_sharing.py's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Document = Mapping[str, object]


@dataclass(frozen=True)
class Offer:
    """What pods shall find on a pool's nodes; written into a run, so that every step means the same."""

    replicas: int = 1
    strategy: str = "none"
    """none, time-slicing or mps, as GPU feature discovery labels it."""
    renamed: bool = False
    mig: str | None = None
    """The MIG manager's configuration; None where nothing is said of slices."""
    slices: int = 1
    """Slices of a GPU, 1 where it is whole."""
    labels: Mapping[str, str] | None = None
    """What the nodes are labelled with; None where nothing is shared or sliced in this lab."""

    @property
    def called(self) -> str:
        """As a sentence names it."""
        sliced = f"cut into {self.slices} slices ({self.mig})" if self.slices > 1 else "whole"
        shared = f"shared by {self.replicas} ({self.strategy})" if self.replicas > 1 else ""
        return " and ".join(filter(None, (sliced if self.slices > 1 or not shared else "", shared)))

    def seats(self, gpus: int) -> int:
        """How many pods may hold a GPU, or a part of one, at once."""
        return gpus * self.slices * self.replicas

    def to_json(self) -> dict[str, object]:
        return {
            "replicas": self.replicas,
            "strategy": self.strategy,
            "renamed": self.renamed,
            "mig": self.mig,
            "slices": self.slices,
            "labels": None if self.labels is None else dict(self.labels),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, object]) -> "Offer":
        """Reads what to_json wrote; whole GPUs where nothing is written."""
        labels = found.get("labels")
        return cls(
            replicas=int(str(found.get("replicas") or 1)),
            strategy=str(found.get("strategy") or "none"),
            renamed=found.get("renamed") is True,
            mig=str(found["mig"]) if found.get("mig") else None,
            slices=int(str(found.get("slices") or 1)),
            labels={str(key): str(value) for key, value in labels.items()}
            if isinstance(labels, Mapping)
            else None,
        )


def kept(applied: Document, awaited: Document) -> dict[str, object]:
    """What is remembered of a lease's settings: for its receipt, and for whoever asks how many seats there are."""
    shall = Offer.from_json(_document(applied.get("offer")))
    rows = awaited.get("nodes")
    nodes = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) else []
    return {
        "asked": shall.called,
        "offer": shall.to_json(),
        "state": applied.get("state"),
        "reason": applied.get("reason") or None,
        "before": _document(applied.get("before")),
        "during": _document(applied.get("during")),
        "seats": sum(int(str(row.get("gpus") or 0)) for row in nodes),
    }


def in_receipt(settings: Document, given_back: Document) -> dict[str, object] | None:
    """A lease's settings as its receipt has them, with what stood there once it was closed; None where unknown."""
    if not settings:
        return None
    during = _document(settings.get("during"))
    before = _document(_document(settings.get("before")).get("cluster_policy"))
    state = str(given_back.get("state") or "")
    after: object = {"given-back": given_back.get("after"), "gone": None, "nothing-borrowed": before}.get(
        # Another lease that wants the same keeps it so; and what was not given back yet is as it was changed.
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


def _document(found: object) -> Document:
    return found if isinstance(found, Mapping) else {}
