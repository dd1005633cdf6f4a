"""CloudFormation deploys templates: in order, in place, by replacement, and back again when that fails."""

import json

import pytest
from botocore.exceptions import ClientError

QUEUE = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q"}}


@pytest.fixture
def stacks(aws):
    return Stacks(aws)


class Stacks:
    def __init__(self, aws) -> None:
        self.aws = aws

    def create(self, resources, **sections) -> dict:
        return self._deploy("create_stack", resources, sections)

    def update(self, resources, **sections) -> dict:
        return self._deploy("update_stack", resources, sections)

    def delete(self) -> str:
        stack_id = self.describe()["StackId"]
        self.aws.call("cloudformation", "delete_stack", StackName="lab")
        self.aws.embedded.stacks.await_settled("lab")
        return self.describe(stack_id)["StackStatus"]

    def describe(self, name: str = "lab") -> dict:
        return self.aws.call("cloudformation", "describe_stacks", StackName=name)["Stacks"][0]

    def physical(self) -> dict[str, str]:
        found = self.aws.call("cloudformation", "describe_stack_resources", StackName="lab")["StackResources"]
        return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found}

    def reasons(self) -> str:
        events = self.aws.call("cloudformation", "describe_stack_events", StackName="lab")["StackEvents"]
        return " ".join(event.get("ResourceStatusReason", "") for event in events)

    def failed(self, resources) -> str:
        assert self.create(resources)["StackStatus"] == "ROLLBACK_COMPLETE"
        return self.reasons()

    def _deploy(self, operation: str, resources: dict, sections: dict) -> dict:
        tags, more = sections.pop("tags", {}), sections.pop("more", {})
        template = json.dumps({"Resources": resources, **sections})
        request = {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]} if tags else {}
        request |= more
        self.aws.call(
            "cloudformation",
            operation,
            StackName="lab",
            TemplateBody=template,
            Capabilities=["CAPABILITY_NAMED_IAM"],
            **request,
        )
        self.aws.embedded.stacks.await_settled("lab")
        return self.describe()


def test_a_stack_is_created_with_its_references_outputs_and_tags(stacks):
    stack = stacks.create(
        {
            "Topic": {"Type": "AWS::SNS::Topic"},
            "Queue": {
                "Type": "AWS::SQS::Queue",
                "Properties": {"QueueName": {"Fn::Sub": "${AWS::StackName}-q"}},
            },
            "Subscription": {
                "Type": "AWS::SNS::Subscription",
                "Properties": {
                    "TopicArn": {"Ref": "Topic"},
                    "Protocol": "sqs",
                    "Endpoint": {"Fn::GetAtt": ["Queue", "Arn"]},
                },
            },
        },
        Outputs={"Arn": {"Value": {"Fn::GetAtt": ["Queue", "Arn"]}}},
        tags={"lamplighter:lab": "l"},
    )
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    arn = "arn:aws:sqs:ap-northeast-2:123456789012:lab-q"
    assert stack["Outputs"] == [{"OutputKey": "Arn", "OutputValue": arn}]
    assert stack["Tags"] == [{"Key": "lamplighter:lab", "Value": "l"}]
    queue = stacks.physical()["Queue"]
    assert stacks.aws.call("sqs", "list_queue_tags", QueueUrl=queue)["Tags"] == {"lamplighter:lab": "l"}
    subscriptions = stacks.aws.call("sns", "list_subscriptions")["Subscriptions"]
    assert [one["Endpoint"] for one in subscriptions] == [arn]


def test_conditions_parameters_and_mappings_are_evaluated(stacks):
    stack = stacks.create(
        {
            "Yes": {
                "Type": "AWS::SQS::Queue",
                "Condition": "Big",
                "Properties": {"QueueName": {"Ref": "Name"}},
            },
            "No": {"Type": "AWS::SQS::Queue", "Condition": "Small"},
        },
        Parameters={"Name": {"Type": "String", "Default": "chosen"}},
        Mappings={"Sizes": {"ap-northeast-2": {"size": "big"}}},
        Conditions={
            "Big": {"Fn::Equals": [{"Fn::FindInMap": ["Sizes", {"Ref": "AWS::Region"}, "size"]}, "big"]},
            "Small": {"Fn::Not": [{"Condition": "Big"}]},
        },
    )
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    assert list(stacks.physical()) == ["Yes"]
    assert stacks.physical()["Yes"].endswith("/chosen")


def test_a_number_that_the_template_states_may_be_joined(stacks):
    name = {"Fn::Join": ["-", ["q", 2, {"Fn::Sub": ["${N}", {"N": 3}]}]]}
    stack = stacks.create(
        {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": name}}},
        Outputs={"Count": {"Value": 1}},
    )
    assert stacks.physical()["Queue"].endswith("/q-2-3")
    assert stack["Outputs"][0]["OutputValue"] == "1"


def test_an_unknown_type_fails_by_name_and_takes_away_what_was_made(stacks):
    unknown = {"Type": "AWS::Nowhere::Thing", "DependsOn": "Queue"}
    stack = stacks.create({"Queue": QUEUE, "Thing": unknown})
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
    assert "Resource type AWS::Nowhere::Thing is not known" in stacks.reasons()
    assert "QueueUrls" not in stacks.aws.call("sqs", "list_queues")


def test_a_property_nobody_knows_fails_by_name(stacks):
    alarm = {"Type": "AWS::Scheduler::ScheduleGroup", "Properties": {"Name": "g", "Colour": "red"}}
    assert "property Colour" in stacks.failed({"Group": alarm})


def test_an_update_in_place_keeps_the_physical_id(stacks):
    stacks.create({"Queue": QUEUE})
    before = stacks.physical()["Queue"]
    changed = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q", "VisibilityTimeout": 77}}
    assert stacks.update({"Queue": changed})["StackStatus"] == "UPDATE_COMPLETE"
    assert stacks.physical()["Queue"] == before
    attributes = stacks.aws.call(
        "sqs", "get_queue_attributes", QueueUrl=before, AttributeNames=["VisibilityTimeout"]
    )
    assert attributes["Attributes"] == {"VisibilityTimeout": "77"}


def test_a_replacement_comes_first_and_the_old_one_goes_last(stacks):
    stacks.create({"Queue": QUEUE})
    renamed = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "other"}}
    assert stacks.update({"Queue": renamed})["StackStatus"] == "UPDATE_COMPLETE"
    assert [url.rpartition("/")[2] for url in stacks.aws.call("sqs", "list_queues")["QueueUrls"]] == ["other"]


def test_what_an_update_drops_is_deleted_and_what_is_retained_stays(stacks):
    kept = {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain", "Properties": {"QueueName": "kept"}}
    stacks.create({"Queue": QUEUE, "Kept": kept, "Topic": {"Type": "AWS::SNS::Topic"}})
    stacks.update({"Topic": {"Type": "AWS::SNS::Topic"}})
    assert list(stacks.physical()) == ["Topic"]
    assert [url.rpartition("/")[2] for url in stacks.aws.call("sqs", "list_queues")["QueueUrls"]] == ["kept"]


def test_a_failed_update_goes_back(stacks):
    stacks.create({"Queue": QUEUE})
    changed = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q", "VisibilityTimeout": 77}}
    new = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "new"}}
    bad = {"Type": "AWS::Nowhere::Thing", "DependsOn": ["Queue", "New"]}
    stack = stacks.update({"Queue": changed, "New": new, "Bad": bad})
    assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert "AWS::Nowhere::Thing" in stacks.reasons()
    assert [url.rpartition("/")[2] for url in stacks.aws.call("sqs", "list_queues")["QueueUrls"]] == ["q"]
    assert (
        stacks.update({"Queue": QUEUE, "Topic": {"Type": "AWS::SNS::Topic"}})["StackStatus"]
        == "UPDATE_COMPLETE"
    )


@pytest.mark.parametrize(("policy", "left"), [("Retain", ["q", "new"]), ("RetainExceptOnCreate", ["q"])])
def test_a_failed_update_lets_go_of_what_it_created(stacks, policy, left):
    kept = {**QUEUE, "DeletionPolicy": policy}
    new = {"Type": "AWS::SQS::Queue", "DeletionPolicy": policy, "Properties": {"QueueName": "new"}}
    bad = {"Type": "AWS::Nowhere::Thing", "DependsOn": "New"}
    stacks.create({"Queue": kept})
    assert stacks.update({"Queue": kept, "New": new, "Bad": bad})["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert [url.rpartition("/")[2] for url in stacks.aws.call("sqs", "list_queues")["QueueUrls"]] == left


def test_a_failed_update_without_a_rollback_stays_and_is_repeated(stacks):
    stacks.create({"Queue": QUEUE})
    changed = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q", "VisibilityTimeout": 77}}
    # The name is taken until somebody deletes the other log group.
    stacks.aws.call("logs", "create_log_group", logGroupName="new")
    new = {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "new"}, "DependsOn": "Queue"}
    template, kept = {"Queue": changed, "New": new}, {"DisableRollback": True}

    assert stacks.update(template, more=kept)["StackStatus"] == "UPDATE_FAILED"
    attributes = {"QueueUrl": stacks.physical()["Queue"], "AttributeNames": ["VisibilityTimeout"]}
    there = stacks.aws.call("sqs", "get_queue_attributes", **attributes)["Attributes"]
    assert there == {"VisibilityTimeout": "77"}

    # the same template again is a retry
    stacks.aws.call("logs", "delete_log_group", logGroupName="new")
    assert stacks.update(template, more=kept)["StackStatus"] == "UPDATE_COMPLETE"
    assert set(stacks.physical()) == {"Queue", "New"}


def test_an_update_that_changes_nothing_is_refused(stacks):
    stacks.create({"Queue": QUEUE})
    with pytest.raises(ClientError, match="No updates are to be performed"):
        stacks.update({"Queue": QUEUE})


def test_a_deleted_stack_is_found_by_its_id_alone(stacks):
    stacks.create({"Queue": QUEUE})
    assert stacks.delete() == "DELETE_COMPLETE"
    with pytest.raises(ClientError, match="Stack with id lab does not exist"):
        stacks.describe()
    assert stacks.create({"Queue": QUEUE})["StackStatus"] == "CREATE_COMPLETE"


def test_a_name_that_is_taken_is_refused(stacks):
    stacks.create({"Queue": QUEUE})
    with pytest.raises(ClientError, match="already exists"):
        stacks.create({"Queue": QUEUE})


ALARM = {"ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "Threshold": 1}
METRIC = {"MetricName": "m", "Namespace": "n", "Period": 60, "Statistic": "Sum"}


@pytest.mark.parametrize(("kind", "properties"), [
    ("SQS::Queue", {"QueueName": "n"}),
    ("SNS::Topic", {"TopicName": "n"}),
    ("Events::Rule", {"Name": "n", "ScheduleExpression": "rate(1 hour)", "State": "ENABLED"}),
    ("CloudWatch::Alarm", {"AlarmName": "n", **ALARM, **METRIC}),
    ("CloudWatch::Dashboard", {"DashboardName": "n", "DashboardBody": "{}"}),
    ("Logs::LogGroup", {"LogGroupName": "n"}),
    ("Scheduler::ScheduleGroup", {"Name": "n"}),
    ("SSM::Parameter", {"Name": "n", "Type": "String", "Value": "v"}),
])  # fmt: skip
def test_a_resource_that_exists_is_not_created_again(stacks, kind, properties):
    resource = {"Type": f"AWS::{kind}", "Properties": properties}
    template = json.dumps({"Resources": {"Theirs": resource}})
    stacks.aws.call("cloudformation", "create_stack", StackName="theirs", TemplateBody=template)
    assert stacks.aws.embedded.stacks.await_settled("theirs").status == "CREATE_COMPLETE"

    assert "already exists" in stacks.failed({"Ours": resource})

    stacks.aws.call("cloudformation", "delete_stack", StackName="theirs")
    assert stacks.aws.embedded.stacks.await_settled("theirs").status == "DELETE_COMPLETE"


def test_a_template_that_refers_to_nothing_is_refused(stacks):
    with pytest.raises(ClientError, match="Unresolved resource dependencies"):
        stacks.create({"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Ref": "Nobody"}}}})


TABLE = {
    "Type": "AWS::DynamoDB::Table",
    "DeletionPolicy": "Retain",
    "Properties": {
        "TableName": "kept",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    },
}


def test_what_a_stack_left_behind_is_taken_up_only_by_a_change_set_that_says_so(stacks, aws):
    # given a table with something in it that a deleted stack retained
    stacks.create({"Table": TABLE})
    aws.call("dynamodb", "put_item", TableName="kept", Item={"pk": {"S": "a receipt"}})
    assert stacks.delete() == "DELETE_COMPLETE"

    # when the same stack is created by a change set that may import
    request = {"StackName": "lab", "TemplateBody": json.dumps({"Resources": {"Table": TABLE}})}
    more = {"ChangeSetName": "deploy", "ChangeSetType": "CREATE", "ImportExistingResources": True}
    aws.call("cloudformation", "create_change_set", **request, **more)
    aws.call("cloudformation", "execute_change_set", StackName="lab", ChangeSetName="deploy")
    aws.embedded.stacks.await_settled("lab")

    # then it has the table, and the table what was in it; without it, the name is taken
    assert stacks.describe()["StackStatus"] == "CREATE_COMPLETE"
    assert stacks.physical() == {"Table": "kept"}
    assert aws.call("dynamodb", "scan", TableName="kept")["Count"] == 1
    assert stacks.delete() == "DELETE_COMPLETE"
    assert "kept" in stacks.failed({"Table": TABLE})


def test_a_failure_is_that_of_the_last_operation(stacks, aws):
    stacks.create({"Queue": QUEUE})
    stacks.update({"Queue": QUEUE, "First": {"Type": "AWS::No::Such"}})
    stacks.update({"Queue": QUEUE, "Second": {"Type": "AWS::Nor::This"}})
    assert "Second" in aws.embedded.stacks.await_settled("lab").failure()
