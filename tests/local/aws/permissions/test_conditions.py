"""Condition operators and wildcards, case by case as IAM's user guide words them.

Source: "IAM JSON policy elements: Condition operators", "Multivalued context keys" and "Resource".
"""

from typing import Any

import pytest

from local.aws.authorization.conditions import Unknown, met
from local.aws.authorization.patterns import arn_matches, glob

REQUEST = {
    "aws:PrincipalTag/team": ("lab",),
    "aws:TagKeys": ("a", "b"),
    "aws:SourceArn": ("arn:aws:sns:eu-west-1:123456789012:topic",),
    "s3:max-keys": ("10",),
    "aws:SecureTransport": ("true",),
    "aws:SourceIp": ("10.1.2.3",),
    "aws:CurrentTime": ("2026-11-23T12:00:00Z",),
    "aws:username": ("alice",),
}


class Request:
    def values(self, key: str) -> tuple[str, ...] | None:
        return REQUEST.get(key)


@pytest.mark.parametrize(
    ("operator", "key", "wanted", "holds"),
    [
        ("StringEquals", "aws:PrincipalTag/team", "lab", True),
        ("StringEquals", "aws:PrincipalTag/team", ["x", "lab"], True),
        ("StringEquals", "aws:PrincipalTag/team", "LAB", False),
        ("StringEqualsIgnoreCase", "aws:PrincipalTag/team", "LAB", True),
        ("StringEquals", "aws:PrincipalTag/team", "l*", False),
        ("StringLike", "aws:PrincipalTag/team", "l?b", True),
        ("StringNotEquals", "aws:PrincipalTag/team", ["x", "lab"], False),
        ("StringNotLike", "aws:PrincipalTag/team", "x*", True),
        ("StringEquals", "aws:PrincipalTag/none", "lab", False),
        ("StringNotEquals", "aws:PrincipalTag/none", "lab", True),
        ("StringEqualsIfExists", "aws:PrincipalTag/none", "lab", True),
        ("StringEqualsIfExists", "aws:PrincipalTag/team", "x", False),
        ("Null", "aws:PrincipalTag/none", "true", True),
        ("Null", "aws:PrincipalTag/team", True, False),
        ("ForAllValues:StringEquals", "aws:TagKeys", ["a", "b", "c"], True),
        ("ForAllValues:StringEquals", "aws:TagKeys", ["a"], False),
        ("ForAllValues:StringEquals", "aws:PrincipalTag/none", ["a"], True),
        ("ForAnyValue:StringEquals", "aws:TagKeys", ["a"], True),
        ("ForAnyValue:StringEquals", "aws:PrincipalTag/none", ["a"], False),
        ("ForAllValues:StringNotEquals", "aws:TagKeys", ["c"], True),
        ("ForAnyValue:StringNotEquals", "aws:TagKeys", ["a"], True),
        ("ArnLike", "aws:SourceArn", "arn:aws:sns:*:123456789012:t*", True),
        ("ArnEquals", "aws:SourceArn", "arn:aws:sns:*:topic", False),
        ("ArnNotLike", "aws:SourceArn", "arn:aws:sqs:*:*:*", True),
        ("NumericLessThan", "s3:max-keys", "9", False),
        ("NumericLessThanEquals", "s3:max-keys", 10, True),
        ("Bool", "aws:SecureTransport", False, False),
        ("BoolIfExists", "aws:ViaAWSService", "true", True),
        ("IpAddress", "aws:SourceIp", ["192.0.2.0/24", "10.0.0.0/8"], True),
        ("NotIpAddress", "aws:SourceIp", "10.0.0.0/8", False),
        ("DateGreaterThan", "aws:CurrentTime", "2026-11-23T11:59:59Z", True),
        ("DateLessThan", "aws:CurrentTime", "2026-11-23T11:59:59Z", False),
    ],
)
def test_an_operator_holds_as_iam_says(operator: str, key: str, wanted: Any, holds: bool) -> None:
    assert met({operator: {key: wanted}}, Request()) is holds


def test_an_operator_that_nobody_knows_is_said_so() -> None:
    with pytest.raises(Unknown, match="StringResembles"):
        met({"StringResembles": {"aws:username": "a"}}, Request())


@pytest.mark.parametrize(
    ("pattern", "arn", "matches"),
    [
        ("*", "arn:aws:sns:eu-west-1:1:t", True),
        ("arn:aws:sns:*:1:t", "arn:aws:sns:eu-west-1:1:t", True),
        ("arn:aws:sns:*:t", "arn:aws:sns:eu-west-1:1:t", False),
        ("arn:aws:logs:*:*:log-group:/a:*", "arn:aws:logs:r:1:log-group:/a:log-stream:s", True),
        ("arn:aws:logs:*:*:log-group:/a", "arn:aws:logs:r:1:log-group:/a:log-stream:s", False),
        ("arn:aws:s3:::b/?", "arn:aws:s3:::b/xy", False),
        ("arn:aws:s3:::b/${aws:username}/*", "arn:aws:s3:::b/alice/x", True),
        ("arn:aws:s3:::b/${aws:username}/*", "arn:aws:s3:::b/bob/x", False),
        ("arn:aws:s3:::b/${aws:nobody}", "arn:aws:s3:::b/", False),
        ("arn:aws:s3:::b/${*}", "arn:aws:s3:::b/*", True),
    ],
)
def test_a_resource_matches_part_by_part(pattern: str, arn: str, matches: bool) -> None:
    assert arn_matches(pattern, arn, variable) is matches


def test_a_variable_s_value_is_no_pattern() -> None:
    assert not glob("${aws:username}", "anything", lambda _: "*")


def variable(name: str) -> str | None:
    found = REQUEST.get(name)
    return found[0] if found else None
