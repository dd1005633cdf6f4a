"""GPU nodes and check pods of these tests: the node is Ready at 11:00, and the pods are created a minute later."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lamplighter.domain.checks.placement import GpuNode, Placement
from lamplighter.domain.gpu.instance_types import GpuType, gpu_type
from lamplighter.domain.pool.nodes import NodeFacts, PodFacts
from lamplighter.values.instant import written

READY = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
ASKED = READY + timedelta(seconds=60)


def kind(name: str = "g5.xlarge") -> GpuType:
    found = gpu_type(name)
    assert found is not None
    return found


def node(name: str = "a", gpus: int = 1, **labelled: str) -> GpuNode:
    facts = NodeFacts(
        name,
        f"i-{name}",
        READY,
        ready_since=READY,
        allocatable={"nvidia.com/gpu": gpus},
        labels={f"nvidia.com/gpu.{key.replace('_', '-')}": value for key, value in labelled.items()},
    )
    return GpuNode(facts, kind())


def pod(placement: Placement | str, on: str = "a", phase: str = "Running", **more: Any) -> PodFacts:
    name = placement if isinstance(placement, str) else placement.name
    found = PodFacts(
        "lamplighter",
        f"{name}-{on}",
        on,
        phase,
        ASKED,
        annotations={"lamplighter/asked": written(ASKED)},
        gpus=1,
        scheduled=ASKED,
        began=ASKED,
    )
    return replace(found, **more)
