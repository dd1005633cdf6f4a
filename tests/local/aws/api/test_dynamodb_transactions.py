"""A transaction of DynamoDB writes everything or nothing."""

from typing import Any

import pytest

OLD = {"a": "1", "b": "1"}
CHANGES: list[dict[str, Any]] = [
    {
        "Update": {
            "Key": {"pk": {"S": "a"}, "sk": {"S": "x"}},
            "UpdateExpression": "SET n = n + :one, added = :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    },
    {"Delete": {"Key": {"pk": {"S": "b"}, "sk": {"S": "x"}}}},
    {"Put": {"Item": {"pk": {"S": "b"}, "sk": {"S": "y"}, "n": {"N": "1"}}}},
    {"Put": {"Item": {"pk": {"S": "c"}, "sk": {"S": "x"}, "n": {"N": "1"}}}},
]


@pytest.fixture
def table(aws):
    aws.call(
        "dynamodb",
        "create_table",
        TableName="t",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        BillingMode="PAY_PER_REQUEST",
    )
    for name, number in OLD.items():
        aws.call(
            "dynamodb",
            "put_item",
            TableName="t",
            Item={"pk": {"S": name}, "sk": {"S": "x"}, "n": {"N": number}},
        )
    return aws


def there(aws) -> dict[str, str]:
    items = aws.call("dynamodb", "scan", TableName="t")["Items"]
    return {
        item["pk"]["S"] + item["sk"]["S"].strip("x"): item["n"]["N"] + "+" * ("added" in item)
        for item in items
    }


def transact(aws, *changes: dict[str, Any]) -> None:
    named = [{verb: {"TableName": "t", **change} for verb, change in changed.items()} for changed in changes]
    aws.call("dynamodb", "transact_write_items", TransactItems=named)


def test_everything_is_written(table):
    transact(table, *CHANGES)

    assert there(table) == {"a": "2+", "by": "1", "c": "1"}


@pytest.mark.parametrize("place", range(len(CHANGES) + 1))
def test_a_refused_one_leaves_everything_as_it_was(table, place: int):
    check = {
        "ConditionCheck": {
            "Key": {"pk": {"S": "none"}, "sk": {"S": "x"}},
            "ConditionExpression": "attribute_exists(pk)",
        }
    }
    with pytest.raises(Exception, match="TransactionCanceled"):
        transact(table, *CHANGES[:place], check, *CHANGES[place:])

    assert there(table) == OLD


def test_an_item_that_it_names_twice_leaves_everything_as_it_was(table):
    with pytest.raises(Exception, match="multiple operations on one item"):
        transact(table, *CHANGES, CHANGES[0])

    assert there(table) == OLD
