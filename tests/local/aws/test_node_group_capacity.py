"""Node groups on the embedded AWS do what every kind of capacity does."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import boto3
import pytest

from lamplighter.adapters.capacity.node_group.capacity import NodeGroupCapacity
from lamplighter.domain.capacity.calls import TimedCall
from lamplighter.domain.capacity.launch_cause import LaunchCause
from lamplighter.lab.model import Lab as LabFile
from tests.local.aws.eks_lab import Lab
from tests.unit.capacity.conformance import Conformance, opened

READS = ("Describe", "List", "Get")


class NodeGroupStage:
    """A lab whose pool `gpu` is a node group on the embedded AWS, and whose pool `other` has none."""

    pool, absent = "gpu", "other"

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.capacity = NodeGroupCapacity(
            LabFile.model_validate({"name": "lab", "pools": {"gpu": {}, "other": {}}})
        )
        self._changes = 0
        for client in (
            self.capacity.nodegroups._eks,
            self.capacity.autoscaling._asg,
            self.capacity.instances._ec2,
        ):
            client.meta.events.register("before-call", self._count)

    def _count(self, model, **_more) -> None:
        self._changes += not model.name.startswith(READS)

    def changes(self) -> int:
        return self._changes

    def now(self) -> datetime:
        return self._lab.clock.now()

    def settle(self) -> None:
        self._lab.clock.sleep(20 * 60)

    def stray(self) -> str:
        tags = [
            {"Key": "eks:cluster-name", "Value": "lab"},
            {"Key": "eks:nodegroup-name", "Value": "lab-ng-gpu"},
        ]
        made = self._lab.aws.call(
            "ec2",
            "run_instances",
            LaunchTemplate={"LaunchTemplateName": "gpu"},
            SubnetId=self._lab.subnets[0],
            MinCount=1,
            MaxCount=1,
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
        )
        return made["Instances"][0]["InstanceId"]

    def refuse(self, cause: LaunchCause) -> None:
        self._lab.moto_additions.switches.on(cause.value)

    def call(self, call: TimedCall) -> None:
        service, operation = call.target.rsplit(":", 2)[-2:]
        client = boto3.client(service)  # type: ignore[call-overload]  # by its name
        names = {name.replace("_", ""): name for name in dir(client)}
        # EKS is busy with another update: Scheduler tries again, and then the next call comes.
        with suppress(*([client.exceptions.ResourceInUseException] if service == "eks" else [])):
            getattr(client, names[operation.lower()])(**_as_the_sdk_writes(service, json.loads(call.input)))


def _as_the_sdk_writes(service: str, sent: dict) -> dict:
    """Scheduler writes every name with a capital; boto3's EKS does not."""
    if service != "eks":
        return sent
    return {
        name[0].lower() + name[1:]: _as_the_sdk_writes(service, value) if isinstance(value, dict) else value
        for name, value in sent.items()
    }


class TestNodeGroups(Conformance):
    @pytest.fixture
    def stage(self, aws, monkeypatch: pytest.MonkeyPatch) -> NodeGroupStage:
        lab = Lab(aws)
        lab.ready()
        for name, value in aws.environment().items():
            monkeypatch.setenv(name, value)
        return NodeGroupStage(lab)

    def test_a_member_speaks_against_zero_though_ec2_does_not_show_it(self, stage: NodeGroupStage) -> None:
        seen = opened(stage)
        assert seen.controller is not None
        unseen = replace(
            seen, ordered=0, controller=replace(seen.controller, size=0), instances=seen.instances[:1]
        )

        proof = stage.capacity.zero(unseen, stage.now(), (), justified=1)

        assert (proof.proven, len(proof.members)) == (False, 2)


def test_nodes_stay_in_the_zones_where_they_started(aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """AZRebalance would end a leased node once a zone has capacity again."""
    lab = Lab(aws)
    for name, value in aws.environment().items():
        monkeypatch.setenv(name, value)
    lab.ready(subnets=lab.subnets[:2])

    def ordered(**keys: object) -> list[str]:
        capacity = NodeGroupCapacity(LabFile.model_validate({"name": "lab", "pools": {"gpu": keys}}))
        for size in (2, 0):
            capacity.order("gpu", size, capacity.see("gpu"))
            lab.clock.sleep(20 * 60)
        return [each["ProcessName"] for each in lab.group()["SuspendedProcesses"]]

    assert ordered(zone_index=0) == []
    assert ordered(zones=[0, 1]) == ["AZRebalance"]
