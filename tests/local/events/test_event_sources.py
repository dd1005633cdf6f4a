"""A function hears of a table's changes: filtered, in batches, again where it fails, and told where it gives up."""

import json
from datetime import datetime

import pytest

from tests.local.cloudformation.test_cloudformation import Stacks
from tests.steady.hang import await_value

#: Notes what it is told in another table, and fails on the word.
LISTENER = """
    import boto3
    def handler(event, context):
        seen = boto3.client("dynamodb")
        keys = [record["dynamodb"]["Keys"] for record in event["Records"]]
        for record in event["Records"]:
            seen.put_item(TableName="seen", Item={
                "pk": {"S": record["eventID"]},
                "key": record["dynamodb"]["Keys"]["pk"],
                "batch": {"N": str(len(event["Records"]))},
                "kind": {"S": record["eventName"]},
                "image": {"BOOL": "NewImage" in record["dynamodb"]},
            })
        if any(key["pk"]["S"] == "POOL#bad" for key in keys):
            raise ValueError("no")
"""
PATTERN = {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"Keys": {"pk": {"S": [{"prefix": "POOL#"}]}}}}
KEYS = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
MAY = (
    "dynamodb:DescribeStream",
    "dynamodb:Get*",
    "dynamodb:ListStreams",
    "dynamodb:PutItem",
    "sqs:SendMessage",
)


class Listening:
    """A table, somebody who listens to it, and what they heard."""

    def __init__(self, aws, *may: str, code: str = LISTENER) -> None:
        self.aws = aws
        self.stacks = Stacks(aws)
        aws.call("dynamodb", "create_table", TableName="seen", **KEYS)
        self.letters, queue = aws.queue("letters")
        self.function = aws.function("listener", code, role=aws.role("listening", *may))
        self.resources = {
            "Table": {
                "Type": "AWS::DynamoDB::Table",
                "Properties": {
                    "TableName": "ledger",
                    "StreamSpecification": {"StreamViewType": "KEYS_ONLY"},
                    **KEYS,
                },
            },
            "Mapping": {
                "Type": "AWS::Lambda::EventSourceMapping",
                "Properties": {
                    "EventSourceArn": {"Fn::GetAtt": ["Table", "StreamArn"]},
                    "FunctionName": "listener",
                    "StartingPosition": "LATEST",
                    "BatchSize": 100,
                    "MaximumBatchingWindowInSeconds": 1,
                    "MaximumRetryAttempts": 2,
                    "MaximumRecordAgeInSeconds": 900,
                    "DestinationConfig": {"OnFailure": {"Destination": queue}},
                    "FilterCriteria": {"Filters": [{"Pattern": json.dumps(PATTERN)}]},
                },
            },
        }

    def write(self, pk: str, **values: str) -> None:
        item = {"pk": {"S": pk}, **{name: {"S": value} for name, value in values.items()}}
        self.aws.call("dynamodb", "put_item", TableName="ledger", Item=item)

    def heard(self, count: int) -> list[dict]:
        """What was heard, as soon as it is so much."""

        def items() -> list[dict] | None:
            found = self.aws.call("dynamodb", "scan", TableName="seen")["Items"]
            return found if len(found) >= count else None

        found = await_value(f"{count} are heard", items)
        return [{name: next(iter(value.values())) for name, value in item.items()} for item in found]

    def tries(self, key: str, count: int) -> dict[str, str]:
        """How often each record was brought, once the one of this key was brought so often."""

        def brought() -> dict[str, str] | None:
            found = {one["key"]: one["tries"] for one in self.heard(1)}
            return found if found.get(key) == str(count) else None

        return await_value(f"{key} is brought {count} times", brought)


@pytest.fixture
def listening(aws):
    made = Listening(aws, *MAY)
    assert made.stacks.create(made.resources)["StackStatus"] == "CREATE_COMPLETE", made.stacks.reasons()
    aws.clock.hurry(True)
    return made


def test_what_the_filter_lets_through_is_heard_with_its_keys_only(listening):
    listening.write("LAB")
    listening.write("POOL#gpu", phase="open")
    listening.write("POOL#gpu", phase="closing")

    heard = listening.heard(2)

    assert {(one["key"], one["kind"], one["image"]) for one in heard} == {
        ("POOL#gpu", "INSERT", False),
        ("POOL#gpu", "MODIFY", False),
    }


def test_a_write_that_changes_nothing_and_an_end_are_not_heard(listening):
    listening.write("POOL#a")
    listening.write("POOL#a")
    listening.aws.call("dynamodb", "delete_item", TableName="ledger", Key={"pk": {"S": "POOL#a"}})
    listening.write("POOL#b")

    assert sorted(one["key"] for one in listening.heard(2)) == ["POOL#a", "POOL#b"]


def test_a_refused_transaction_is_not_heard(listening):
    put = {"TableName": "ledger", "Item": {"pk": {"S": "POOL#refused"}}}
    check = {
        "TableName": "ledger",
        "Key": {"pk": {"S": "POOL#none"}},
        "ConditionExpression": "attribute_exists(pk)",
    }
    with pytest.raises(Exception, match="TransactionCanceled"):
        listening.aws.call(
            "dynamodb", "transact_write_items", TransactItems=[{"Put": put}, {"ConditionCheck": check}]
        )
    granted = {"TableName": "ledger", "Item": {"pk": {"S": "POOL#granted"}}}
    listening.aws.call("dynamodb", "transact_write_items", TransactItems=[{"Put": granted}])

    assert [one["key"] for one in listening.heard(1)] == ["POOL#granted"]


def test_changes_of_one_moment_come_together(listening):
    with listening.aws.clock.busy():  # hurry waits: the window of a second is still open
        for number in range(5):
            listening.write(f"POOL#{number}")

    heard = listening.heard(5)

    assert len(heard) == 5
    assert max(int(one["batch"]) for one in heard) > 1


def test_a_batch_that_fails_is_tried_again_and_then_told_without_what_it_said(listening):
    begun = listening.aws.clock.time()

    listening.write("POOL#bad", secret="of ours")

    letter = json.loads(listening.aws.message(listening.letters)["Body"])
    assert letter["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert letter["requestContext"]["approximateInvokeCount"] == 3
    assert letter["DDBStreamBatchInfo"]["batchSize"] == 1
    assert "POOL#bad" not in json.dumps(letter)
    # By the letter: time goes on while this test waits for it.
    assert datetime.fromisoformat(letter["timestamp"]).timestamp() - begun < 60
    listening.write("POOL#good")
    assert "POOL#good" in {one["key"] for one in listening.heard(2)}


def test_hurry_waits_for_what_is_on_its_way(listening):
    """An hour passes only after the record was heard."""
    asleep_until = listening.aws.clock.time() + 3600
    listening.write("POOL#gpu")

    listening.aws.clock.sleep_until(asleep_until)

    assert len(listening.heard(1)) == 1


def test_a_mapping_that_is_gone_hears_nothing(listening):
    assert listening.stacks.delete() == "DELETE_COMPLETE"
    assert listening.aws.call("lambda", "list_event_source_mappings")["EventSourceMappings"] == []


def test_a_stream_that_is_switched_off_and_on_again_is_another_one(listening):
    """As when the release before this one is deployed, and then this one again."""
    plain = json.loads(json.dumps(listening.resources["Table"]))
    del plain["Properties"]["StreamSpecification"]
    assert listening.stacks.update({"Table": plain})["StackStatus"] == "UPDATE_COMPLETE"
    listening.write("POOL#unheard")

    on = listening.stacks.update(listening.resources)
    assert on["StackStatus"] == "UPDATE_COMPLETE", listening.stacks.reasons()
    listening.write("POOL#heard")

    assert [one["key"] for one in listening.heard(1)] == ["POOL#heard"]


def test_whoever_may_not_read_the_stream_cannot_listen(aws):
    made = Listening(aws, "dynamodb:PutItem")
    assert "Cannot access stream" in made.stacks.failed(made.resources)


#: Notes every record with the size of its batch, and names the bad ones as failed, each once.
PARTLY = """
    import boto3
    def handler(event, context):
        seen = boto3.client("dynamodb")
        failed = []
        for number, record in enumerate(event["Records"]):
            key, name = record["dynamodb"]["Keys"]["pk"], record["eventID"]
            tried = seen.get_item(TableName="seen", Key={"pk": {"S": name}}).get("Item")
            seen.put_item(TableName="seen", Item={
                "pk": {"S": name},
                "key": key,
                "tries": {"N": str(int(tried["tries"]["N"]) + 1 if tried else 1)},
            })
            if key["S"] == "POOL#bad" and not tried:
                failed.append({"itemIdentifier": record["dynamodb"]["SequenceNumber"]})
        return {"batchItemFailures": failed}
"""


def test_a_batch_is_brought_again_from_the_first_record_that_the_function_names(aws):
    listening = Listening(aws, *MAY, "dynamodb:GetItem", code=PARTLY)
    mapping = listening.resources["Mapping"]["Properties"]
    assert isinstance(mapping, dict)
    mapping["FunctionResponseTypes"] = ["ReportBatchItemFailures"]
    made = listening.stacks.create(listening.resources)
    assert made["StackStatus"] == "CREATE_COMPLETE", listening.stacks.reasons()

    for pool in ("POOL#good", "POOL#bad", "POOL#after"):
        listening.write(pool)
    aws.clock.hurry(True)

    assert listening.tries("POOL#after", 2) == {"POOL#good": "1", "POOL#bad": "2", "POOL#after": "2"}
