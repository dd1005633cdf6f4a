"""Tables of diagnoses: a row is a sentence, a snapshot by its difference from a healthy one, and what it tells."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tests.diagnosis_cases import node_of
from tests.snapshots import Document, evidence, judge, replace, without

SECOND = 1 / 60

UNREAD: Any = object()
"""A part that the snapshot does not have."""

DEAD = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
"""What a node says of itself whose GPU is dead: it explains whatever else fails there."""

_OF_AWS = {
    *("instances", "scaling_activities", "subnets", "quotas", "security_groups", "updates"),
    *("controller_policies", "nodegroup"),
}
_WHOLE = {"now", "aws", "kubernetes", "logs", "logs_previous"}

Told = str | tuple[str, ...]
"""A finding or a stage: its name; with what it is about; or in full, with the time of its begin or its
evidence, which is an empty text where there is none."""

Row = tuple[str, Document, Sequence[Told]]


def table(*rows: Row) -> Callable[[Document, Sequence[Told]], None]:
    """The test of all rows; a row's sentence goes on from the name of the test."""
    assert len({sentence for sentence, _, _ in rows}) == len(rows)

    @pytest.mark.parametrize(
        ("document", "told"), [pytest.param(document, told, id=sentence) for sentence, document, told in rows]
    )
    def test(document: Document, told: Sequence[Told]) -> None:
        assert seen(document, told) == told

    return test


def seen(document: Document, told: Sequence[Told]) -> list[Told]:
    """All findings and then all stages, each as far as its row tells."""
    found = judge(document)
    whole: list[tuple[str, ...]] = [
        (each.cause.name, str(each.about), *(evidence(each) or ("",))) for each in found.findings
    ]
    whole += [(each.stage.label, each.about, f"{each.since:%H:%M:%S}") for each in found.in_progress]
    cut: list[Told] = []
    for number, each in enumerate(whole):
        row = told[number] if number < len(told) else each
        cut.append(each[0] if isinstance(row, str) else each[:2] if len(row) == 2 else each)
    return cut


def given(
    document: Document,
    *pods: Document,
    gone: str = "",
    conditions: Sequence[Document] = (),
    node: Mapping[str, Any] | None = None,
    more: Mapping[str, Sequence[Any]] | None = None,
    **parts: Any,
) -> Document:
    """The snapshot after these changes.

    Pods take the place of those whose names begin like theirs; `gone` names others that are not there. `conditions`
    and `node` change the first node of the pool, the latter by paths with spaces. `more` adds to lists. Every other
    word is a part of the snapshot: `expected` and `group` are merged, and a part that is UNREAD is left out.
    """
    if gone:
        without(document, *gone.split())
    for each in pods:
        replace(document, each)
    for path, value in (node or {}).items():
        change(node_of(document, 0), path, value)
    if conditions:
        node_of(document, 0)["status"]["conditions"] += conditions
    for name, values in (more or {}).items():
        _holder(document, name)[name] += values
    for name, value in parts.items():
        if name in {"expected", "group"}:
            whole = document["expected"] if name == "expected" else document["aws"]["nodegroup"]
            for key, part in value.items():
                change(whole, key, part)
        else:
            change(_holder(document, name), name, value)
    return document


def change(document: Any, path: str, value: Any) -> None:
    """Sets what stands at a path of keys and numbers, or takes it away."""
    *above, last = path.split()
    for key in above:
        document = document[int(key)] if isinstance(document, list) else document.setdefault(key, {})
    if value is UNREAD:
        del document[last]
    else:
        document[last] = value


def _holder(document: Document, name: str) -> Document:
    if name in _WHOLE:
        return document
    if name == "issues":
        health: Document = document["aws"]["nodegroup"]["health"]
        return health
    holder: Document = document["aws" if name in _OF_AWS else "kubernetes"]
    return holder
