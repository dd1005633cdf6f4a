"""Patterns take and match what EventBridge takes and matches.

Sources: EventBridge user guide, "Comparison operators for use in event patterns"; AWS's answers as recorded by
localstack in tests/aws/services/events/test_events_patterns.snapshot.json.
"""

import json

import pytest
from botocore.exceptions import ClientError

from local.aws.events.event_pattern import BadPattern, check, matches

EVENT = {
    "source": "ci.training",
    "detail-type": "open",
    "detail": {
        "pool": "gpu",
        "nodes": 2,
        "urgent": True,
        "tags": ["a", "b"],
        "runs": [{"id": 1, "ok": False}],
    },
}


@pytest.mark.parametrize(
    "pattern",
    [
        {"source": ["ci.training"], "detail-type": ["open", "extend", "close"]},
        {"source": [{"prefix": "ci."}]},
        {"source": [{"prefix": {"equals-ignore-case": "CI."}}]},
        {"source": [{"suffix": ".training"}]},
        {"source": [{"anything-but": "ci.other"}]},
        {"source": [{"anything-but": {"prefix": ["lamplighter.", "aws."]}}]},
        {"source": [{"wildcard": "ci.*ing"}]},
        {"source": [{"equals-ignore-case": "CI.Training"}]},
        {"detail": {"nodes": [2.0]}},
        {"detail": {"nodes": [{"numeric": [">", 0, "<=", 2]}]}},
        {"detail": {"tags": ["b"]}},
        {"detail": {"token": [{"exists": False}]}},
        {"detail": {"pool": [{"exists": True}]}},
        {"detail.pool": ["gpu"]},
        {"detail": {"runs": {"id": [1], "ok": [False]}}},
        {"$or": [{"source": ["other"]}, {"detail": {"pool": ["gpu"]}}]},
    ],
)
def test_it_matches(pattern):
    check(pattern)
    assert matches(pattern, EVENT)


@pytest.mark.parametrize(
    "pattern",
    [
        {"source": ["ci"]},
        {"source": [{"prefix": "training"}]},
        {"source": ["ci.training"], "detail-type": ["close"]},
        {"source": [{"anything-but": ["ci.training", "other"]}]},
        {"detail": {"nodes": ["2"]}},
        {"detail": {"urgent": [1]}},
        {"detail": {"token": [{"anything-but": "x"}]}},
        {"detail": [{"exists": True}]},
        {"detail": {"runs": {"id": [1], "ok": [True]}}},
        {"account": ["123456789012"]},
    ],
)
def test_it_does_not_match(pattern):
    check(pattern)
    assert not matches(pattern, EVENT)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (["not", "an", "object"], "Filter is not an object"),
        ({"source": "ci.training"}, '"source" must be an object or an array'),
        ({"source": []}, "Empty arrays are not allowed"),
        ({"source": [{"prefix": 1}]}, "prefix match pattern must be a string"),
        ({"source": [{"PREFIX": "ci"}]}, "Unrecognized match type PREFIX"),
        ({"source": [{"wildcard": "a**"}]}, "Consecutive wildcard characters at pos 2"),
        ({"source": [{"anything-but": {"prefix": ""}}]}, "Null prefix/suffix not allowed"),
        ({"detail": {"nodes": [{"numeric": 3}]}}, "Value of numeric must be an array."),
        ({"detail": {"ip": [{"cidr": "10.0.0.0"}]}}, "Malformed CIDR, one '/' required"),
    ],
)
def test_aws_refuses_it(pattern, reason):
    with pytest.raises(BadPattern) as refused:
        check(pattern)
    assert str(refused.value) == reason


def test_an_event_nested_deeper_than_python_recurses_is_matched():
    """PutEvents takes 1,000 levels."""
    deep: list = []
    for _ in range(2000):
        deep = [deep]
    assert not matches({"detail": {"pool": ["gpu"]}}, {"detail": {"pool": deep}})


def test_a_rule_with_a_bad_pattern_is_refused(aws):
    with pytest.raises(ClientError) as refused:
        aws.call("events", "put_rule", Name="r", EventPattern='{"source": [{"like": "ci"}]}')
    assert refused.value.response["Error"] == {
        "Code": "InvalidEventPatternException",
        "Message": "Event pattern is not valid. Reason: Unrecognized match type like",
    }


def test_a_rule_s_pattern_has_at_most_2048_characters(aws):
    """EventBridge user guide, "Amazon EventBridge quotas": event pattern size; the code of the refusal is [est]."""
    with pytest.raises(ClientError, match="LimitExceededException"):
        aws.call("events", "put_rule", Name="r", EventPattern=json.dumps({"source": ["s" * 2048]}))


def test_a_pattern_is_tried_on_an_event(aws):
    """API reference, TestEventPattern: the event needs all of its fields."""
    event = {
        "id": "1",
        "account": "1",
        "time": "2026-01-01T00:00:00Z",
        "region": "r",
        "resources": [],
        **EVENT,
    }

    def tried(pattern, event):
        texts = {"EventPattern": json.dumps(pattern), "Event": json.dumps(event)}
        return aws.call("events", "test_event_pattern", **texts)["Result"]

    assert tried({"source": [{"prefix": "ci."}]}, event)
    assert not tried({"source": ["other"]}, event)
    with pytest.raises(ClientError, match=r"Parameter Event is not valid\."):
        tried({"source": ["other"]}, EVENT)
