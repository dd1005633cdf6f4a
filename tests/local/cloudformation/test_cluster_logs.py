"""EKS writes the control plane's log group again after a destroy: the next deploy works all the same."""

import json

import pytest

from local.assembly import synthesise
from local.aws.cloudformation.template import parse
from local.stack_template import StackTemplate
from tests.scenarios.conftest import LAB

STACK = "control-plane"


@pytest.fixture
def lab(aws):
    """The control plane of the lab as it is deployed to AWS, with what it needs; EKS's API has an address."""
    assembly = synthesise(LAB)
    aws.embedded.assets.read(assembly.folder)
    whole = next(stack for stack in assembly.stacks() if stack.name.endswith("-cluster"))
    document, template = json.loads(whole.text), parse(whole.text)
    resources = document["Resources"]
    cluster = next(name for name, each in resources.items() if each["Type"] == "AWS::EKS::Cluster")
    waiting, parts = [cluster], {cluster}
    while waiting:
        new = template.dependencies(waiting.pop()) - parts
        parts |= new
        waiting += new
    document |= {"Resources": {name: resources[name] for name in parts}, "Outputs": {}}
    aws.embedded.moto_additions.control_plane("https://control-plane.example", "Y2E=")
    aws.hold()
    return Lab(aws, resources[cluster]["Properties"]["Name"], json.dumps(document))


class Lab:
    def __init__(self, aws, cluster, template):
        self.aws = aws
        self.group = f"/aws/eks/{cluster}/cluster"
        self._template = template

    def deploy(self, *, but=""):
        """Without the resources of a type, and without the orders that name them."""
        document = json.loads(self._template)
        left_out = {name for name, each in document["Resources"].items() if each["Type"] == but}
        resources = {name: each for name, each in document["Resources"].items() if name not in left_out}
        for each in resources.values():
            each["DependsOn"] = [name for name in each.get("DependsOn", []) if name not in left_out]
        text = json.dumps({**document, "Resources": resources})
        stack = self.aws.embedded.deploy(StackTemplate(STACK, text, {}))
        return stack.status, stack.failure()

    def destroy(self):
        assert self.aws.embedded.destroy(STACK).status == "DELETE_COMPLETE"

    def groups(self):
        """The days after which the lines of the control plane's groups are deleted, by name."""
        found = self.aws.call("logs", "describe_log_groups", logGroupNamePrefix="/aws/eks/")["logGroups"]
        return {group["logGroupName"]: group.get("retentionInDays") for group in found}


DEPLOYED = ("CREATE_COMPLETE", "")


def test_a_destroy_removes_what_eks_writes_within_two_minutes_after_it(aws, lab):
    assert lab.deploy() == DEPLOYED
    assert lab.groups() == {lab.group: 30}

    lab.destroy()
    aws.clock.sleep(3600)

    assert lab.groups() == {}


def test_a_deploy_makes_room_for_the_log_group_that_eks_wrote_later(aws, lab):
    # given a lab that was destroyed, and EKS's last lines ten minutes after that
    aws.embedded.moto_additions.clusters.last_lines = (60.0, 600.0)
    assert lab.deploy() == DEPLOYED
    lab.destroy()
    aws.clock.sleep(3600)
    assert lab.groups() == {lab.group: None}

    # when it is deployed again with no option, then its group expires as before
    assert lab.deploy() == DEPLOYED
    assert lab.groups() == {lab.group: 30}


def test_an_upgrade_to_the_step_keeps_the_log_of_a_cluster_that_exists(aws, lab):
    # given a lab of an earlier release, of which somebody keeps all lines
    assert lab.deploy(but="Custom::LamplighterClusterLogs") == DEPLOYED
    aws.call("logs", "delete_retention_policy", logGroupName=lab.group)
    aws.call("logs", "create_log_stream", logGroupName=lab.group, logStreamName="audit")

    assert lab.deploy() == ("UPDATE_COMPLETE", "")

    streams = aws.call("logs", "describe_log_streams", logGroupName=lab.group)["logStreams"]
    assert "audit" in [stream["logStreamName"] for stream in streams]


def test_a_log_group_that_expires_is_of_somebody_and_is_not_removed(aws, lab):
    aws.call("logs", "create_log_group", logGroupName=lab.group)
    aws.call("logs", "put_retention_policy", logGroupName=lab.group, retentionInDays=400)

    status, why = lab.deploy()

    assert status == "ROLLBACK_COMPLETE"
    assert "already exists" in why
    assert lab.groups() == {lab.group: 400}


def test_a_log_that_somebody_keeps_is_not_removed_and_the_reason_is_told(aws, lab):
    aws.call("logs", "create_log_group", logGroupName=lab.group)
    aws.call("logs", "create_log_stream", logGroupName=lab.group, logStreamName="audit")
    line = {"timestamp": int(aws.clock.time() * 1000), "message": "x" * 200_000}
    for _ in range(60):
        aws.call("logs", "put_log_events", logGroupName=lab.group, logStreamName="audit", logEvents=[line])

    status, why = lab.deploy()

    assert status == "ROLLBACK_COMPLETE"
    assert "has 11 MiB of an earlier cluster that never expire" in why
    assert lab.groups() == {lab.group: None}
