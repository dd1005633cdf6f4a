"""What is read before a window, one system at a time; and the key that asks for it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws
from pydantic import ValidationError

from lamplighter.adapters.doctor.inside import seen
from lamplighter.adapters.doctor.window import WindowReading
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.doctor.line import Unread
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab

REGION = "ap-northeast-2"
LAB = Lab.model_validate({"name": "lab", "pools": {"gpu": {"instance_type": "g5.xlarge", "max_nodes": 2}}})


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        yield


def instance(kind: str, tags: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    written = [{"Key": key, "Value": value} for key, value in (tags or {}).items()]
    return {"InstanceId": "i-1", "InstanceType": kind, "Tags": written, **more}


def test_gpu_instances_outside_the_labs_pools_use_a_quota() -> None:
    own = dict(identity(LAB, "gpu").tags)
    listed = [
        instance("g5.xlarge"),
        instance("g5.2xlarge", {"team": "other"}),
        instance("g5.xlarge", {"team": "other"}, InstanceLifecycle="spot"),
        instance("g5.xlarge", own | {"more": "tags"}),
        instance("g5.xlarge", dict.fromkeys(own, "another-group")),
        instance("m5.large"),
        instance("p5.48xlarge", InstanceLifecycle="capacity-block"),
        {"InstanceId": "i-2"},
    ]
    ec2 = boto3.client("ec2")
    with Stubber(ec2) as stub:
        stub.add_response("describe_instances", {"Reservations": [{"Instances": listed}]})
        used = WindowReading(ec2).used([own])
    assert used == {"g_and_vt_vcpus": 4 + 8 + 4, "g_and_vt_spot_vcpus": 4}


def test_a_type_without_known_vcpus_leaves_the_quota_unread() -> None:
    ec2 = boto3.client("ec2")
    with Stubber(ec2) as stub:
        stub.add_response("describe_instances", {"Reservations": [{"Instances": [instance("p3.16xlarge")]}]})
        with pytest.raises(OutsideFailed, match="are not known: p3"):
            WindowReading(ec2).used([])


def test_each_fact_that_aws_does_not_give_is_unread_by_itself() -> None:
    ec2, eks = boto3.client("ec2"), boto3.client("eks")
    with Stubber(ec2) as of_ec2, Stubber(eks) as of_eks:
        of_ec2.add_client_error("describe_instances", "UnauthorizedOperation")
        of_eks.add_response("list_access_entries", {"accessEntries": ["arn:a"], "nextToken": "more"})
        of_eks.add_response("list_access_entries", {"accessEntries": ["arn:b"]})
        first = WindowReading(ec2, eks).facts(LAB)
        of_ec2.add_response("describe_instances", {"Reservations": []})
        of_eks.add_client_error("list_access_entries", "AccessDeniedException")
        second = WindowReading(ec2, eks).facts(LAB)
    assert isinstance(first.used, Unread)
    assert "ec2:DescribeInstances" in str(first.used.why)
    assert first.entries == frozenset({"arn:a", "arn:b"})
    assert second.used == {}
    assert isinstance(second.entries, Unread)


class Deployments:
    """A cluster's API server with these deployments: namespace, name, replicas wanted, replicas available, image."""

    server_time = None

    def __init__(self, *rows: tuple[str, str, int, int | None, str]) -> None:
        self._rows = rows

    def list(self, _path: str) -> list[dict[str, Any]]:
        return [
            {
                "metadata": {"namespace": namespace, "name": name},
                "spec": {"replicas": wanted, "template": {"spec": {"containers": [{"image": image}]}}},
                "status": {} if available is None else {"availableReplicas": available},
            }
            for namespace, name, wanted, available, image in self._rows
        ]


def test_add_ons_and_the_operator_that_want_pods_and_have_none_are_unavailable() -> None:
    cluster: Any = Deployments(
        ("kube-system", "coredns", 2, None, "coredns:1"),
        ("kube-system", "metrics-server", 2, 1, "metrics:1"),
        ("kube-system", "switched-off", 0, None, "off:1"),
        ("gpus", "gpu-operator", 1, 1, "nvcr.io/nvidia/gpu-operator:v26.3.1"),
        ("gpus", "node-feature-discovery-master", 1, 0, "nfd:1"),
        ("theirs", "web", 1, 0, "web:1"),
    )
    assert seen(cluster).unavailable == ("kube-system/coredns", "gpus/node-feature-discovery-master")


@pytest.mark.parametrize(("stated", "hours"), [
    (["24h", "2h", "30m"], [24, 2, 0.5]),
    ("2h", [2]),
    ([], []),
])  # fmt: skip
def test_a_lab_states_how_long_before_its_windows_it_looks_again(stated: Any, hours: list[float]) -> None:
    lab = Lab.model_validate({"name": "lab", "guard": {"look_again": stated}})
    assert lab.guard.look_again == [timedelta(hours=one) for one in hours]
    assert Lab.from_json(lab.to_json()) == lab


@pytest.mark.parametrize(("stated", "problem"), [
    (["25h"], "is 25h, write 10m to 24h"),
    (["9m"], "is 9m, write 10m to 24h"),
    (["soon"], "soon"),
    (["1h", "2h", "3h", "4h"], "at most 3"),
])  # fmt: skip
def test_a_time_that_cannot_be_kept_is_refused(stated: Any, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Lab.model_validate({"name": "lab", "guard": {"look_again": stated}})


def test_a_lab_without_the_key_has_the_same_text_as_before() -> None:
    assert "look_again" not in LAB.to_json()
