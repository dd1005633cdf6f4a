"""A recording of an account is played again on the embedded cloud: where the cloud answers otherwise, it is named."""

import json

import pytest

from tests.account_recording.replay import replay

ABSENT = {"Error": {"Code": "ResourceNotFoundException", "Message": "Requested resource not found"}}
TABLE = {
    "TableName": "verify",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
}
NAMED = {"TableName": "verify"}
ARN = "arn:aws:dynamodb:ap-northeast-2:111122223333:table/verify"
#: Operation, request, and what AWS answers.
CALLS = (
    ("DescribeTable", NAMED, ABSENT),
    ("CreateTable", TABLE, {"TableDescription": {"TableArn": ARN, "TableStatus": "CREATING"}}),
    ("DescribeTable", NAMED, {"Table": {"TableArn": ARN, "TableStatus": "ACTIVE", "ItemCount": 0}}),
)


@pytest.mark.parametrize(
    ("changed", "differences"),
    [
        ({}, []),
        (
            {0: {"Table": {}}},
            ["1: DescribeTable: AWS answered no error, the embedded cloud ResourceNotFoundException"],
        ),
        (
            {2: ABSENT},
            ["3: DescribeTable: AWS answered ResourceNotFoundException, the embedded cloud no error"],
        ),
        ({2: {"Table": {"Warmth": 1}}}, ["3: DescribeTable: AWS has the answer.Table.Warmth"]),
        (
            {2: {"Table": {"TableStatus": "ARCHIVED"}}},
            [
                "3: DescribeTable: AWS says ARCHIVED in the answer.Table.TableStatus, the embedded cloud ACTIVE"
            ],
        ),
        (
            {2: {"Table": {"ItemCount": "0"}}},
            ["3: DescribeTable: the answer.Table.ItemCount is str on AWS, here int"],
        ),
        (
            {2: {"Table": {"KeySchema": [{"AttributeName": "pk", "KeyType": "RANGE"}]}}},
            [
                "3: DescribeTable: AWS says RANGE in the answer.Table.KeySchema[].KeyType, the embedded cloud HASH"
            ],
        ),
    ],
)
def test_the_embedded_cloud_answers_as_a_recording_or_the_difference_is_named(
    aws, tmp_path, changed, differences
):
    aws.hold()
    recording = tmp_path / "one.jsonl"
    lines = [
        {
            "service": "dynamodb",
            "operation": operation,
            "request": request,
            "answer": changed.get(number, answer),
        }
        for number, (operation, request, answer) in enumerate(CALLS)
    ]
    recording.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")

    found = replay(recording, aws.embedded.around.call, "123456789012", aws.clock.sleep)

    assert found == [f"one.jsonl:{each}" for each in differences]
