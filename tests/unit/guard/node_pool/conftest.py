"""The fixture `pool`: a lab on Karpenter at eight in the evening, with nobody who plays Karpenter."""

import pytest

from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.node_pool_on_moto import NodePoolOnMoto


@pytest.fixture
def pool(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> NodePoolOnMoto:
    monkeypatch.setenv(
        "FAILSAFE_MACHINE_ARN", "arn:aws:states:ap-northeast-2:123456789012:stateMachine:lab-failsafe"
    )
    return NodePoolOnMoto.on(lab)
