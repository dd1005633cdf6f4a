"""Step Functions runs Jobs in the cluster, in the name of the state machine's role and by its access entry.

Source: Step Functions developer guide, "Create and manage Amazon EKS clusters with Step Functions".
"""

import base64
import json
from functools import partial

import boto3
import pytest

from local.aws.embedded import EmbeddedAws
from local.kubernetes.aws_identities import AwsIdentities
from local.kubernetes.token_webhook import bind_access_policy
from tests.local.cluster.test_token_webhook import CLUSTER, REGION, cluster_of
from tests.local.conftest import Aws

JOBS = "/apis/batch/v1/namespaces/training/jobs"
CONFIG, NAMED = "/api/v1/namespaces/training/configmaps", {"fieldSelector": ["metadata.name=text"]}
EDIT = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy"
RUN, SYNC, CALL = (f"arn:aws:states:::eks:{action}" for action in ("runJob", "runJob.sync", "call"))


class Machines:
    """State machines of one task, whose role may edit the namespace `training`."""

    def __init__(self, aws: Aws, endpoint: str, authority: str) -> None:
        self.aws, self.endpoint, self.authority = aws, endpoint, authority
        self.role = aws.role("pipeline")
        who = {"clusterName": CLUSTER, "principalArn": self.role}
        aws.call("eks", "create_access_entry", **who)
        scope = {"type": "namespace", "namespaces": ["training"]}
        aws.call("eks", "associate_access_policy", policyArn=EDIT, accessScope=scope, **who)

    def start(self, resource: str, *, role: str = "", seconds: int = 3600, **parameters) -> str:
        given = {"ClusterName": CLUSTER, "Endpoint": self.endpoint, "CertificateAuthority": self.authority}
        given |= {"Namespace": "training"} if "call" not in resource else {}
        state = {"Type": "Task", "Resource": resource, "Parameters": {**given, **parameters}, "End": True}
        definition = {"StartAt": "One", "States": {"One": {**state, "TimeoutSeconds": seconds}}}
        machine = self.aws.call(
            "stepfunctions",
            "create_state_machine",
            name=f"m{len(self.aws.call('stepfunctions', 'list_state_machines')['stateMachines'])}",
            definition=json.dumps(definition),
            roleArn=role or self.role,
        )["stateMachineArn"]
        return self.aws.call("stepfunctions", "start_execution", stateMachineArn=machine)["executionArn"]

    def ended(self, run: str) -> dict:
        self.aws.embedded.moto_additions.wait_for_execution(run)
        self.aws.clock.sleep(2)
        return self.aws.call("stepfunctions", "describe_execution", executionArn=run)

    def output(self, resource: str, **parameters) -> dict:
        ended = self.ended(self.start(resource, **parameters))
        assert ended["status"] == "SUCCEEDED", (ended["error"], ended["cause"])
        return json.loads(ended["output"])

    def error(self, resource: str, **parameters) -> str:
        ended = self.ended(self.start(resource, **parameters))
        assert ended["status"] == "FAILED", ended
        return ended["error"]


@pytest.fixture(scope="module")
def machines(lab, clock, control_plane, seen_from_outside, tmp_path_factory):
    embedded = EmbeddedAws(clock, tmp_path_factory.mktemp("aws"), REGION)
    embedded.start()
    authority = base64.b64encode(control_plane.ca_pem.encode()).decode()
    embedded.moto_additions.control_plane(seen_from_outside.endpoint, authority)
    aws = Aws(embedded)
    cluster_of(aws)
    around = embedded.around
    session = boto3.Session(around.access_key_id, around.secret_access_key, region_name=REGION)
    bind = partial(bind_access_policy, lab.kubernetes)
    control_plane.authenticate_through(AwsIdentities(embedded.endpoint, CLUSTER, session, bind))
    lab.kubernetes.create("/api/v1/namespaces", {"metadata": {"name": "training"}})
    yield Machines(aws, seen_from_outside.endpoint, authority)
    lab.kubernetes.delete("/api/v1/namespaces/training")
    embedded.stop()


def job(command: str, **metadata) -> dict:
    container = {"name": "work", "image": "busybox", "command": ["sh", "-c", command]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    }


def logs(output: dict):
    [pod] = output["logs"]["pods"].values()
    return pod["containers"]["work"]["log"]


def test_a_task_waits_for_its_job_and_gets_its_logs_if_it_asks(machines):
    said = job("echo 42", generateName="said-")

    plain = machines.output(SYNC, Job=said)
    number = machines.output(SYNC, Job=said, LogOptions={"RetrieveLogs": True})
    raw = machines.output(SYNC, Job=said, LogOptions={"RetrieveLogs": True, "RawLogs": True})
    last = {"RetrieveLogs": True, "LogParameters": {"tailLines": ["1"]}}
    tail = machines.output(SYNC, Job=job("echo one; echo two", generateName="said-"), LogOptions=last)

    assert plain["status"]["succeeded"] == 1
    assert plain["metadata"]["name"].startswith("said-")
    assert "logs" not in plain
    assert (logs(number), logs(raw).strip(), logs(tail).strip()) == (42, "42", "two")


def test_a_task_without_sync_does_not_wait(machines):
    assert "succeeded" not in machines.output(RUN, Job=job("echo 1", generateName="fast-"))["status"]


def test_a_failed_job_fails_its_task(machines):
    ended = machines.ended(machines.start(SYNC, Job=job("exit 3", name="broken")))

    assert ended["error"] == "States.TaskFailed"
    assert json.loads(ended["cause"])["status"]["failed"] == 1


def test_a_refusal_of_kubernetes_fails_the_task_by_its_status(machines):
    machines.output(RUN, Job=job("echo 1", name="taken"))

    assert machines.error(SYNC, Job=job("echo 1", name="taken")) == "EKS.409"
    assert machines.error(SYNC, Job={"apiVersion": "batch/v1", "kind": "Job"}) == "EKS.422"
    assert machines.error(SYNC, Job=job("echo 1", name="x"), Namespace="default") == "EKS.403"
    nobody = machines.aws.role("nobody")
    assert machines.error(SYNC, Job=job("echo 1", name="x"), role=nobody) == "EKS.401"
    assert machines.error(SYNC) == "States.Runtime"


@pytest.mark.parametrize("ends", ["timed out", "stopped"])
def test_a_task_that_does_not_wait_any_more_deletes_its_job(machines, lab, ends: str):
    name = f"long-{ends.replace(' ', '-')}"
    run = machines.start(SYNC, Job=job("sleep inf", name=name), seconds=90 if ends == "timed out" else 3600)
    machines.aws.clock.sleep(80)
    assert lab.kubernetes.find(f"{JOBS}/{name}")

    if ends == "stopped":
        machines.aws.call("stepfunctions", "stop_execution", executionArn=run)
    machines.aws.clock.sleep(120)

    assert lab.kubernetes.find(f"{JOBS}/{name}") is None


def test_a_task_calls_the_kubernetes_api(machines):
    body = {"metadata": {"name": "seen"}, "data": {"a": "1"}}
    where = "/api/v1/namespaces/training/configmaps"

    machines.output(CALL, Method="POST", Path=where, RequestBody=body)
    named = {"fieldSelector": ["metadata.name=seen"]}
    found = machines.output(CALL, Method="GET", Path=where, QueryParameters=named)

    assert [each["data"] for each in found["ResponseBody"]["items"]] == [{"a": "1"}]
    assert (found["StatusCode"], found["StatusText"]) == (200, "OK")
    assert machines.error(CALL, Method="GET", Path=f"{where}/missing") == "EKS.404"


def test_the_status_of_a_call_is_that_of_kubernetes_and_its_body_may_be_text(machines):
    body = json.dumps({"metadata": {"name": "text"}, "data": {"a": "2"}})

    made = machines.output(CALL, Method="POST", Path=CONFIG, RequestBody=body)
    gone = machines.output(CALL, Method="DELETE", Path=CONFIG, QueryParameters=NAMED)

    assert (made["StatusCode"], made["ResponseBody"]["data"]) == (201, {"a": "2"})
    assert [each["metadata"]["name"] for each in gone["ResponseBody"]["items"]] == ["text"]
    # The API server knows no HEAD of an object.
    assert machines.error(CALL, Method="HEAD", Path=CONFIG) == "EKS.405"
    assert machines.error(CALL, Method="TRACE", Path=CONFIG) == "States.Runtime"


def test_the_cause_of_a_refused_call_is_the_answer_of_kubernetes(machines):
    nobody = machines.aws.role("stranger")

    unknown = machines.ended(machines.start(CALL, Method="GET", Path=CONFIG, role=nobody))
    barred = machines.ended(machines.start(CALL, Method="GET", Path="/api/v1/nodes"))

    assert (unknown["error"], barred["error"]) == ("EKS.401", "EKS.403")
    cause = json.loads(unknown["cause"])
    assert (cause["StatusCode"], cause["StatusText"]) == (401, "Unauthorized")
    assert cause["ResponseBody"]["reason"] == "Unauthorized"
    assert json.loads(barred["cause"])["ResponseBody"]["reason"] == "Forbidden"


def test_a_call_fails_where_no_api_server_answers(machines):
    closed = {"Endpoint": "https://127.0.0.1:9", "Method": "GET", "Path": CONFIG}

    assert machines.error(CALL, **closed) == "EKS.SdkClientException"


@pytest.mark.parametrize(
    "access",
    [{"endpointPublicAccess": False, "endpointPrivateAccess": True}, {"publicAccessCidrs": ["10.0.0.0/8"]}],
)
def test_step_functions_does_not_reach_a_private_address(machines, access: dict):
    aws = machines.aws
    vpc = aws.call("eks", "describe_cluster", name=CLUSTER)["cluster"]["resourcesVpcConfig"]
    before = {key: vpc[key] for key in ("endpointPublicAccess", "endpointPrivateAccess", "publicAccessCidrs")}

    aws.call("eks", "update_cluster_config", name=CLUSTER, resourcesVpcConfig=access)
    refused = machines.error(CALL, Method="GET", Path=CONFIG)
    aws.clock.sleep(60)
    aws.call("eks", "update_cluster_config", name=CLUSTER, resourcesVpcConfig=before)
    aws.clock.sleep(60)

    assert refused == "EKS.SdkClientException"
    assert machines.output(CALL, Method="GET", Path=CONFIG)["StatusCode"] == 200


def test_an_answer_of_more_than_256_kib_fails_a_call_that_was_made_all_the_same(machines, lab):
    for name in ("big-1", "big-2"):
        body = {"metadata": {"name": name, "labels": {"size": "big"}}, "data": {"a": "x" * 140_000}}
        lab.kubernetes.request("POST", CONFIG, body)

    big = {"labelSelector": ["size=big"]}
    assert (
        machines.error(CALL, Method="DELETE", Path=CONFIG, QueryParameters=big) == "States.DataLimitExceeded"
    )

    assert not lab.kubernetes.get(f"{CONFIG}?labelSelector=size=big")["items"]
