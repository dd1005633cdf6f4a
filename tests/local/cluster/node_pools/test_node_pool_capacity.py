"""NodePools on the embedded cloud do what every kind of capacity does, under the real launch bar."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from local.aws.embedded import ACCESS_KEY_ID, SECRET_ACCESS_KEY, EmbeddedAws
from tests.local.cluster.node_pools.stage import NodePoolStage
from tests.local.conftest import Aws
from tests.unit.capacity.conformance import MINUTE, Conformance


@pytest.fixture
def stage(control_plane, clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NodePoolStage]:
    embedded = EmbeddedAws(clock, tmp_path, "ap-northeast-2")
    embedded.start()
    for name, value in {
        "AWS_ENDPOINT_URL": embedded.endpoint,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "AWS_DEFAULT_REGION": "ap-northeast-2",
        "LAMPLIGHTER_INSTANT": str(clock.path),
        "FAILSAFE_MACHINE_ARN": "arn:aws:states:ap-northeast-2:123456789012:stateMachine:lab-failsafe",
    }.items():
        monkeypatch.setenv(name, value)
    stage = NodePoolStage(control_plane, Aws(embedded))
    stage.capacity.bar("gpu", stage.now() + timedelta(days=2))
    yield stage
    stage.clear()
    embedded.stop()


class TestNodePools(Conformance):
    """The behaviours of every kind."""

    a_node_is_a_remark = True


def test_without_a_lease_no_claim_is_born(stage: NodePoolStage) -> None:
    stage.capacity.bar("gpu", stage.now())
    stage.capacity.order("gpu", 2, stage.capacity.see("gpu"))

    stage.settle()

    seen = stage.capacity.see("gpu")
    assert (seen.size, seen.claims, seen.instances) == (2, (), ())
    assert "no lease for NodePool lab-gpu" in stage.controller.refused_claims[0]


def test_what_the_bar_refused_starts_with_the_next_order(stage: NodePoolStage) -> None:
    stage.capacity.bar("gpu", stage.now())
    stage.capacity.order("gpu", 2, stage.capacity.see("gpu"))
    stage.settle()
    stage.capacity.bar("gpu", stage.now() + 60 * MINUTE)
    before = stage.changes()

    stage.capacity.order("gpu", 2, stage.capacity.see("gpu"))
    stage.settle()

    assert stage.changes() > before
    assert len(stage.capacity.see("gpu").alive) == 2
