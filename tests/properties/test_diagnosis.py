"""Whatever is in a snapshot, the diagnosis answers: it never raises, and what is broken is never called healthy."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.diagnosis import Snapshot, diagnose
from lamplighter.domain.diagnosis.causes import CAUSES
from lamplighter.errors import BadInput
from tests import node_pool_snapshots, snapshots
from tests.bench.diagnosing import large_pool
from tests.lengths import examples
from tests.steady.call_count import counted

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.just([None, 1, "x", {}]),
    st.just("9" * 5000),
    st.just("2026-13-99T99:99:99Z"),
)


def paths(document: object, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value of the document."""
    found = [prefix] if prefix else []
    if isinstance(document, dict):
        for key, value in document.items():
            found += paths(value, (*prefix, key))
    elif isinstance(document, list):
        for number, value in enumerate(document):
            found += paths(value, (*prefix, number))
    return found


def put(document: Any, path: tuple[Any, ...], value: object) -> None:
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = value


BASE = snapshots.healthy()
BASE["logs"] = {
    "lab/train-0": "Failed",
    "gpu-operator/nvidia-device-plugin-daemonset-0/main": "I1120 10:00:00.1 x",
}
BASES = (BASE, node_pool_snapshots.of_everything())
PATHS = [(number, path) for number, base in enumerate(BASES) for path in paths(base)]


@settings(max_examples=examples(150, 1500))
@given(data=st.data())
def test_an_odd_value_anywhere_is_answered_or_refused_as_bad_input(data: st.DataObject) -> None:
    number, first = data.draw(st.sampled_from(PATHS))
    document = deepcopy(BASES[number])
    others = st.sampled_from([path for base, path in PATHS if base == number])
    for path in (first, *data.draw(st.lists(others, max_size=2))):
        try:
            put(document, path, data.draw(ODD))
        except (TypeError, KeyError, IndexError):
            continue
    try:
        found = diagnose(Snapshot.read(document))
    except BadInput:
        return
    assert all(finding.cause.name in CAUSES for finding in found.findings)
    json.dumps(found.to_json())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(document=JSON)
def test_any_json_is_answered_or_refused_as_bad_input(document: object) -> None:
    try:
        diagnose(Snapshot.read(document))
    except BadInput:
        return


@given(
    ready=st.booleans(), gpus=st.none() | st.integers(0, 2), there=st.booleans(), minutes=st.integers(1, 60)
)
def test_what_is_not_whole_is_never_healthy(ready: bool, gpus: int | None, there: bool, minutes: int) -> None:
    document = snapshots.healthy(nodes=1, now=minutes)
    document["kubernetes"]["nodes"][1:] = [snapshots.node(0, gpus, ready=ready, minute=0)] if there else []
    found = snapshots.judge(document)
    whole = there and ready and gpus is not None and gpus >= 1
    assert bool(found.findings or found.in_progress) is not whole


@pytest.mark.parametrize("troubled", [False, True])
def test_the_work_grows_with_the_pool_and_not_with_its_square(troubled: bool) -> None:
    small, large = large_pool(50, troubled=troubled), large_pool(200, troubled=troubled)
    few, of_few = counted(lambda: diagnose(Snapshot.read(small)))
    many, found = counted(lambda: diagnose(Snapshot.read(large)))
    assert many < 6 * few, "four times the nodes and pods"
    assert bool(of_few.findings) is troubled
    assert [each.cause.name for each in found.findings] == (
        ["runtime-missing", "device-plugin-missing"] if troubled else []
    )
