"""A small lab on moto, in this process: ledger, node group, group with instances, schedules, workflows.

moto's EKS does not move its groups, so a test says when EKS and Auto Scaling catch up with an order.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws import workflows
from lamplighter.adapters.aws.capacity.claims import Claims
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.schedules import Schedules
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.adapters.capacity.node_group.capacity import NodeGroupCapacity
from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups
from lamplighter.adapters.kubernetes.connection import KubernetesResponse
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.guard.services import GuardServices
from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.calls import AFTER_END
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.schedule import WorkflowArns
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from lamplighter.values import instant
from tests.builders.leases import EIGHT, persons
from tests.stopped_clock import stop_at
from tests.unit import moto_state
from tests.unit.ledger_in_memory import LedgerInMemory

REGION = "ap-northeast-2"
LAB, NODEGROUP, LEDGER, HOOK = "lab", "lab-ng-gpu", "lab-ledger", "Terminate-LC-Hook"
ROLE = "arn:aws:iam::123456789012:role/any"
IMAGE = "ami-12c6146b"  # one that moto ships
TAGS = {"eks:cluster-name": LAB, "eks:nodegroup-name": NODEGROUP}


@dataclass
class Cluster:
    """The API server's answers, by node and pod, as G's adapter reads them."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    pods: list[dict[str, Any]] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)

    def list(self, path: str, **query: str) -> "list[dict[str, Any]]":
        if path == "/api/v1/nodes":
            return self.nodes
        node = query["fieldSelector"].removeprefix("spec.nodeName=")
        return [pod for pod in self.pods if pod["spec"]["nodeName"] == node]

    def ask(self, method: str, path: str, **sent: Any) -> KubernetesResponse:
        if method == "PATCH":
            notes = sent["body"]["metadata"]["annotations"]
            node = next(node for node in self.nodes if path.endswith(node["metadata"]["name"]))
            node["metadata"].setdefault("annotations", {}).update(notes)
        if path.endswith("/eviction"):
            self.evicted.append(path.split("/")[-2])
        return KubernetesResponse(201, "{}")

    def expect(self, answer: KubernetesResponse, _method: str, _path: str) -> KubernetesResponse:
        return answer

    def add_node(self, instance: str) -> None:
        self.nodes.append(
            {
                "metadata": {"name": f"node-{instance}", "creationTimestamp": "2026-11-20T19:00:00Z"},
                "spec": {"providerID": f"aws:///{REGION}a/{instance}"},
            }
        )

    def add_pod(self, name: str, instance: str) -> None:
        self.pods.append(
            {
                "metadata": {
                    "name": name,
                    "namespace": "class",
                    "creationTimestamp": "2026-11-20T19:00:00Z",
                },
                "spec": {"nodeName": f"node-{instance}", "containers": []},
                "status": {"phase": "Running"},
            }
        )


@dataclass
class LabOnMoto:
    """The lab and the hands that move the world around it."""

    clock: Path
    cluster: Cluster
    group: str
    close_lab: str
    notices: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    """The steps that the notices function was asked for."""

    @cached_property
    def lab(self) -> Lab:
        return Lab.model_validate({"name": LAB})

    @cached_property
    def capacity(self) -> CapacityServices:
        def start_notice(step: str, run: Mapping[str, object]) -> None:
            self.notices.append((step, run))

        return CapacityServices(self.lab, Ledger(LEDGER), {NODE_GROUP: self.port}, start_notice)

    @cached_property
    def port(self) -> NodeGroupCapacity:
        return NodeGroupCapacity(self.lab)

    @cached_property
    def guard_services(self) -> GuardServices:
        schedules = Schedules(LAB, ROLE, f"arn:aws:sqs:{REGION}:123456789012:dead")
        lease_services = LeaseServices(
            self.capacity, schedules, schedules, WorkflowArns(self.close_lab, self.close_lab, ROLE)
        )
        topic = boto3.client("sns").create_topic(Name="pages")["TopicArn"]
        connect: Callable[[], Any] = lambda: self.cluster  # noqa: E731
        said = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
        return GuardServices(
            lease_services=lease_services,
            workflows=Workflows(),
            pages=Notices(topic),
            notices=Notices(said),
            claims=Claims(LAB),
            close_lab=self.close_lab,
            open_lab=self.close_lab,
            experiment=self.close_lab,
            connect=connect,
        )

    def at(self, minutes: float) -> datetime:
        """Stop the clock so many minutes after eight."""
        now = EIGHT + timedelta(minutes=minutes)
        stop_at(self.clock, now)
        return now

    def lease(  # noqa: PLR0917
        self,
        nodes: int = 2,
        opens: int = 0,
        closes: int = 120,
        name: str = "cli-1",
        run: str | None = None,
        owner: str = "alice",
        **more: Any,
    ) -> Lease:
        """Put a granted lease in the ledger, with the failsafe that its steps arm before."""
        given = {
            "nodes": nodes,
            "run": run,
            "owner": owner,
            "state": LeaseState.ADMITTED,
            "period": "",
            **more,
        }
        lease = persons(name, opens, closes, **given)
        planned = lease.in_state(LeaseState.PLANNED)
        self.capacity.ledger.plan(planned)
        boto3.client("dynamodb").update_item(
            TableName=LEDGER,
            Key={"pk": {"S": "POOL#gpu"}, "sk": {"S": f"LEASE#{name}"}},
            UpdateExpression="SET #state = :state",
            ExpressionAttributeNames={"#state": "state"},
            ExpressionAttributeValues={":state": {"S": "admitted"}},
        )
        latest = max(each.closes for each in self.capacity.ledger.leases("gpu"))
        self.capacity.ledger.set_failsafe("gpu", latest + AFTER_END)
        return lease

    def entries(self, kind: str) -> list[Entry]:
        """What the audit trail has of this kind since eight."""
        return [entry for entry in self.capacity.ledger.audit("gpu", EIGHT) if entry.kind == kind]

    def kept(self, name: str = "cli-1") -> Lease:
        """A lease as the ledger has it."""
        found = self.capacity.ledger.lease("gpu", name)
        assert found is not None
        return found

    @staticmethod
    def instance(tags: dict[str, str], kind: Any = "g5.xlarge") -> str:
        """Somebody starts an instance beside the group; gives its id."""
        written: Any = [{"Key": key, "Value": value} for key, value in tags.items()]
        specification: Any = [{"ResourceType": "instance", "Tags": written}]
        made = boto3.client("ec2").run_instances(
            ImageId=IMAGE, InstanceType=kind, MinCount=1, MaxCount=1, TagSpecifications=specification
        )
        return made["Instances"][0]["InstanceId"]

    def generation_moves(self) -> None:
        boto3.client("dynamodb").update_item(
            TableName=LEDGER,
            Key={"pk": {"S": "POOL#gpu"}, "sk": {"S": "STATE"}},
            UpdateExpression="ADD generation :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )

    def scale(self, nodes: int) -> None:
        """Somebody sets the sizes, and Auto Scaling has done what it was asked."""
        boto3.client("eks").update_nodegroup_config(
            clusterName=LAB, nodegroupName=NODEGROUP, scalingConfig={"desiredSize": nodes}
        )
        self.catch_up()

    def catch_up(self) -> None:
        """Auto Scaling does what EKS was last asked for."""
        asg = boto3.client("autoscaling")
        asg.update_auto_scaling_group(
            AutoScalingGroupName=self.group, MinSize=0, DesiredCapacity=self.sizes["desiredSize"]
        )

    @property
    def sizes(self) -> dict[str, int]:
        """What EKS was asked for."""
        found = boto3.client("eks").describe_nodegroup(clusterName=LAB, nodegroupName=NODEGROUP)
        sizes: dict[str, int] = dict(found["nodegroup"]["scalingConfig"])  # type: ignore[arg-type]
        return sizes

    @property
    def members(self) -> list[str]:
        found = boto3.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[self.group])
        return [member["InstanceId"] for member in found["AutoScalingGroups"][0]["Instances"]]

    @property
    def closes(self) -> list[dict[str, Any]]:
        """The commands of every CloseLab that was started, oldest first."""
        sfn = boto3.client("stepfunctions")
        found = sfn.list_executions(stateMachineArn=self.close_lab)["executions"]
        inputs = [
            sfn.describe_execution(executionArn=each["executionArn"])["input"] for each in reversed(found)
        ]
        return [json.loads(text)["command"] for text in inputs]

    def command(self, verb: str = "open", lease: str | None = "cli-1", **more: object) -> dict[str, object]:
        return {
            "id": f"{verb}-1",
            "verb": verb,
            "pool": "gpu",
            "lease": lease,
            "owner": "alice",
            "by": "alice",
            "source": "cli",
            "issued": "2026-11-20T20:00:00Z",
            "expires": "2026-11-21T20:00:00Z",
            **more,
        }

    def run(self, at: float | None = 0, target: int = 2, before: int = 0, **more: Any) -> dict[str, object]:
        """A run whose Scale ordered so many nodes so many minutes after eight."""
        order: dict[str, object] = {"target": target, "desired_before": before, "update_id": None}
        if at is not None:
            order["at"] = instant.written(EIGHT + timedelta(minutes=at))
        return {"command": self.command(), "results": {"Scale": {**order, **more.pop("scale", {})}, **more}}


class Busy(NodeGroups):
    """EKS is at an update that never ends."""

    def scale(self, name: str, target: int) -> str:
        raise TryLater(f"EKS is busy with {name}, not at {target}")

    def bound(self, name: str, maximum: int, desired: int, token: str | None = None) -> str:
        raise TryLater(f"EKS is busy with {name}, not at {maximum} around {desired} ({token})")


_session = cache(boto3.Session)
_clients: dict[tuple[str, str], Any] = {}


def _client(service: str, **settings: Any) -> Any:
    """The client that an earlier lab had: they differ in nothing, and to make one takes longer than most calls."""
    if service == "dynamodb":
        return _table()
    written = {name: vars(value) if name == "config" else value for name, value in settings.items()}
    key = service, repr(written)
    if key not in _clients:
        _clients[key] = _session().client(service, **settings)  # type: ignore[call-overload]
    return _clients[key]


@cache
def _table() -> LedgerInMemory:
    return LedgerInMemory()


@contextmanager
def lab_on_moto(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[LabOnMoto]:
    """A deployed lab at eight in the evening, its pool at zero."""
    for name, value in {
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "LAMPLIGHTER_INSTANT": str(folder / "clock"),
        "MOTO_EC2_LOAD_DEFAULT_AMIS": "false",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "client", _client)
    # Nothing here comes by waiting for it.
    monkeypatch.setattr(workflows, "sleep", lambda _seconds: None)
    _table.cache_clear()
    with moto_state.mocked(_DEPLOYED.get("state", [])):
        if not _DEPLOYED:
            _DEPLOYED.update(group=_capacity(), close_lab=_workflow())
            boto3.client("scheduler").create_schedule_group(Name=LAB)
            _DEPLOYED["state"] = moto_state.copied()
        made = LabOnMoto(folder / "clock", Cluster(), _DEPLOYED["group"], _DEPLOYED["close_lab"])
        made.at(0)
        yield made


#: The lab as it is deployed, created by the first test of a process: its names, and the state of moto.
_DEPLOYED: dict[str, Any] = {}


def _workflow() -> str:
    wait = {"StartAt": "Wait", "States": {"Wait": {"Type": "Pass", "End": True}}}
    sfn = boto3.client("stepfunctions")
    made = sfn.create_state_machine(name="lab-close", definition=json.dumps(wait), roleArn=ROLE)
    return made["stateMachineArn"]


def _capacity() -> str:
    """A cluster with a node group at zero and the Auto Scaling group behind it; gives the group's name."""
    ec2 = boto3.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="192.168.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="192.168.12.0/22", AvailabilityZone=f"{REGION}a")
    subnet_id = subnet["Subnet"]["SubnetId"]
    eks = boto3.client("eks")
    eks.create_cluster(name=LAB, roleArn=ROLE, resourcesVpcConfig={"subnetIds": [subnet_id]})
    made = eks.create_nodegroup(
        clusterName=LAB,
        nodegroupName=NODEGROUP,
        amiType="AL2023_x86_64_NVIDIA",
        scalingConfig={"minSize": 0, "maxSize": 2, "desiredSize": 0},
        subnets=[subnet_id],
        nodeRole=ROLE,
    )["nodegroup"]
    group = made["resources"]["autoScalingGroups"][0]["name"]
    ec2.create_launch_template(
        LaunchTemplateName="gpu", LaunchTemplateData={"ImageId": IMAGE, "InstanceType": "g5.xlarge"}
    )
    asg = boto3.client("autoscaling")
    asg.create_auto_scaling_group(
        AutoScalingGroupName=group,
        MinSize=0,
        MaxSize=4,
        DesiredCapacity=0,
        VPCZoneIdentifier=subnet_id,
        LaunchTemplate={"LaunchTemplateName": "gpu", "Version": "$Latest"},
        Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in TAGS.items()],
    )
    asg.put_lifecycle_hook(
        AutoScalingGroupName=group,
        LifecycleHookName=HOOK,
        LifecycleTransition="autoscaling:EC2_INSTANCE_TERMINATING",
    )
    return group
