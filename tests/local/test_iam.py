"""Transactions are judged by their parts: IAM knows no action for the transaction itself.

Source: DynamoDB developer guide, "IAM and transactions".
"""

import urllib.request

import pytest
from botocore.exceptions import ClientError


@pytest.fixture
def table(aws) -> str:
    key = [{"AttributeName": "pk", "KeyType": "HASH"}]
    kind = [{"AttributeName": "pk", "AttributeType": "S"}]
    aws.call(
        "dynamodb",
        "create_table",
        TableName="ledger",
        KeySchema=key,
        AttributeDefinitions=kind,
        BillingMode="PAY_PER_REQUEST",
    )
    return "ledger"


def transact(aws, table: str, role: str) -> None:
    put = {"Put": {"TableName": table, "Item": {"pk": {"S": "a"}}}}
    aws.call("dynamodb", "transact_write_items", role=role, TransactItems=[put])


def test_a_role_that_may_put_may_put_in_a_transaction(aws, table):
    transact(aws, table, aws.role("writer", "dynamodb:PutItem"))
    assert aws.call("dynamodb", "get_item", TableName=table, Key={"pk": {"S": "a"}})["Item"]


def test_a_role_that_may_only_update_may_not_put_in_a_transaction(aws, table):
    with pytest.raises(ClientError, match="not authorized to perform: dynamodb:PutItem"):
        transact(aws, table, aws.role("updater", "dynamodb:UpdateItem"))


def test_the_account_s_own_key_belongs_to_a_person(aws):
    assert aws.call("sts", "get_caller_identity")["Arn"].endswith(":user/instructor")


def test_whoever_signs_nothing_gets_an_answer_of_aws_and_its_time(aws):
    with urllib.request.urlopen(aws.embedded.endpoint, timeout=10) as answer:
        assert answer.status == 200
        assert answer.headers["Date"]
