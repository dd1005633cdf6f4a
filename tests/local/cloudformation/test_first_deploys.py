"""A first deploy that fails late leaves no ledger behind, so the same deploy works again; a ledger in use stays."""

import json

import pytest
from aws_cdk import App, CfnResource, Stack
from aws_cdk.assertions import Template

from local.stack_template import StackTemplate
from stacks.constructs.ledger import Ledger

COMPLETE = "CREATE_COMPLETE"
BACK = "ROLLBACK_COMPLETE"


@pytest.fixture(scope="module")
def controller():
    """The stack of our ledger and of what may fail after it: its name is taken, or it is not."""
    stack = Stack(App(), "lab")
    ledger = Ledger(stack, "Ledger", table_name="lab-ledger")
    late = CfnResource(stack, "Late", type="AWS::Logs::LogGroup", properties={"LogGroupName": "taken"})
    late.node.add_dependency(ledger)
    return Template.from_stack(stack).to_json()


@pytest.fixture
def deploy(aws, controller):
    def deploy(*, fails: bool, import_existing: bool = False, retained: str = "") -> str:
        text = json.dumps({"Resources": controller["Resources"]})
        if retained:
            text = text.replace("RetainExceptOnCreate", retained)
        if fails:
            aws.call("logs", "create_log_group", logGroupName="taken")
        stack = aws.embedded.deploy(StackTemplate("lab", text, {}), import_existing=import_existing)
        if fails:
            assert stack.failure().startswith("Late ")
            aws.call("logs", "delete_log_group", logGroupName="taken")
        return stack.status

    return deploy


def tables(aws) -> list[str]:
    return aws.call("dynamodb", "list_tables")["TableNames"]


def test_a_first_deploy_that_fails_late_is_repeated_without_an_option(aws, deploy):
    assert deploy(fails=True) == BACK
    assert tables(aws) == []

    assert deploy(fails=False) == COMPLETE
    assert tables(aws) == ["lab-ledger"]


def test_a_table_that_is_always_retained_is_in_the_way_of_the_second_deploy(aws, deploy):
    assert deploy(fails=True, retained="Retain") == BACK
    assert tables(aws) == ["lab-ledger"]

    assert deploy(fails=False, retained="Retain") == BACK
    assert "Table already exists: lab-ledger" in aws.embedded.stacks.await_settled("lab").failure()


def test_a_ledger_that_a_failed_deploy_imports_stays(aws, deploy):
    # given a ledger with a history, of a lab that is destroyed
    assert deploy(fails=False) == COMPLETE
    key = {"pk": {"S": "lease"}, "sk": {"S": "receipt"}}
    aws.call("dynamodb", "put_item", TableName="lab-ledger", Item=key)
    aws.call("cloudformation", "delete_stack", StackName="lab")
    assert aws.embedded.stacks.await_settled("lab").status == "DELETE_COMPLETE"
    assert tables(aws) == ["lab-ledger"]

    # when a deploy that imports it fails late, and is repeated
    assert deploy(fails=True, import_existing=True) == BACK
    assert deploy(fails=False, import_existing=True) == COMPLETE

    # then the history is there
    assert aws.call("dynamodb", "get_item", TableName="lab-ledger", Key=key)["Item"] == key
