"""Queries of the embedded DynamoDB: each reads its own partition, in order, page by page, and no other."""

import pytest

TEXTS = ["AUDIT#1", "AUDIT#2", "AUDIT#3", "LEASE#a", "STATE"]


def table(aws, kind: str) -> None:
    names = {"pk": "S", "sk": kind}
    aws.call(
        "dynamodb",
        "create_table",
        TableName="t",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": of} for name, of in names.items()],
        BillingMode="PAY_PER_REQUEST",
    )


@pytest.fixture
def texts(aws):
    """Two partitions with the same sort keys, written backwards."""
    table(aws, "S")
    for pk in ("a", "b"):
        for sk in reversed(TEXTS):
            aws.call("dynamodb", "put_item", TableName="t", Item={"pk": {"S": pk}, "sk": {"S": sk}})
    return aws


def query(aws, first, last, pk="a", kind="S", **more):
    values = {":pk": {"S": pk}, ":first": {kind: first}, ":last": {kind: last}}
    reply = aws.call(
        "dynamodb",
        "query",
        TableName="t",
        KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
        ExpressionAttributeValues=values,
        ConsistentRead=True,
        **more,
    )
    assert {item["pk"]["S"] for item in reply["Items"]} <= {pk}
    return [item["sk"][kind] for item in reply["Items"]], reply.get("LastEvaluatedKey")


def test_both_bounds_belong_to_it_and_nothing_beyond(texts):
    assert query(texts, "AUDIT#2", "LEASE#a") == (["AUDIT#2", "AUDIT#3", "LEASE#a"], None)


def test_a_partition_that_nobody_wrote_is_empty(texts):
    assert query(texts, "A", "Z", pk="c") == ([], None)


def test_the_newest_come_first_where_that_is_asked(texts):
    assert query(texts, "AUDIT#", "AUDIT#~", ScanIndexForward=False, Limit=2)[0] == ["AUDIT#3", "AUDIT#2"]


def test_the_next_page_begins_where_the_last_one_ended(texts):
    page, last = query(texts, "AUDIT#", "STATE", Limit=3)
    rest, end = query(texts, "AUDIT#", "STATE", ExclusiveStartKey=last)
    assert (page + rest, end) == (TEXTS, None)


def test_numbers_are_compared_as_numbers(aws):
    table(aws, "N")
    for number in ("10", "9", "2"):
        aws.call("dynamodb", "put_item", TableName="t", Item={"pk": {"S": "a"}, "sk": {"N": number}})
    assert query(aws, "3", "10", kind="N") == (["9", "10"], None)


def test_the_whole_partition_and_what_begins_with_something(texts):
    asked = {":pk": {"S": "b"}, ":begin": {"S": "AUDIT#"}}
    reply = texts.call(
        "dynamodb",
        "query",
        TableName="t",
        KeyConditionExpression="pk = :pk AND begins_with(sk, :begin)",
        ExpressionAttributeValues=asked,
    )
    assert [item["sk"]["S"] for item in reply["Items"]] == TEXTS[:3]


def test_a_partition_of_one_item_without_a_sort_key(aws):
    aws.call(
        "dynamodb",
        "create_table",
        TableName="t",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    aws.call("dynamodb", "put_item", TableName="t", Item={"pk": {"S": "a"}})
    condition = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "a"}}}
    assert aws.call("dynamodb", "query", TableName="t", **condition)["Items"] == [{"pk": {"S": "a"}}]


def test_items_are_read_as_they_were_written(texts):
    item = {
        "pk": {"S": "every"},
        "sk": {"S": "kind"},
        "n": {"N": "1.50"},
        "b": {"B": b"\x00\xff"},
        "yes": {"BOOL": False},
        "nothing": {"NULL": True},
        "list": {"L": [{"N": "1"}, {"M": {"deep": {"L": []}}}]},
        "map": {"M": {"a": {"S": ""}, "b": {"M": {}}}},
        "set": {"SS": ["ä", "b"]},
    }
    texts.call("dynamodb", "put_item", TableName="t", Item=item)
    key = {"pk": item["pk"], "sk": item["sk"]}
    assert texts.call("dynamodb", "get_item", TableName="t", Key=key) == {"Item": item}
    found = texts.call(
        "dynamodb",
        "query",
        TableName="t",
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": item["pk"]},
        ReturnConsumedCapacity="TOTAL",
    )
    assert (found["Items"], found["Count"]) == ([item], 1)
    assert found["ConsumedCapacity"]["TableName"] == "t"
