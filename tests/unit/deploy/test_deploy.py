"""What CloudFormation is answered: sizes, gates, plans and the last close."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto.backends import get_backend

from handlers import deploy
from handlers.leases import STEPS
from lamplighter.adapters.aws import calls
from lamplighter.application import environment
from lamplighter.application.capacity import services
from lamplighter.application.deploy.response import CloudFormationResponse
from lamplighter.application.environment import lab as lab_in_code
from lamplighter.domain.audit.entry import Entry
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.drawn import sentence
from tests.unit.lab_on_moto import LAB, LEDGER, NODEGROUP, ROLE, LabOnMoto, lab_on_moto


class CloudFormation:
    """The listening end of a custom resource: what was answered."""

    def __init__(self) -> None:
        answers = self.answers = list[dict[str, Any]]()

        class Listener(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answers.append({**json.loads(body), "type": self.headers["Content-Type"], "bytes": len(body)})
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Listener)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def asks(
        self,
        request: str,
        kind: str,
        physical_id: str | None = None,
        old: Mapping[str, object] | None = None,
        **properties: object,
    ) -> dict[str, Any]:
        """What is answered; nothing where a workflow answers later."""
        event: dict[str, object] = {
            "RequestType": request,
            "ResponseURL": f"{self.url}/answer",
            "StackId": "stack",
            "RequestId": "request-1",
            "LogicalResourceId": "Thing",
            "ResourceProperties": {"Kind": kind, "ServiceToken": "arn", **properties},
        }
        if physical_id:
            event["PhysicalResourceId"] = physical_id
        if old is not None:
            event["OldResourceProperties"] = old
        deploy.handler(event, None)
        return self.answers[-1] if self.answers else {}

    @property
    def answer(self) -> dict[str, Any]:
        return self.answers[-1]


@pytest.fixture
def cfn(monkeypatch: pytest.MonkeyPatch) -> Iterator[CloudFormation]:
    made = CloudFormation()
    monkeypatch.setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", made.url)
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        monkeypatch.setenv("LEDGER_TABLE", LEDGER)
        monkeypatch.setenv("LAB_FILE", str(tmp_path / "lab.json"))
        (tmp_path / "lab.json").write_text(made.lab.to_json(), "utf-8")
        monkeypatch.setattr("lamplighter.application.deploy.last_close.deployed", lambda: made.capacity)
        yield made
    services.deployed.cache_clear()
    environment.lab.cache_clear()


GROUP: dict[str, Any] = {"Cluster": LAB, "Nodegroup": NODEGROUP}


def fewer_pools(cfn: CloudFormation, before: str, now: str) -> dict[str, Any]:
    return cfn.asks("Update", "Pools", "pools", {"Pools": before}, Pools=now)


def gate(cfn: CloudFormation, digest: str, before: str = "gate-gpu-old") -> dict[str, Any]:
    return cfn.asks("Update", "Gate", before, Pool="gpu", Digest=digest)


def test_the_present_size_is_answered(lab: LabOnMoto, cfn: CloudFormation) -> None:
    lab.scale(2)

    cfn.asks("Update", "DesiredSize", **GROUP)

    answer = cfn.answer
    assert (answer["Status"], answer["Data"]) == ("SUCCESS", {"DesiredSize": "2"})
    assert answer["type"] == ""


@pytest.mark.usefixtures("lab")
def test_a_group_that_is_not_there_yet_has_size_zero(cfn: CloudFormation) -> None:
    cfn.asks("Create", "DesiredSize", Cluster=LAB, Nodegroup="new")
    assert cfn.answer["Data"] == {"DesiredSize": "0"}


@pytest.fixture
def guarded(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> LabOnMoto:
    """What the first sweep's step is told of the lab; there is no guard to run here."""
    monkeypatch.setenv("SWEPT_TOPIC_ARN", f"arn:aws:sns:eu-central-1:123456789012:{LAB}-swept")
    monkeypatch.setenv("GUARD_FUNCTION_ARN", f"arn:aws:lambda:eu-central-1:123456789012:function:{LAB}-guard")
    return lab


def test_a_first_sweep_that_cloudwatch_has_counted_is_waited_for_no_longer(
    guarded: LabOnMoto, cfn: CloudFormation, caplog: pytest.LogCaptureFixture
) -> None:
    guarded.at(5)
    boto3.client("cloudwatch").put_metric_data(
        Namespace="AWS/SNS",
        MetricData=[
            {
                "MetricName": "NumberOfMessagesPublished",
                "Dimensions": [{"Name": "TopicName", "Value": f"{LAB}-swept"}],
                "Timestamp": EIGHT,
                "Value": 1,
            }
        ],
    )

    assert cfn.asks("Create", "Swept", Topic="any")["Status"] == "SUCCESS"
    assert "sweep" not in caplog.text


@pytest.mark.usefixtures("guarded")
def test_a_guard_that_cannot_sweep_fails_no_deploy_and_is_left_to_the_alarm(
    cfn: CloudFormation, caplog: pytest.LogCaptureFixture
) -> None:
    assert cfn.asks("Create", "Swept", Topic="any")["Status"] == "SUCCESS"
    assert "the alarm will say so: lambda:Invoke on" in caplog.text


NODE_ROLE: dict[str, Any] = {"Cluster": LAB, "New": f"{LAB}-eu-central-1-ng-gpu"}


@pytest.mark.usefixtures("lab")
def test_the_nodes_of_a_new_group_get_a_role_with_the_regions_name(cfn: CloudFormation) -> None:
    cfn.asks("Create", "NodeRole", Nodegroup="new", **NODE_ROLE)
    assert cfn.answer["Data"] == {"RoleName": f"{LAB}-eu-central-1-ng-gpu"}


@pytest.mark.usefixtures("lab")
def test_a_group_that_is_there_keeps_its_role(cfn: CloudFormation) -> None:
    eks = boto3.client("eks")
    arn = eks.describe_nodegroup(clusterName=LAB, nodegroupName=NODEGROUP)["nodegroup"]["nodeRole"]

    cfn.asks("Create", "NodeRole", Nodegroup=NODEGROUP, **NODE_ROLE)

    assert arn.endswith(f"role/{cfn.answer['Data']['RoleName']}")
    assert cfn.asks("Delete", "NodeRole", Nodegroup=NODEGROUP, **NODE_ROLE)["Status"] == "SUCCESS"


@pytest.mark.usefixtures("lab")
def test_nodes_with_an_image_of_the_user_s_are_told_the_network_of_services(
    cfn: CloudFormation,
) -> None:
    network = boto3.client("eks").describe_cluster(name=LAB)["cluster"]["kubernetesNetworkConfig"]

    cfn.asks("Create", "ServiceCidr", Cluster=LAB)

    assert cfn.answer["Data"] == {"ServiceCidr": network["serviceIpv4Cidr"]}
    assert cfn.asks("Create", "ServiceCidr", Cluster="nobody")["Status"] == "FAILED"
    assert cfn.asks("Delete", "ServiceCidr", Cluster="nobody")["Status"] == "SUCCESS"


def test_a_pool_that_nobody_holds_may_be_changed(lab: LabOnMoto, cfn: CloudFormation) -> None:
    lab.lease(opens=60)
    answer = gate(cfn, "new")
    assert (answer["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", "gate-gpu-new")


def test_a_leased_pool_may_not_be_taken_out_of_the_lab(lab: LabOnMoto, cfn: CloudFormation) -> None:
    lab.lease()
    answer = fewer_pools(cfn, before="big,gpu", now="big")
    assert answer["Status"] == "FAILED"
    assert "remove pool gpu" in answer["Reason"]


def test_pools_may_come_and_an_unleased_one_may_go(lab: LabOnMoto, cfn: CloudFormation) -> None:
    lab.lease()
    assert fewer_pools(cfn, before="gpu,old", now="gpu,new")["Status"] == "SUCCESS"


def test_a_change_of_a_leased_pool_fails_by_name(lab: LabOnMoto, cfn: CloudFormation) -> None:
    lab.lease()

    answer = gate(cfn, "new")

    assert (answer["Status"], answer["PhysicalResourceId"]) == ("FAILED", "gate-gpu-old")
    assert answer["Reason"] == (
        "this deploy would change pool gpu, and alice's lease (cli-1) is on it until "
        "22:00 UTC on 2026-11-20: deploy after that, or close the lease first"
    )


def test_going_back_to_what_is_deployed_is_no_change(lab: LabOnMoto, cfn: CloudFormation) -> None:
    lab.lease()
    assert gate(cfn, "old")["Status"] == "SUCCESS"


def marked(lab: LabOnMoto) -> bool:
    """Whether nobody may raise the pool."""
    mark = lab.capacity.ledger.deploy_mark("gpu")
    return mark is not None and mark.stands(lab.capacity.now())


def test_a_pool_is_kept_as_it_is_from_the_gate_to_the_last_act_of_the_deploy(
    lab: LabOnMoto, cfn: CloudFormation
) -> None:
    gate(cfn, "new")
    cfn.asks("Update", "DesiredSize", **GROUP)
    assert marked(lab)

    # when what was replaced is deleted
    cfn.asks("Delete", "Gate", "gate-gpu-old", Pool="gpu", Digest="old")

    assert cfn.answer["Status"] == "SUCCESS"
    assert lab.capacity.ledger.deploy_mark("gpu") is None


def test_a_refused_deploy_keeps_nobody_from_opening(lab: LabOnMoto, cfn: CloudFormation) -> None:
    lab.lease()
    assert gate(cfn, "new")["Status"] == "FAILED"
    assert not marked(lab)


def test_a_deploy_may_go_back_though_somebody_waits_for_it(lab: LabOnMoto, cfn: CloudFormation) -> None:
    gate(cfn, "new")
    lab.lease()

    assert gate(cfn, "old", "gate-gpu-new")["Status"] == "SUCCESS"

    # and what waits has no node yet, so that none is started by the way
    assert cfn.asks("Update", "DesiredSize", **GROUP)["Data"] == {"DesiredSize": "0"}


def test_what_a_lease_has_under_an_old_mark_is_not_changed(lab: LabOnMoto, cfn: CloudFormation) -> None:
    gate(cfn, "new")
    lab.lease()
    lab.at(15)
    assert gate(cfn, "newer", "gate-gpu-new")["Status"] == "FAILED"


def test_a_size_that_no_gate_went_before_counts_what_is_about_to_be_ordered(
    lab: LabOnMoto, cfn: CloudFormation
) -> None:
    lab.lease(nodes=2)
    assert cfn.asks("Update", "DesiredSize", **GROUP)["Data"] == {"DesiredSize": "2"}
    assert marked(lab)


def test_a_first_deploy_has_no_ledger_to_ask(lab: LabOnMoto, cfn: CloudFormation) -> None:
    boto3.client("dynamodb").delete_table(TableName=LEDGER)

    assert gate(cfn, "new")["Status"] == "SUCCESS"
    assert cfn.asks("Update", "DesiredSize", **GROUP)["Data"] == {"DesiredSize": "0"}
    cfn.asks("Delete", "Gate", "gate-gpu-old", Pool="gpu", Digest="old")
    assert cfn.answer["Status"] == "SUCCESS"
    assert lab.sizes["desiredSize"] == 0
    cfn.asks("Update", "Pools", "pools", {"Pools": "gpu", "Most": "gpu=2"}, Pools="gpu", Most="gpu=1")
    assert cfn.answer["Status"] == "SUCCESS"


@pytest.mark.usefixtures("lab")
def test_whatever_goes_wrong_is_answered_in_one_line(cfn: CloudFormation) -> None:
    cfn.asks("Create", "Telephone")
    assert cfn.answer["Status"] == "FAILED"
    assert cfn.answer["Reason"].startswith("Kind: there is no deploy step 'Telephone'")

    cfn.asks("Create", "DesiredSize", Cluster=LAB)
    assert cfn.answer["Status"] == "FAILED"
    assert cfn.answer["Reason"] == "KeyError: 'Nodegroup'"
    assert cfn.answer["PhysicalResourceId"] == "Thing-not-created"


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("letter", ["a", "실", "\U0001f4a1"])
def test_a_reason_in_any_script_fits_into_what_cloudformation_takes(cfn: CloudFormation, letter: str) -> None:
    cfn.asks("Create", letter * 2000)
    assert cfn.answer["bytes"] <= 4096
    assert cfn.answer["Reason"].startswith(f"Kind: there is no deploy step '{letter * 200}")


def test_the_group_behind_a_node_group_is_what_eks_names(lab: LabOnMoto, cfn: CloudFormation) -> None:
    cfn.asks("Create", "Group", Pool="gpu", **GROUP)
    assert cfn.answer["Data"] == {"AutoScalingGroupName": lab.group}


@pytest.mark.usefixtures("lab")
def test_a_curfew_without_a_node_group_fails_the_deploy_in_words(cfn: CloudFormation) -> None:
    cfn.asks("Create", "Group", Pool="gpu", Cluster=LAB, Nodegroup="new")
    assert cfn.answer["Status"] == "FAILED"
    assert "node group new is not in cluster lab, so its curfew has no group" in cfn.answer["Reason"]


def groups(instance_type: str, labels: str) -> str:
    """What the cluster stack says of one pool's node group."""
    return json.dumps(
        {
            NODEGROUP: {
                "replacing": {"digest": instance_type, "keys": {"pools.gpu.instance_type": instance_type}},
                "settings": {"digest": labels, "keys": {"pools.gpu.labels": labels}},
            }
        }
    )


@pytest.mark.usefixtures("lab")
def test_an_edit_that_eks_takes_in_two_updates_is_refused_and_may_go_back(
    cfn: CloudFormation,
) -> None:
    before, now = groups("g5.xlarge", "a"), groups("g6.xlarge", "b")
    cfn.asks("Create", "Edit", Groups=before)
    known = cfn.answer["PhysicalResourceId"]

    cfn.asks("Update", "Edit", known, {"Groups": before}, Groups=now)

    refused = cfn.answer
    assert (refused["Status"], refused["PhysicalResourceId"]) == ("FAILED", known)
    assert refused["Reason"] == (
        "EKS does not replace the nodes of a group and change its other settings in one update: deploy "
        "pools.gpu.labels first and leave pools.gpu.instance_type as before, then deploy the rest"
    )

    # and on the way back the same step is asked again
    assert cfn.asks("Update", "Edit", known, {"Groups": now}, Groups=before)["Status"] == "SUCCESS"


@pytest.mark.usefixtures("lab")
def test_a_zone_that_the_account_lacks_is_refused_at_first_and_never_on_the_way_back(
    cfn: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = groups("g5.xlarge", "a")
    wrong, right = "ap-northeast-2a,ap-northeast-2z", "ap-northeast-2a,ap-northeast-2b"

    assert cfn.asks("Create", "Edit", Groups=some, Zones=wrong)["Reason"] == (
        "cluster.zones: this account has no zone ap-northeast-2z; write zones: [ap-northeast-2a, ap-northeast-2b]"
        " under cluster, with as many subnets of each kind under vpc"
    )
    assert cfn.asks("Create", "Edit", Groups=some, Zones=right)["Status"] == "SUCCESS"
    known = cfn.answer["PhysicalResourceId"]
    for old in ({"Groups": some}, {"Groups": some, "Zones": wrong}):
        assert cfn.asks("Update", "Edit", known, old, Groups=some, Zones=wrong)["Status"] == "SUCCESS"

    # and zones that cannot be read stop no deploy
    monkeypatch.setattr("lamplighter.clock.sleep", lambda _: None)
    refused = {"Error": {"Code": "UnauthorizedOperation", "Message": "no"}}
    calls.client("ec2").meta.events.register(
        "before-call.ec2.DescribeAvailabilityZones", lambda **_: (SimpleNamespace(status_code=403), refused)
    )
    assert cfn.asks("Create", "Edit", Groups=some, Zones=wrong)["Status"] == "SUCCESS"


def test_a_change_of_a_leased_pool_is_refused_before_the_control_plane_changes(
    lab: LabOnMoto, cfn: CloudFormation
) -> None:
    before, now = groups("g5.xlarge", "a"), groups("g6.xlarge", "a")
    cfn.asks("Create", "Edit", Groups=before)
    known = cfn.answer["PhysicalResourceId"]
    lab.lease()

    cfn.asks("Update", "Edit", known, {"Groups": before}, Groups=now)

    assert cfn.answer["Status"] == "FAILED"
    assert "this deploy would change pool gpu, and alice's lease (cli-1)" in cfn.answer["Reason"]


def test_a_deploy_that_goes_back_is_not_kept_by_who_came_since(lab: LabOnMoto, cfn: CloudFormation) -> None:
    before, now = groups("g5.xlarge", "a"), groups("g6.xlarge", "a")
    cfn.asks("Create", "Edit", Groups=before)
    known = cfn.answer["PhysicalResourceId"]
    assert cfn.asks("Update", "Edit", known, {"Groups": before}, Groups=now)["Status"] == "SUCCESS"
    lab.lease()

    cfn.asks("Update", "Edit", cfn.answer["PhysicalResourceId"], {"Groups": now}, Groups=before)

    back = cfn.answer
    assert back["Status"] == "SUCCESS"

    # and the same edit, tried again, is looked at again
    cfn.asks("Update", "Edit", back["PhysicalResourceId"], {"Groups": before}, Groups=now)
    assert cfn.answer["Status"] == "FAILED"


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("old", [{"Groups": groups("g5.xlarge", "a")}, {}])
def test_an_edit_that_eks_takes_whole_passes(cfn: CloudFormation, old: dict[str, str]) -> None:
    cfn.asks("Update", "Edit", "edit-old", old, Groups=groups("g5.xlarge", "b"))
    assert cfn.answer["Status"] == "SUCCESS"


def test_another_image_type_is_refused_before_the_control_plane_changes(
    lab: LabOnMoto, cfn: CloudFormation, tmp_path: Path
) -> None:
    """It would be a new group of the same name, which CloudFormation finds out only after the new version."""
    pools = {"gpu": {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA"}}
    changed = Lab.model_validate({**json.loads(lab.lab.to_json()), "pools": pools})
    (tmp_path / "lab.json").write_text(changed.to_json(), "utf-8")
    lab_in_code.cache_clear()
    old = {"Groups": groups("g5.xlarge", "a")}

    cfn.asks("Update", "Edit", "edit-old", old, Groups=groups("g6.xlarge", "a"))

    assert cfn.answer["Status"] == "FAILED"
    assert (
        "EKS never changes the image type of a node group: lab-ng-gpu is AL2023_x86_64_NVIDIA, and the lab file has"
        " BOTTLEROCKET_x86_64_NVIDIA" in cfn.answer["Reason"]
    )


@pytest.mark.parametrize("value", [2, True, ["a"], None])
def test_an_answer_has_text_alone(value: Any) -> None:
    """CloudFormation keeps the type of an answer, and joins no number into a manifest."""
    with pytest.raises(TypeError, match="answers text, and Replicas is"):
        CloudFormationResponse("size", data={"Replicas": value})


@pytest.fixture
def updates(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """How EKS's updates stand, one answer after the other, the last for good: moto has no DescribeUpdate."""
    stand = ["InProgress", "Successful"]
    monkeypatch.setattr("lamplighter.application.deploy.node_group.sizes.LOOK_SECONDS", 0)

    def answer(**_: object) -> tuple[object, dict[str, object]]:
        status = stand.pop(0) if len(stand) > 1 else stand[0]
        return SimpleNamespace(status_code=200), {"update": {"status": status, "type": "ConfigUpdate"}}

    events = calls.client("eks").meta.events
    events.register("before-call.eks.DescribeUpdate", answer)
    yield stand
    events.unregister("before-call.eks.DescribeUpdate", answer)


class Asked:
    """What was asked of UpdateNodegroupConfig; the next `busy` requests are refused as EKS does in another update."""

    def __init__(self) -> None:
        self.busy = 0
        self.tokens: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None
        """What others do while EKS is busy."""

    def __call__(self, params: dict[str, Any], **_: object) -> tuple[object, dict[str, object]] | None:
        self.tokens.append(json.loads(params["body"])["clientRequestToken"])
        if not self.busy:
            return None
        self.busy -= 1
        self.meanwhile()
        error = {"Code": "ResourceInUseException", "Message": "the node group is not in Active State"}
        return SimpleNamespace(status_code=409), {"Error": error, "ResponseMetadata": {"HTTPStatusCode": 409}}


def sizes(
    cfn: CloudFormation, known: str, most: int, *, template: str, was: str, had: int | None = None
) -> dict[str, Any]:
    given = {**GROUP, "MaxSize": most, "DesiredSize": 0, "KubernetesVersion": "1.35"}
    old = {**given, "LaunchTemplateVersion": was, "MaxSize": most if had is None else had}
    return cfn.asks("Update", "Sizes", known, old, **{**given, "LaunchTemplateVersion": template})


def test_sizes_alone_are_left_to_cloudformation(lab: LabOnMoto, cfn: CloudFormation) -> None:
    most = lab.sizes["maxSize"]
    answer = sizes(cfn, "sizes-of-a/b at 0 of 2", most + 1, template="1", was="1")
    assert answer["Data"] == {"DesiredSize": "0", "MaxSize": str(most + 1)}
    assert lab.sizes["maxSize"] == most


@pytest.mark.usefixtures("updates")
def test_where_nodes_are_replaced_too_bounds_are_written_first_and_cloudformation_sees_no_other_sizes(
    lab: LabOnMoto, cfn: CloudFormation
) -> None:
    most = lab.sizes["maxSize"]

    answer = sizes(cfn, f"sizes-of-a/b at 1 of {most}", most + 1, template="2", was="1")

    assert answer["Status"] == "SUCCESS", answer
    assert answer["Data"] == {"DesiredSize": "1", "MaxSize": str(most)}
    assert lab.sizes["maxSize"] == most + 1

    # and the next deploy that replaces nothing tells CloudFormation what there is
    answer = sizes(cfn, answer["PhysicalResourceId"], most + 1, template="2", was="2")
    assert answer["Data"] == {"DesiredSize": "0", "MaxSize": str(most + 1)}


@pytest.mark.usefixtures("updates")
def test_bounds_that_cloudformation_does_not_send_are_written_all_the_same(
    lab: LabOnMoto, cfn: CloudFormation
) -> None:
    """Back to what CloudFormation was told before the nodes were replaced: to it nothing changes."""
    most = lab.sizes["maxSize"]
    both = sizes(cfn, f"sizes-of-a/b at 0 of {most}", most + 1, template="2", was="1")

    answer = sizes(cfn, both["PhysicalResourceId"], most, template="2", was="2")

    assert answer["Data"] == {"DesiredSize": "0", "MaxSize": str(most)}
    assert lab.sizes["maxSize"] == most


@pytest.mark.usefixtures("updates")
def test_the_way_back_takes_the_bounds_back(lab: LabOnMoto, cfn: CloudFormation) -> None:
    most = lab.sizes["maxSize"]
    forward = sizes(cfn, f"sizes-of-a/b at 0 of {most}", most + 1, template="2", was="1")

    back = sizes(cfn, forward["PhysicalResourceId"], most, template="1", was="2")

    assert back["Data"] == {"DesiredSize": "0", "MaxSize": str(most)}
    assert lab.sizes["maxSize"] == most


@pytest.mark.usefixtures("updates")
def test_bounds_do_not_bring_back_what_was_written_to_the_group_itself(
    lab: LabOnMoto, cfn: CloudFormation
) -> None:
    """As the failsafe's second rail and the curfew do: EKS still has the size from before."""
    lab.scale(2)
    boto3.client("autoscaling").update_auto_scaling_group(
        AutoScalingGroupName=lab.group, MinSize=0, DesiredCapacity=0
    )
    most = lab.sizes["maxSize"]

    answer = sizes(cfn, f"sizes-of-a/b at 0 of {most}", most + 1, template="2", was="1")

    assert answer["Status"] == "SUCCESS", answer
    assert lab.sizes == {"minSize": 0, "maxSize": most + 1, "desiredSize": 0}


@pytest.mark.usefixtures("updates")
def test_bounds_take_no_node_that_is_there(lab: LabOnMoto, cfn: CloudFormation) -> None:
    lab.scale(2)
    answer = sizes(cfn, "sizes-of-a/b at 2 of 2", 1, template="2", was="1")
    assert answer["Status"] == "SUCCESS", answer
    assert lab.sizes == {"minSize": 0, "maxSize": 2, "desiredSize": 2}


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("status", ["Failed", "InProgress"])
def test_bounds_that_eks_does_not_bring_fail_the_deploy(
    cfn: CloudFormation, updates: list[str], status: str
) -> None:
    updates[:] = [status]

    answer = sizes(cfn, "sizes-of-a/b at 0 of 2", 7, template="2", was="1")

    assert answer["Status"] == "FAILED"
    assert answer["PhysicalResourceId"] == "sizes-of-a/b at 0 of 2"
    assert f"maximum 7: the update is {status}" in answer["Reason"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """EKS's updates of sizes, each known by its token; moto makes one of every request and is never busy."""
    made = Asked()
    events = calls.client("eks").meta.events
    events.register("before-call.eks.UpdateNodegroupConfig", made)
    yield made
    events.unregister("before-call.eks.UpdateNodegroupConfig", made)


def test_bounds_wait_for_another_update_of_the_group(
    lab: LabOnMoto, cfn: CloudFormation, updates: list[str], asked: Asked
) -> None:
    asked.busy = 2
    updates[:] = ["Successful"]
    most = lab.sizes["maxSize"]

    answer = sizes(cfn, f"sizes-of-a/b at 0 of {most}", most + 1, template="2", was="1")

    assert answer["Status"] == "SUCCESS", answer
    assert lab.sizes["maxSize"] == most + 1


def test_bounds_that_waited_bring_back_no_node_that_was_taken_meanwhile(
    lab: LabOnMoto, cfn: CloudFormation, updates: list[str], asked: Asked
) -> None:
    """EKS is busy just because the guard or the failsafe brings the group to zero."""
    lab.scale(2)
    most = lab.sizes["maxSize"]
    asked.busy, updates[:] = 1, ["Successful"]
    asked.meanwhile = lambda: boto3.client("autoscaling").update_auto_scaling_group(
        AutoScalingGroupName=lab.group, MinSize=0, DesiredCapacity=0
    )

    answer = sizes(cfn, f"sizes-of-a/b at 0 of {most}", most + 1, template="2", was="1")

    assert answer["Status"] == "SUCCESS", answer
    assert lab.sizes == {"minSize": 0, "maxSize": most + 1, "desiredSize": 0}


@pytest.mark.usefixtures("lab", "updates")
def test_where_eks_stays_busy_the_deploy_fails_and_says_so(cfn: CloudFormation, asked: Asked) -> None:
    asked.busy = 1000
    answer = sizes(cfn, "sizes-of-a/b at 0 of 2", 7, template="2", was="1")
    assert answer["Status"] == "FAILED"
    assert "maximum 7: EKS is still busy with another update of node group" in answer["Reason"]


def test_a_request_that_is_delivered_twice_waits_twice_for_one_update(
    lab: LabOnMoto, cfn: CloudFormation, updates: list[str], asked: Asked
) -> None:
    most = lab.sizes["maxSize"]
    known, stand = f"sizes-of-a/b at 0 of {most}", ["InProgress", "InProgress", "Successful"]
    for _ in range(2):
        updates[:] = list(stand)
        answer = sizes(cfn, known, most + 1, template="2", was="1", had=most)
        assert answer["Status"] == "SUCCESS", answer
        assert updates == stand[-1:], "it answered before EKS had brought the new bounds"

    assert len(set(asked.tokens)) == 1


def test_the_present_size_is_the_group_s_own(lab: LabOnMoto, cfn: CloudFormation) -> None:
    """The failsafe's second rail and the curfew write to the group, and EKS keeps the size from before."""
    lab.scale(2)
    boto3.client("autoscaling").update_auto_scaling_group(
        AutoScalingGroupName=lab.group, MinSize=0, DesiredCapacity=0
    )

    assert cfn.asks("Update", "DesiredSize", **GROUP)["Data"] == {"DesiredSize": "0"}


def told(cfn: CloudFormation, instance_type: str, latest: str) -> str:
    """The version that a group is told, where the deploys before ended with the answers before."""
    known = cfn.answers[-1]["PhysicalResourceId"] if cfn.answers else None
    template = {"instanceType": instance_type, "metadataOptions": {"httpTokens": "required"}}
    request = "Update" if known else "Create"
    cfn.asks(request, "Version", known, {}, **GROUP, Template=template, Latest=latest)
    assert cfn.answer["Status"] == "SUCCESS", cfn.answer
    return str(cfn.answer["Data"]["Version"])


@pytest.mark.usefixtures("lab")
def test_a_group_is_told_another_version_only_where_its_template_says_something_else(
    cfn: CloudFormation,
) -> None:
    assert told(cfn, "g5.xlarge", "1") == "1"
    assert told(cfn, "g5.2xlarge", "2") == "2"

    # The deploy fails, and on the way back CloudFormation makes a third version.
    assert told(cfn, "g5.xlarge", "3") == "1"
    # Whatever else of the group changes now, EKS takes it: no version changes with it.
    assert told(cfn, "g5.xlarge", "3") == "1"
    # What failed is tried again, and so is another edit.
    assert told(cfn, "g5.2xlarge", "4") == "2"
    assert told(cfn, "g5.4xlarge", "5") == "5"


@pytest.mark.parametrize("kind", ["DesiredSize", "Edit", "Gate", "Plan", "Sizes", "Version"])
@pytest.mark.usefixtures("lab")
def test_a_deletion_is_never_in_the_way(cfn: CloudFormation, kind: str) -> None:
    cfn.asks("Delete", kind, "known-as", Pool="gpu", Digest="d", **GROUP)
    assert cfn.answer["Status"] == "SUCCESS"


def destroyed(lab: LabOnMoto, cfn: CloudFormation, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Delete LastClosed, and give what the workflow was started with."""
    passing = {"StartAt": "Pass", "States": {"Pass": {"Type": "Pass", "End": True}}}
    sfn = boto3.client("stepfunctions")
    machine = sfn.create_state_machine(name="last", definition=json.dumps(passing), roleArn=ROLE)
    monkeypatch.setenv("LAST_CLOSE_ARN", machine["stateMachineArn"])
    cfn.asks("Delete", "LastClosed", "last-closed")
    assert lab.clock.exists()
    [execution] = sfn.list_executions(stateMachineArn=machine["stateMachineArn"])["executions"]
    document: dict[str, Any] = json.loads(
        sfn.describe_execution(executionArn=execution["executionArn"])["input"]
    )
    return document


def test_a_destroy_closes_every_lease_before_it_is_answered(
    lab: LabOnMoto, cfn: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.lease(name="cli-1")
    lab.lease(name="cli-2", nodes=1)

    run = destroyed(lab, cfn, monkeypatch)

    assert [each["command"]["lease"] for each in run["closes"]] == ["cli-1", "cli-2"]
    assert [each["command"]["because"]["code"] for each in run["closes"]] == ["lease.lab-destroyed"] * 2
    assert cfn.answers == []
    assert [pause.closing for pause in lab.capacity.ledger.pauses()] == [True]


def test_the_next_deploy_may_open_again(
    lab: LabOnMoto, cfn: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    destroyed(lab, cfn, monkeypatch)
    # The planner that it then runs is not there in this test.
    cfn.asks("Create", "Plan", Digest="any")
    assert lab.capacity.ledger.pauses() == []


@pytest.fixture
def adopted(lab: LabOnMoto, tmp_path: Path) -> Lab:
    """The lab of the deployed code adopts the node group."""
    assert lab.group
    adopted = Lab.model_validate(
        {"name": LAB, "cluster": {"existing": LAB}, "pools": {"gpu": {"existing": NODEGROUP}}}
    )
    (tmp_path / "lab.json").write_text(adopted.to_json(), "utf-8")
    lab_in_code.cache_clear()
    return adopted


@pytest.mark.usefixtures("adopted")
def test_a_group_that_another_lab_creates_is_not_adopted(cfn: CloudFormation) -> None:
    """Its guard goes on whatever the claim says, so a lease of this lab would lose its nodes."""
    # moto has no TagResource for node groups.
    eks = get_backend("eks")["123456789012"]["ap-northeast-2"]
    eks.clusters[LAB].nodegroups[NODEGROUP].tags = {"lamplighter:lab": "physics"}

    cfn.asks("Create", "Plan", Digest="new")

    assert cfn.answer["Status"] == "FAILED"
    assert cfn.answer["Reason"] == (
        f"pools.gpu.existing: lab physics creates node group {NODEGROUP} and guards it; use another node group"
    )


def test_an_adopted_group_that_our_roles_do_not_reach_is_refused_and_going_back_is_not(
    lab: LabOnMoto, cfn: CloudFormation, adopted: Lab
) -> None:
    reached = adopted.reaches("gpu", lab.group)

    cfn.asks("Update", "Plan", "plan-old", {"Digest": "old"}, Digest="new")

    assert not reached
    assert cfn.answer["Status"] == "FAILED"
    assert cfn.answer["Reason"] == (
        "pools.gpu.auto_scaling_group: is left out, and the Auto Scaling group behind node group "
        f"{NODEGROUP} is {lab.group}: write that"
    )

    # The planner that it then runs is not there in this test.
    cfn.asks("Update", "Plan", "plan-old", {"Digest": "new"}, Digest="old")
    assert "auto_scaling_group" not in cfn.answer["Reason"]


def test_an_idle_pool_is_closed_too_and_a_destroy_succeeds_only_with_proof(
    lab: LabOnMoto, cfn: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = destroyed(lab, cfn, monkeypatch)
    assert [(each["command"]["pool"], each["command"]["lease"]) for each in run["closes"]] == [("gpu", None)]

    deploy.handler({"step": "Respond", "run": run}, None)
    assert cfn.answer["Status"] == "FAILED"
    assert cfn.answer["Reason"].startswith(
        "pool gpu: it is not known whether Kubernetes still has nodes of the pool."
    )

    lab.capacity.ledger.append_audit(
        Entry(EIGHT, "gpu", "zero-proven", "guard", "proved pool gpu at zero", "nothing is left", nodes=0)
    )
    deploy.handler({"step": "Respond", "run": run}, None)
    assert cfn.answer["Status"] == "SUCCESS"
    assert cfn.answer["PhysicalResourceId"] == "last-closed"


def test_a_destroy_fails_while_a_node_is_left_and_nothing_opens_until_somebody_resumes_the_lab(
    lab: LabOnMoto, cfn: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.scale(1)
    run = destroyed(lab, cfn, monkeypatch)

    def resume(number: int) -> tuple[str, str]:
        command = {**lab.command("resume", lease=None), "pool": "*", "id": f"resume-{number}"}
        answer = STEPS["Change"]({"command": command}, lab.guard_services.lease_services)
        return str(answer["outcome"]), sentence(answer["reason"])

    assert resume(1) == ("refused", "the lab is being destroyed: nothing opens any more")
    deploy.handler({"step": "Respond", "run": run}, None)
    assert cfn.answer["Status"] == "FAILED"
    assert "EC2 still has i-" in cfn.answer["Reason"]
    assert "The controller stays" in cfn.answer["Reason"]
    [mark] = lab.capacity.ledger.pauses()
    assert mark.failed
    assert resume(2) == (
        "resumed",
        "alice resumed the lab, and pools open again; a destroy of the lab had failed",
    )
    assert lab.capacity.ledger.pauses() == []
