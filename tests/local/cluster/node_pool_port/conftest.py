"""The fixture `stage`: a pool that is a NodePool, on the control plane of all tests of the cluster."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from local.aws.embedded import EmbeddedAws
from tests.local.cluster.node_pool_port.stage import NodePoolStage
from tests.local.conftest import Aws


@pytest.fixture
def stage(
    definitions, control_plane, clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[NodePoolStage]:
    embedded = EmbeddedAws(clock, tmp_path, "ap-northeast-2")
    embedded.start()
    aws, machine = Aws(embedded), "arn:aws:states:ap-northeast-2:123456789012:stateMachine:lab-failsafe"
    for name, value in (aws.environment() | {"FAILSAFE_MACHINE_ARN": machine}).items():
        monkeypatch.setenv(name, value)
    stage = NodePoolStage(control_plane, aws)
    try:
        stage.capacity.bar("gpu", stage.now() + timedelta(days=2))
        yield stage
    finally:
        stage.clear()
        embedded.stop()
