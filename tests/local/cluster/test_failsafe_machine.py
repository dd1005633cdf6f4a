"""The failsafe's machine runs from its template, as its own role, against EC2, IAM and a real API server.

No function of ours is there, and no controller either: a test plays it where it matters.
"""

import base64
import json
from contextlib import suppress
from datetime import UTC
from functools import partial

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.ec2.models import EC2Backend, ec2_backends

from lamplighter.domain.capacity.calls import AFTER_END, timed
from lamplighter.domain.capacity.node_pool.groups import Group
from lamplighter.domain.capacity.node_pool.off_switch import calls
from local.aws.ec2 import managed_instances
from local.aws.ec2.ec2 import end
from local.aws.embedded import EmbeddedAws
from local.kubernetes.aws_identities import AwsIdentities
from local.kubernetes.token_webhook import bind_access_policy
from local.stack_template import StackTemplate
from stacks.constructs.failsafe.ended_pool import EndedPool
from tests import failsafe_machine
from tests.failsafe_machine import (
    AUTO_MODE,
    BOUNDARIES,
    CONTROL_PLANE,
    CONTROLLER,
    KARPENTER,
    SECOND,
    UNLOCKED,
)
from tests.local.cluster.functions import Functions
from tests.local.cluster.test_token_webhook import CLUSTER, REGION, cluster_of
from tests.local.conftest import Aws

MACHINE = f"arn:aws:states:{REGION}:123456789012:stateMachine:gpu-lab-failsafe"
ROLE = f"arn:aws:iam::123456789012:role/{failsafe_machine.NAMES.role('failsafe-machine')}"
API = "/apis/karpenter.sh/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = Group.FAILSAFE.of("gpu-lab")
LOCK = f"lamplighter-lock-{KARPENTER.node_pool}"
MINUTES = 60


class Account:
    """An account with the machine, a cluster with Karpenter's resources, and the instances of some pools."""

    def __init__(self, aws: Aws, kubernetes, endpoint: str, authority: str) -> None:
        self.aws, self.kubernetes = aws, kubernetes
        self.endpoint, self.authority = endpoint, authority
        self.pages = self.starter = ""

    def deploy(self) -> None:
        text = json.dumps(failsafe_machine.template())
        stack = self.aws.embedded.deploy(StackTemplate("failsafe", text, {}))
        assert stack.status == "CREATE_COMPLETE", stack.failure
        self.pages, queue = self.aws.queue("inbox")
        self.starter = self.aws.role("starter", "states:StartExecution")
        topic = f"arn:aws:sns:{REGION}:123456789012:pages"
        self.aws.call("sns", "subscribe", TopicArn=topic, Protocol="sqs", Endpoint=queue)

    def api_server(self, *, up: bool) -> None:
        """Whether something answers at the address that EKS names."""
        endpoint = self.endpoint if up else "https://127.0.0.1:9"
        self.aws.embedded.moto_additions.control_plane(endpoint, self.authority)

    def run_instances(self, pool: str, count: int, tag: str = "karpenter.sh/nodepool", **more) -> list[str]:
        tags = [{"Key": tag, "Value": pool}, {"Key": "eks:eks-cluster-name", "Value": CLUSTER}]
        made = self.aws.call(
            "ec2",
            "run_instances",
            ImageId="ami-12c6146b",
            InstanceType="g5.xlarge",
            MinCount=count,
            MaxCount=count,
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
            **more,
        )
        return [each["InstanceId"] for each in made["Instances"]]

    def give_addresses(self, instance: str) -> None:
        """20 interfaces of 40 addresses: described in as many bytes as half of what a g5.48xlarge may have in EC2."""
        found = self.aws.call("ec2", "describe_instances", InstanceIds=[instance])["Reservations"]
        subnet = found[0]["Instances"][0]["SubnetId"]
        for index in range(1, 21):
            made = self.aws.call(
                "ec2", "create_network_interface", SubnetId=subnet, SecondaryPrivateIpAddressCount=39
            )["NetworkInterface"]
            self.aws.call(
                "ec2",
                "attach_network_interface",
                DeviceIndex=index,
                InstanceId=instance,
                NetworkInterfaceId=made["NetworkInterfaceId"],
            )

    def run_managed(self, pool: str, count: int) -> list[str]:
        """Instances that EKS operates, so EC2 hides them and lets nobody else end them."""
        instances = self.run_instances(pool, count, tag="eks:kubernetes-node-pool-name")
        for instance in instances:
            managed_instances.take(self._backend.get_instance(instance), "eks.amazonaws.com")
        return instances

    def end_managed(self, instances: list[str]) -> None:
        """As EKS does."""
        for instance in instances:
            end(self._backend.account_id, REGION, instance)

    @property
    def _backend(self) -> EC2Backend:
        return ec2_backends["123456789012"][REGION]

    def bound(self, role: str, *, on: bool = True) -> None:
        """Whether the role has the boundary that the lab gives it."""
        if not on:
            self.aws.call("iam", "delete_role_permissions_boundary", RoleName=role)
            return
        name = failsafe_machine.NAMES.policy(BOUNDARIES[role])
        arn = f"arn:aws:iam::123456789012:policy/{name}"
        launches = [{"Effect": "Allow", "Action": "ec2:*", "Resource": "*"}]
        document = json.dumps({"Version": "2012-10-17", "Statement": launches})
        with suppress(ClientError):  # it is there
            self.aws.call("iam", "create_policy", PolicyName=name, PolicyDocument=document)
        self.aws.call("iam", "put_role_permissions_boundary", RoleName=role, PermissionsBoundary=arn)

    def protect(self, instance: str, *, on: bool) -> None:
        self.aws.call(
            "ec2", "modify_instance_attribute", InstanceId=instance, DisableApiTermination={"Value": on}
        )

    def end(self, instances: list[str]) -> None:
        self.aws.call("ec2", "terminate_instances", InstanceIds=instances)

    def switch_auto_mode_on(self) -> None:
        on = {"enabled": True}
        self.aws.call(
            "eks",
            "update_cluster_config",
            name=CLUSTER,
            computeConfig=on,
            storageConfig={"blockStorage": on},
            kubernetesNetworkConfig={"elasticLoadBalancing": on},
        )
        self.aws.clock.sleep(MINUTES)

    def running(self) -> set[str]:
        """The instances that EC2 has not begun to end."""
        states = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}]
        found = self.aws.call("ec2", "describe_instances", Filters=states, IncludeManagedResources=True)[
            "Reservations"
        ]
        return {instance["InstanceId"] for each in found for instance in each["Instances"]}

    def open(self, pool: str, nodes: int, *, dynamic: bool = False) -> None:
        """A NodePool with its claims."""
        reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": pool}
        template = {"spec": {"nodeClassRef": reference, "requirements": []}}
        spec = {"template": template, "limits": {"nodes": str(nodes)}}
        made = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": pool},
            "spec": spec if dynamic else {**spec, "replicas": nodes},
        }
        self.kubernetes.request("POST", f"{API}/nodepools", made)
        for number in range(nodes):
            named = {"name": f"{pool}-{number}", "labels": {"karpenter.sh/nodepool": pool}}
            claim = {**made, "kind": "NodeClaim", "metadata": named, "spec": template["spec"]}
            self.kubernetes.request("POST", f"{API}/nodeclaims", claim)

    def replicas(self, pool: str) -> int:
        return self.kubernetes.get(f"{API}/nodepools/{pool}")["spec"]["replicas"]

    def claims(self, pool: str) -> list[str]:
        listed = self.kubernetes.get(f"{API}/nodeclaims?labelSelector=karpenter.sh/nodepool={pool}")["items"]
        return [claim["metadata"]["name"] for claim in listed]

    def lock(self, role: str = CONTROLLER, name: str = LOCK) -> dict | None:
        try:
            found = self.aws.call("iam", "get_role_policy", RoleName=role, PolicyName=name)
        except ClientError:
            return None
        return found["PolicyDocument"]

    def paged(self) -> list[dict]:
        """The events of which a page was sent."""
        self.aws.clock.sleep(MINUTES)
        found = self.aws.call("sqs", "receive_message", QueueUrl=self.pages, MaxNumberOfMessages=10)
        return [json.loads(json.loads(each["Body"])["Message"]) for each in found.get("Messages", [])]

    def start(self, pool: str, rail: str) -> str:
        given = json.dumps({"pool": pool, "rail": rail})
        return self.aws.call("stepfunctions", "start_execution", stateMachineArn=MACHINE, input=given)[
            "executionArn"
        ]

    def ended(self, run: str) -> dict:
        self.aws.embedded.moto_additions.wait_for_execution(run)
        self.aws.clock.sleep(2)
        return self.aws.call("stepfunctions", "describe_execution", executionArn=run)

    def ends(self, pool: str, rail: str) -> dict:
        return self.ended(self.start(pool, rail))

    def steps(self, ended: dict) -> list[str]:
        names: list[str] = []
        token: dict[str, str] = {}
        while True:
            page = self.aws.call(
                "stepfunctions", "get_execution_history", executionArn=ended["executionArn"], **token
            )
            names += [
                event["stateEnteredEventDetails"]["name"]
                for event in page["events"]
                if "stateEnteredEventDetails" in event
            ]
            if not page.get("nextToken"):
                return names
            token = {"nextToken": page["nextToken"]}

    def clear(self) -> None:
        """Everything that a test made is gone."""
        self.api_server(up=True)
        for pool in self.kubernetes.get(f"{API}/nodepools")["items"]:
            self.kubernetes.delete(f"{API}/nodepools/{pool['metadata']['name']}")
        for claim in self.kubernetes.get(f"{API}/nodeclaims")["items"]:
            self.kubernetes.delete(f"{API}/nodeclaims/{claim['metadata']['name']}")
        self.end_managed(sorted(self.running()))
        self.aws.clock.sleep(5 * MINUTES)
        for role in (CONTROLLER, CONTROL_PLANE):
            for name in self.aws.call("iam", "list_role_policies", RoleName=role)["PolicyNames"]:
                self.aws.call("iam", "delete_role_policy", RoleName=role, PolicyName=name)


def launches_of(pool: EndedPool) -> dict[str, object]:
    """The condition on the tags of a launch for this pool of this cluster."""
    return {"StringEquals": {f"aws:RequestTag/{key}": value for key, value in pool.tags.items()}}


def seconds(ended: dict) -> float:
    return (ended["stopDate"] - ended["startDate"]).total_seconds()


def let_the_machine_in(kubernetes) -> None:
    """The rights that the lab gives the machine's group."""
    rules = [
        {"apiGroups": ["karpenter.sh"], "resources": ["nodepools/scale"], "verbs": ["update"]},
        {"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["deletecollection"]},
    ]
    kubernetes.create(f"{RBAC}/clusterroles", {"metadata": {"name": GROUP}, "rules": rules})
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": GROUP}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": GROUP}
    binding = {"metadata": {"name": GROUP}, "roleRef": role, "subjects": [subject]}
    kubernetes.create(f"{RBAC}/clusterrolebindings", binding)


def keep_the_machine_out(kubernetes) -> None:
    """The next file of the same cluster may ask for the rights of the same group."""
    for kind in ("clusterrolebindings", "clusterroles"):
        kubernetes.delete(f"{RBAC}/{kind}/{GROUP}")


@pytest.fixture(scope="module")
def a_day(definitions, clock, control_plane, seen_from_outside, tmp_path_factory):
    kubernetes = control_plane.admin()
    embedded = EmbeddedAws(clock, tmp_path_factory.mktemp("aws"), REGION)
    embedded.start()
    aws = Aws(embedded)
    authority = base64.b64encode(control_plane.ca_pem.encode()).decode()
    account = Account(aws, kubernetes, seen_from_outside.endpoint, authority)
    account.api_server(up=True)
    cluster_of(aws)
    for role in BOUNDARIES:
        aws.role(role)
        account.bound(role)
    around = embedded.around
    session = boto3.Session(around.access_key_id, around.secret_access_key, region_name=REGION)
    bind = partial(bind_access_policy, kubernetes)
    control_plane.authenticate_through(AwsIdentities(embedded.endpoint, CLUSTER, session, bind))
    let_the_machine_in(kubernetes)
    account.deploy()
    yield account
    account.clear()
    keep_the_machine_out(kubernetes)
    control_plane.authenticate_through(Functions())
    embedded.stop()


@pytest.fixture
def account(a_day):
    a_day.clear()
    return a_day


def test_the_first_rail_sets_a_node_pool_to_zero_and_deletes_its_claims(account):
    account.open(KARPENTER.node_pool, 2)
    account.open(SECOND.node_pool, 1)
    instances = account.run_instances(KARPENTER.node_pool, 2)
    others = account.run_instances(SECOND.node_pool, 1)

    run = account.start("gpu", "kubernetes")
    account.aws.clock.sleep(30)
    assert (account.replicas(KARPENTER.node_pool), account.claims(KARPENTER.node_pool)) == (0, [])
    assert account.running() == {*instances, *others}
    account.end(instances)  # as the controller does for a deleted claim
    ended = account.ended(run)

    assert (ended["status"], account.steps(ended)[-1]) == ("SUCCEEDED", "Zero")
    assert account.lock() is None
    assert (account.replicas(SECOND.node_pool), account.claims(SECOND.node_pool)) == (1, ["gpu-lab-big-0"])
    assert account.running() == set(others)


def test_without_a_controller_the_first_rail_leaves_it_to_the_later_ones(account):
    account.open(KARPENTER.node_pool, 1)
    instances = account.run_instances(KARPENTER.node_pool, 1)

    ended = account.ends("gpu", "kubernetes")

    assert (ended["status"], account.steps(ended)[-1]) == ("SUCCEEDED", "LeftToTheNext")
    assert seconds(ended) < 10 * MINUTES
    assert (account.running(), account.lock()) == (set(instances), None)


def test_the_rail_past_kubernetes_locks_the_pool_and_ends_its_instances_alone(account):
    account.run_instances(KARPENTER.node_pool, 7)  # more than a page of EC2's answer
    others = {
        *account.run_instances(SECOND.node_pool, 1),
        *account.run_instances("strangers", 1),
        *account.run_instances(KARPENTER.node_pool, 1, tag="eks:nodegroup-name"),
    }

    ended = account.ends("gpu", "ec2")

    assert (ended["status"], account.steps(ended)[-1]) == ("SUCCEEDED", "Zero")
    assert account.running() == others
    lock = account.lock()
    assert lock is not None
    [statement] = lock["Statement"]
    assert (statement["Effect"], statement["Action"]) == ("Deny", ["ec2:CreateFleet", "ec2:RunInstances"])
    assert statement["Condition"] == launches_of(KARPENTER)


@pytest.mark.parametrize("trouble", ["no API server", "no access entry", "no rights", "no NodePool"])
def test_any_trouble_with_kubernetes_leads_to_ec2_at_once(account, trouble: str):
    instances = account.run_instances(KARPENTER.node_pool, 1)
    who = {"clusterName": CLUSTER, "principalArn": ROLE}
    binding = f"{RBAC}/clusterrolebindings/{GROUP}"
    if trouble != "no NodePool":
        account.open(KARPENTER.node_pool, 1)
    if trouble == "no API server":
        account.api_server(up=False)
    elif trouble == "no access entry":
        account.aws.call("eks", "delete_access_entry", **who)
    elif trouble == "no rights":
        account.kubernetes.delete(binding)

    ended = account.ends("gpu", "kubernetes")
    if trouble == "no access entry":
        account.aws.call("eks", "create_access_entry", kubernetesGroups=[GROUP], **who)
    let_the_machine_in(account.kubernetes)

    assert (ended["status"], account.running()) == ("SUCCEEDED", set())
    assert account.lock() is not None
    steps = account.steps(ended)
    # It does not wait for Kubernetes: the first pause comes after the instances got their order.
    assert steps.index("EndOne") < steps.index("Wait")
    assert instances


def test_a_dynamic_node_pool_has_its_claims_deleted(account):
    account.open(UNLOCKED.node_pool, 2, dynamic=True)

    ended = account.ends("theirs", "kubernetes")

    assert (ended["status"], account.steps(ended)[-1]) == ("SUCCEEDED", "Zero")
    assert account.claims(UNLOCKED.node_pool) == []
    node_pool = account.kubernetes.get(f"{API}/nodepools/{UNLOCKED.node_pool}")
    assert node_pool["spec"].keys() & {"limits", "replicas"} == {"limits"}


def test_a_page_that_is_too_long_for_a_state_is_looked_at_one_by_one(account):
    instances = account.run_instances(KARPENTER.node_pool, 6)
    others = account.run_instances(KARPENTER.node_pool, 1, tag="eks:nodegroup-name")
    for instance in instances[:5]:
        account.give_addresses(instance)

    ended = account.ends("gpu", "ec2")

    assert (ended["status"], account.running()) == ("SUCCEEDED", set(others))
    steps = account.steps(ended)
    assert {"TooLong", "EndEachTagged"} <= set(steps)
    assert steps.index("Lock") < steps.index("EndOne")
    assert "EndEach" not in steps


def test_without_a_known_role_instances_end_without_a_lock(account):
    account.run_instances(UNLOCKED.node_pool, 1)

    ended = account.ends("theirs", "ec2")

    assert (ended["status"], account.running()) == ("SUCCEEDED", set())
    assert "Lock" not in account.steps(ended)


def test_a_role_that_has_lost_its_boundary_is_not_written_to_and_the_instances_end(account):
    account.run_instances(KARPENTER.node_pool, 1)
    account.bound(CONTROLLER, on=False)

    ended = account.ends("gpu", "ec2")
    account.bound(CONTROLLER)

    assert (ended["status"], account.running(), account.lock()) == ("SUCCEEDED", set(), None)
    assert {"Lock", "EndOne"} <= set(account.steps(ended))


def test_a_pool_at_zero_is_not_locked(account):
    ended = account.ends("gpu", "ec2")

    assert (ended["status"], account.lock()) == ("SUCCEEDED", None)
    assert seconds(ended) < MINUTES


def test_one_instance_that_ec2_keeps_does_not_keep_the_others_and_pages(account):
    kept = account.run_instances(KARPENTER.node_pool, 1)
    account.protect(kept[0], on=True)
    account.run_instances(KARPENTER.node_pool, 3)

    ended = account.ends("gpu", "ec2")

    assert (ended["status"], ended["error"]) == ("FAILED", "Leaked")
    assert seconds(ended) < 10 * MINUTES
    assert account.running() == set(kept)
    account.protect(kept[0], on=False)
    assert [page["detail"]["stateMachineArn"] for page in account.paged()] == [MACHINE]
    allowed = {"Value": False}
    account.aws.call("ec2", "modify_instance_attribute", InstanceId=kept[0], DisableApiTermination=allowed)


def test_instances_that_a_new_lease_starts_during_a_run_are_left_to_it(account):
    """Something that EC2 keeps holds the run up, and the pool is opened meanwhile."""
    [kept] = account.run_instances(KARPENTER.node_pool, 1)
    account.protect(kept, on=True)
    run = account.start("gpu", "ec2")
    account.aws.clock.sleep(90)
    assert account.aws.call("stepfunctions", "describe_execution", executionArn=run)["status"] == "RUNNING"
    leased = account.run_instances(KARPENTER.node_pool, 6)

    ended = account.ended(run)
    account.protect(kept, on=False)

    assert account.running() == {kept, *leased}
    # Nobody tells the machine what a lease is: what is left pages.
    assert (ended["status"], ended["error"]) == ("FAILED", "Leaked")


def test_two_runs_at_once_do_no_harm(account):
    account.open(KARPENTER.node_pool, 2)
    account.run_instances(KARPENTER.node_pool, 6)

    runs = [account.start("gpu", rail) for rail in ("ec2", "kubernetes", "ec2")]
    ended = [account.ended(run) for run in runs]

    assert {run["status"] for run in ended} == {"SUCCEEDED"}
    assert (account.replicas(KARPENTER.node_pool), account.running()) == (0, set())


@pytest.mark.parametrize("trouble", [None, "no API server", "no controller"])
def test_scheduler_alone_brings_a_pool_to_zero_at_the_instants_of_the_failsafe(account, trouble: str | None):
    """No function of ours is there, and the first call comes when the API server may not answer."""
    aws = account.aws
    account.open(KARPENTER.node_pool, 2)
    instances = account.run_instances(KARPENTER.node_pool, 2)
    account.api_server(up=trouble != "no API server")
    end = aws.clock.now().replace(second=0, microsecond=0)
    shots = timed(end + AFTER_END, calls(MACHINE, "gpu", KARPENTER.kind))
    for number, shot in enumerate(shots):
        aws.call(
            "scheduler",
            "create_schedule",
            Name=f"failsafe-gpu-{number}",
            ScheduleExpression=f"at({shot.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S})",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": shot.target, "RoleArn": account.starter, "Input": shot.input},
        )

    left = {}
    for minute in range(0, 50, 2):
        left[minute] = len(account.running())
        if trouble is None and not account.claims(KARPENTER.node_pool):
            account.end(instances)  # as the controller does for a deleted claim
        aws.clock.sleep(2 * MINUTES)
    for number in range(len(shots)):
        aws.call("scheduler", "delete_schedule", Name=f"failsafe-gpu-{number}")

    assert left[8] == 2
    # The first start is enough, unless Kubernetes answers and nobody does what it says.
    after = 30 if trouble == "no controller" else 10
    assert next(minute for minute, count in left.items() if not count) in range(after, after + 5)
    assert (account.lock() is None) is (trouble is None)
    listed = aws.call("stepfunctions", "list_executions", stateMachineArn=MACHINE, maxResults=4)
    assert {run["status"] for run in listed["executions"]} == {"SUCCEEDED"}


def test_auto_mode_is_locked_and_asked_again_and_its_instances_are_left_to_aws(account):
    account.open(AUTO_MODE.node_pool, 1)
    instances = account.run_managed(AUTO_MODE.node_pool, 1)

    ended = account.ends("auto", "lock")

    assert (ended["status"], ended["error"]) == ("FAILED", "Leaked")
    assert account.running() == set(instances)
    lock = account.lock(CONTROL_PLANE, f"lamplighter-lock-{AUTO_MODE.node_pool}")
    assert lock is not None
    assert lock["Statement"][0]["Condition"] == launches_of(AUTO_MODE)
    assert (account.replicas(AUTO_MODE.node_pool), account.claims(AUTO_MODE.node_pool)) == (0, [])
    assert "EndOne" not in account.steps(ended)


@pytest.mark.parametrize(("pool", "off"), [("last", True), ("auto", False)])
def test_auto_mode_is_switched_off_only_where_the_lab_says_so(account, pool: str, off: bool):
    account.switch_auto_mode_on()
    account.run_managed(f"gpu-lab-{pool}", 1)

    run = account.start(pool, "switch-off")
    account.aws.clock.sleep(20)
    account.end_managed(sorted(account.running()))
    ended = account.ended(run)

    assert ended["status"] == "SUCCEEDED"
    steps = account.steps(ended)
    assert ("SwitchOff" in steps, "Lock" in steps) == (off, not off)
    described = account.aws.call("eks", "describe_cluster", name=CLUSTER)["cluster"]
    assert described.get("computeConfig", {"enabled": not off})["enabled"] is not off


def test_auto_mode_stays_on_where_nothing_is_left(account):
    ended = account.ends("last", "switch-off")

    assert (ended["status"], account.steps(ended)[-1]) == ("SUCCEEDED", "Zero")
    assert "SwitchOff" not in account.steps(ended)
