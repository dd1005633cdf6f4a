"""Whatever AWS gives a page at a time is read to its end: our calls, compared with botocore's paginator data."""

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.exceptions import UnknownServiceError

from local.aws.api.paging import paged
from tests.checkout import ROOT

CODE = ("lambdas", "cli", "stacks")
#: boto3's name of a service where an adapter's type for it is called otherwise.
SERVICES = (
    "autoscaling", "cloudformation", "cloudtrail", "cloudwatch", "dynamodb", "dynamodbstreams", "ec2", "eks", "events",
    "iam", "lambda", "logs", "pricing", "s3", "scheduler", "secretsmanager", "service-quotas", "sns", "sqs", "ssm",
    "stepfunctions", "sts",
)  # fmt: skip
#: What names the very things that are asked for: there are no more of them than names.
NAMED = {
    "AutoScalingGroupNames",
    "CapacityReservationIds",
    "GroupIds",
    "InstanceIds",
    "StackName",
    "SubnetIds",
    "Versions",
}
#: What reads page after page by itself, or a few of them only.
BY_HAND = {
    (
        "lambdas/lamplighter/adapters/capacity/node_group/autoscaling.py",
        "describe_scaling_activities",
    ): "the newest come first",
    ("lambdas/lamplighter/adapters/diagnosis/aws.py", "describe_scaling_activities"): "the newest come first",
    ("lambdas/lamplighter/adapters/aws/ledger/table.py", "query"): "LastEvaluatedKey is followed",
    (
        "lambdas/lamplighter/adapters/aws/workflows.py",
        "get_execution_history",
    ): "the last event alone is asked for",
}


def paginated() -> Mapping[str, set[str]]:
    """By method of a client the parameters that ask for the next page, of all services that we call."""
    loader = botocore.session.get_session().get_component("data_loader")
    found: dict[str, set[str]] = {}
    for service in SERVICES:
        try:
            rules = loader.load_service_model(service, "paginators-1")["pagination"]
        except UnknownServiceError:
            continue
        for operation, rule in rules.items():
            tokens = rule["input_token"]
            found.setdefault(xform_name(operation), set()).update(
                [tokens] if isinstance(tokens, str) else tokens
            )
    return found


def calls() -> Iterator[tuple[str, int, str, set[str]]]:
    """Every call of a method that has a paginator, by its name: file, line, method, parameters."""
    known = paginated()
    for file in sorted(path for root in CODE for path in (ROOT / root).rglob("*.py")):
        path = str(file.relative_to(ROOT))
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in known
                and _is_clients(node.func.value)
            ):
                yield path, node.lineno, node.func.attr, {str(given.arg) for given in node.keywords}


def _is_clients(owner: ast.expr) -> bool:
    """The ledger's own table has methods of DynamoDB's names."""
    return not (isinstance(owner, ast.Attribute) and owner.attr in {"_table", "table"})


def test_no_call_of_ours_is_content_with_the_first_page() -> None:
    first_page_only = [
        f"{path}:{line} {method}: use get_paginator"
        for path, line, method, given in calls()
        if not given & NAMED and (path, method) not in BY_HAND
    ]

    assert first_page_only == []


def test_what_is_paged_by_hand_still_is() -> None:
    assert {(path, method) for path, _, method, _ in calls()} >= set(BY_HAND)


def test_the_embedded_cloud_gives_pages_as_botocore_reads_them() -> None:
    everything: dict[str, Any] = {"updateIds": [str(number) for number in range(250)]}
    found, request, pages = list[str](), dict[str, Any](), 0

    while True:
        reply = paged("eks", "ListUpdates", request, everything)
        found, pages = [*found, *reply["updateIds"]], pages + 1
        if "nextToken" not in reply:
            break
        request = {"nextToken": reply["nextToken"]}

    assert (found, pages) == (everything["updateIds"], 3)
    assert len(paged("eks", "ListUpdates", {"maxResults": 7}, everything)["updateIds"]) == 7
