"""What functions write is in CloudWatch Logs, and FilterLogEvents finds it by CloudWatch's filter patterns."""

import json

import pytest
from botocore.exceptions import ClientError

from local.aws.logs import log_groups
from local.aws.logs.filter_pattern import compiled

GROUP = "/aws/lambda/f"
SAYS = """
    import json
    from urllib.request import Request, urlopen
    import os
    def handler(event, context):
        for line in event["lines"]:
            print(json.dumps(line))
        if "pause" in event:
            urlopen(Request(os.environ["LAMPLIGHTER_SLEEP"], str(event["pause"]).encode(), method="POST"))
            print(json.dumps({"message": "later"}))
        return context.log_stream_name
"""


def found(aws, pattern: str = "", **more) -> list[dict]:
    return aws.call("logs", "filter_log_events", logGroupName=GROUP, filterPattern=pattern, **more)["events"]


def says(aws, *lines, **more):
    answer, error = aws.invoke("f", {"lines": lines, **more})
    assert error is None
    return answer


def test_a_line_has_its_workers_stream_and_the_instant_at_which_it_was_written(aws):
    aws.call("logs", "create_log_group", logGroupName=GROUP)
    aws.function("f", SAYS, Timeout=300)
    aws.hold()

    stream = says(aws, {"message": "asked", "detail": {"in_reply_to": "e-1"}}, pause=60)

    [asked] = found(
        aws, '{ $.message = "asked" && ($.detail.in_reply_to = "e-2" || $.detail.in_reply_to = "e-1") }'
    )
    [later] = found(aws, '{ $.message = "later" }')
    assert json.loads(asked["message"])["detail"] == {"in_reply_to": "e-1"}
    assert asked["logStreamName"] == later["logStreamName"] == stream
    assert later["timestamp"] - asked["timestamp"] == 60_000
    assert found(aws, '{ $.message = "*" }', startTime=later["timestamp"]) == [later]
    assert [line["message"].split()[0] for line in found(aws, "RequestId")] == ["START", "END", "REPORT"]


def test_lambda_keeps_no_log_without_the_group_or_without_the_right(aws):
    aws.function("f", SAYS)
    says(aws, {"message": "too early"})
    aws.call("logs", "create_log_group", logGroupName=GROUP)
    aws.call("iam", "delete_role_policy", RoleName="f-role", PolicyName="may")
    aws.call("lambda", "update_function_configuration", FunctionName="f", Timeout=30)
    says(aws, {"message": "not allowed"})

    assert found(aws) == []


def test_a_group_keeps_its_newest_lines_only(aws, monkeypatch):
    monkeypatch.setattr(log_groups, "MOST_LINES", 5)
    aws.call("logs", "create_log_group", logGroupName=GROUP)
    aws.function("f", SAYS)

    says(aws, *({"message": "line", "number": number} for number in range(20)))

    assert [json.loads(line["message"])["number"] for line in found(aws, '{ $.message = "line" }')][-1] == 19
    assert len(found(aws)) == 5


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ('{ $.a = "x" }', True),
        ('{$.a="x"&&$.b.c=1}', True),
        ('{ $.a = "y" || $.a = "x" && $.b.c = 1.0 }', True),
        ('{ ($.a = "y" || $.a = "x") && $.b.c = 2 }', False),
        ('{ $.a = "x*" && $.t = "a \\"b\\"" }', True),
        ('{ $.b = "x" }', False),
        ('{ $.a.c = "x" }', False),
        ('{ $.missing = "x" }', False),
        ('"x" c', True),
        ("x absent", False),
        ("", True),
    ],
)
def test_a_pattern_fits_a_line(pattern: str, fits: bool):
    assert compiled(pattern)(json.dumps({"a": "x", "b": {"c": 1}, "t": 'a "b"'})) is fits


def test_a_line_that_is_no_json_fits_no_json_pattern():
    asked = compiled('{ $.message = "asked" }')
    assert not asked('"message" asked')
    assert not asked('{"message": "asked"')


UNKNOWN = (
    *('{ $.a != "x" }', "{ $.a IS NULL }", '{ $.a[0] = "x" }', '{ $.a = "x"', '{ $.a = "x" && }'),
    *("?a", "[a, b]", "%a%", "-a"),
)


def test_a_pattern_that_is_not_known_is_refused(aws):
    aws.call("logs", "create_log_group", logGroupName=GROUP)
    for pattern in UNKNOWN:
        with pytest.raises(ClientError, match="Invalid filter pattern"):
            found(aws, pattern)
