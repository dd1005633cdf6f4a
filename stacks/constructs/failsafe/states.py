"""States of the Amazon States Language as the rails write them: calls of AWS, values, choices.

A call is tried twice and waits for no answer longer than `ANSWERED_WITHIN`, because every rail has another way after
it, and one start of the machine must end before the next one comes.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import Aws

State = dict[str, object]

ANSWERED_WITHIN = 15
"""Seconds."""
AGAIN_AFTER = 2
"""Seconds between two tries."""
DATA_LIMIT = "States.DataLimitExceeded"
# States.ALL leaves it out, and has to stand alone.
ANYTHING = ([DATA_LIMIT], ["States.ALL"])


def call(
    integration: str,
    parameters: Mapping[str, object],
    following: str,
    comment: str,
    *,
    result: str | None = None,
    retries: int = 1,
) -> State:
    """A Task that calls a service, such as `aws-sdk:ec2:terminateInstances`. Its result goes to the path `result`."""
    again = {"IntervalSeconds": AGAIN_AFTER, "BackoffRate": 2, "MaxDelaySeconds": 10, "MaxAttempts": retries}
    return {
        "Type": "Task",
        "Comment": comment,
        "Resource": f"arn:{Aws.PARTITION}:states:::{integration}",
        "Parameters": dict(parameters),
        "TimeoutSeconds": ANSWERED_WITHIN,
        "Retry": [{"ErrorEquals": ["States.ALL"], **again}],
        "ResultPath": result,
        "Next": following,
    }


def past_errors(state: State, following: str, **named: str) -> State:
    """The state, which goes on to `following` after any error; by a name such as `EKS_422` to another one."""
    caught = [([name.replace("_", ".")], way) for name, way in named.items()]
    ways = [*caught, *((errors, following) for errors in ANYTHING)]
    return state | {
        "Catch": [{"ErrorEquals": errors, "ResultPath": "$.error", "Next": way} for errors, way in ways]
    }


def too_long(state: State, following: str) -> State:
    """The state, which goes on to `following` if its answer is longer than a state may carry."""
    return state | {"Catch": [{"ErrorEquals": [DATA_LIMIT], "ResultPath": "$.error", "Next": following}]}


def values(result: object, path: str, following: str) -> State:
    """A Pass that puts fixed values to a path."""
    return {"Type": "Pass", "Result": result, "ResultPath": path, "Next": following}


def choice(rules: Sequence[Mapping[str, object]], default: str, comment: str = "") -> State:
    """A Choice: the first rule that holds."""
    state: State = {"Type": "Choice", "Choices": list(rules), "Default": default}
    return state | ({"Comment": comment} if comment else {})


def is_text(path: str, value: str) -> dict[str, object]:
    """The test whether a path has this text."""
    return {"Variable": path, "StringEquals": value}


def is_true(path: str) -> dict[str, object]:
    """The test whether a path has `true`."""
    return {"Variable": path, "BooleanEquals": True}


def is_there(path: str) -> dict[str, object]:
    """The test whether there is something at a path."""
    return {"Variable": path, "IsPresent": True}


def both(*tests: Mapping[str, object]) -> dict[str, object]:
    """The test whether all of these hold; Step Functions stops at the first that does not."""
    return {"And": list(tests)}
