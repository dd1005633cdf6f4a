"""What the failsafe of a NodePool calls: the state machine alone, and a rail that passes Kubernetes by."""

from datetime import UTC, datetime

import pytest

from lamplighter.domain.capacity.calls import timed
from lamplighter.domain.capacity.node_pool.off_switch import calls, may_switch_off
from lamplighter.lab.model import Lab

MACHINE = "arn:aws:states:ap-northeast-2:123456789012:stateMachine:gpu-lab-failsafe"
KUBERNETES = "kubernetes"


@pytest.mark.parametrize(
    ("kind", "may", "rails"),
    [
        ("karpenter", False, [KUBERNETES, KUBERNETES, "ec2", "ec2"]),
        ("auto-mode", False, [KUBERNETES, KUBERNETES, "lock", "lock"]),
        ("auto-mode", True, [KUBERNETES, KUBERNETES, "lock", "switch-off"]),
        # Karpenter's instances end in EC2: nothing of the cluster is switched off for them.
        ("karpenter", True, [KUBERNETES, KUBERNETES, "ec2", "ec2"]),
    ],
)
def test_each_instant_has_its_rail(kind: str, may: bool, rails: list[str]) -> None:
    made = calls(MACHINE, "gpu", kind, may_switch_off=may)
    assert [call.target for call in made] == [MACHINE] * 4
    assert [call.sent for call in made] == [{"pool": "gpu", "rail": rail} for rail in rails]


def test_the_calls_come_ten_minutes_apart() -> None:
    first = datetime(2026, 12, 1, 20, 10, tzinfo=UTC)
    made = timed(first, calls(MACHINE, "gpu", "karpenter"))
    assert [(call.at - first).total_seconds() / 60 for call in made] == [0, 10, 20, 30]
    assert made[2].input == '{"pool": "gpu", "rail": "ec2"}'


def test_auto_mode_is_switched_off_only_where_the_lab_says_so() -> None:
    lab = {
        "name": "gpu-lab",
        "cluster": {"karpenter": {}, "auto_mode": {"switch_off": True}},
        "pools": {"own": {"kind": "karpenter", "image": "al2023@v20260724"}, "auto": {"kind": "auto-mode"}},
    }
    allowed = Lab.model_validate(lab)
    refused = Lab.model_validate({**lab, "cluster": {"karpenter": {}, "auto_mode": {}}})

    assert [may_switch_off(allowed, pool) for pool in ("own", "auto")] == [False, True]
    assert not may_switch_off(refused, "auto")
