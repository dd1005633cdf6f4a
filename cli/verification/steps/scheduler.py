"""Creates the schedules of a throw-away stack: EventBridge Scheduler may not know the stack's new role yet.

Each calls AWS by a universal target, with no code. CloudFormation may fail the stack at the first refusal.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from cli.verification.account import DENIED, Account
from cli.verification.outcome import Differs, Unfit
from cli.verification.steps import throwaway
from lamplighter.adapters.aws.calls import error_code
from lamplighter.errors import OutsideFailed

KNOWN_WITHIN = timedelta(minutes=2)
UNKNOWN_ROLE = "must allow AWS EventBridge Scheduler to assume the role"
_UNIVERSAL = "arn:aws:scheduler:::aws-sdk:"


def create(
    account: Account, role: str, at: datetime, calls: Sequence[tuple[str, Mapping[str, object]]]
) -> None:
    """Create a schedule for each call. Raises OutsideFailed where Scheduler does not know the role in two minutes."""
    for number, (call, parameters) in enumerate(calls):
        request = {
            "Name": f"{throwaway.STACK}-{number}",
            "GroupName": throwaway.STACK,
            "ScheduleExpression": f"at({at:%Y-%m-%dT%H:%M:%S})",
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {"Arn": f"{_UNIVERSAL}{call}", "RoleArn": role, "Input": json.dumps(parameters)},
        }
        account.until("Scheduler has the schedule", KNOWN_WITHIN, lambda: _created(account, request))  # noqa: B023


def _created(account: Account, request: Mapping[str, object]) -> bool:
    """True; a refusal because of the role may be asked again, and others may not."""
    try:
        # A conflict: the answer to an earlier attempt was lost.
        account.attempt({"ConflictException"}, "scheduler", "create_schedule", throwaway.STACK, **request)
    except OutsideFailed as error:
        refusal = str(error)
        if any(words in refusal for words in DENIED):
            raise Unfit(f"the caller may not make a schedule: {refusal}") from error
        code = error_code(error.__cause__) if isinstance(error.__cause__, Exception) else ""
        if code == "ValidationException" and UNKNOWN_ROLE not in refusal:
            raise Differs(refusal) from error
        raise
    return True
