"""What experiments may do, and how little: rules of two groups, one object of Kubernetes; restores only give."""

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import yaml

from tests.infra.conftest import Assembly, Template
from tests.infra.test_permissions import allowed
from tests.infra.workflow_definitions import definitions

LAB = "gpu-lab"
REGION = "ap-northeast-2"


def states() -> dict[str, Any]:
    return dict(definitions()["experiment"]["States"])


def role(purpose: str) -> str:
    return f"{LAB}-{REGION}-{purpose}"


def test_rules_are_changed_on_the_two_groups_of_the_labs_nodes_and_no_other(controller: Template) -> None:
    may = allowed(controller, role("experiments"))
    for action in ("ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"):
        [statement] = may[action]
        assert "security-group/*" in json.dumps(statement["Resource"])
        assert statement["Condition"]["StringEquals"] == {
            "ec2:ResourceTag/lamplighter:lab": LAB,
            "ec2:ResourceTag/Name": [f"{LAB}-node", f"{LAB}-node-group-sg"],
        }
    changing = {action for action in may if action.startswith("ec2:") and "Describe" not in action}
    assert changing == {"ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"}


def test_what_restores_can_give_rules_back_and_start_the_workflow_and_take_nothing(
    controller: Template,
) -> None:
    may = allowed(controller, role("restores"))
    assert set(may) == {"ec2:AuthorizeSecurityGroupIngress", "states:StartExecution", "sqs:SendMessage"}
    [statement] = may["states:StartExecution"]
    assert json.dumps(statement["Resource"]).endswith(f'stateMachine:{LAB}-experiment"]]}}')


def test_nobody_else_takes_a_rule_away(controller: Template) -> None:
    for name, resource in controller.of_type("AWS::IAM::Policy").items():
        if "ec2:RevokeSecurityGroupIngress" in json.dumps(resource):
            assert name.startswith("FunctionsExperiments")


def test_the_names_in_the_condition_are_those_of_the_cluster_stacks_groups(cluster: Template) -> None:
    names = {
        tag["Value"]
        for resource in cluster.of_type("AWS::EC2::SecurityGroup").values()
        for tag in resource["Properties"].get("Tags", [])
        if tag["Key"] == "Name"
    }
    assert {f"{LAB}-node", f"{LAB}-node-group-sg"} <= names


def test_an_adopted_clusters_groups_are_not_ours_to_change(synthesise: Callable[..., Assembly]) -> None:
    adopted = synthesise(cluster={"existing": "theirs"}, pools={"gpu": {"existing": "theirs-gpu"}})
    policies = adopted.template(f"{LAB}-controller").of_type("AWS::IAM::Policy")
    assert "SecurityGroupIngress" not in json.dumps(policies)


def test_in_the_cluster_one_object_may_be_changed() -> None:
    text = files("lamplighter.data").joinpath("rbac.yaml").read_text("utf-8")
    [mine] = [
        document
        for document in yaml.safe_load_all(text)
        if document["kind"] == "ClusterRole" and document["metadata"]["name"] == "lamplighter-experiments"
    ]
    writing = [rule for rule in mine["rules"] if not set(rule["verbs"]) <= {"get", "list"}]
    assert [(rule["resources"], rule["resourceNames"], rule["verbs"]) for rule in writing] == [
        (["clusterpolicies"], ["cluster-policy"], ["get", "patch"])
    ]


def test_whatever_fails_once_something_may_be_changed_leads_to_the_restore() -> None:
    found = states()
    for name in ("Prepare", "Change", "Observe"):
        assert [catch["Next"] for catch in found[name]["Catch"]] == ["Restore"]
    assert [catch["Next"] for catch in found["AnnounceChange"]["Catch"]] == ["Change"]


def test_a_restore_that_fails_is_a_failed_run_and_one_that_is_asked_for_begins_with_it() -> None:
    found = states()
    # What died may have put everything back; whether it did, Report finds.
    assert [catch["Next"] for catch in found["Restore"]["Catch"]] == ["ProveRestored"]
    assert [(catch["ErrorEquals"], catch["Next"]) for catch in found["Report"]["Catch"]] == [
        (["Stale"], "NotRestored"),
        (["States.ALL"], "Announce"),
    ]
    assert found["NotRestored"]["Type"] == "Fail"
    assert found[definitions()["experiment"]["StartAt"]]["Default"] == "Restore"
