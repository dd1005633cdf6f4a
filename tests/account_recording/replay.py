"""Makes the calls of a recording on an embedded cloud, and says where its answers differ from those of AWS.

A recording is a file of `lamplighter verify --record DIR`. It has each call once for as long as its answer stayed the
same, so a call that changes nothing is made again until its answer agrees. Ids, names and instants are only compared by
their type. To replay a recording of an account: `python -m tests.account_recording DIR`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from cli.verification.recording import ACCOUNT

#: The steps that need no lab, and name no instant.
STEPS = ("first-deploy", "bus")
#: Virtual seconds between two tries of a call, and after which its answer counts as another one.
EVERY_SECONDS, WITHIN_SECONDS = 5.0, 900.0
#: Calls that may be made twice.
_AGAIN = re.compile(r"describe_|get_|list_|put_events")
_WORD = re.compile(r"[A-Z]+(?:_[A-Z]+)*")
#: States that pass. A cloud may be faster than AWS.
_PASSES = re.compile(r"CREATING|DELETING|[A-Z_]*_IN_PROGRESS")

Call = Callable[[str, str, Mapping[str, Any]], Mapping[str, Any]]


def replay(recording: Path, call: Call, account: str, pause: Callable[[float], None]) -> list[str]:
    """The differences, each with its line. `call` makes one call by boto3's names."""
    found: list[str] = []
    for number, line in enumerate(recording.read_text("utf-8").splitlines(), 1):
        # The recording has another account's number instead of its own.
        recorded = json.loads(line.replace(ACCOUNT, account))
        operation = re.sub(r"(?<!^)(?=[A-Z])", "_", recorded["operation"]).lower()

        def ask(recorded: Any = recorded, operation: str = operation) -> list[str]:
            answer = _answer(call, recorded["service"], operation, recorded["request"])
            return list(differences(recorded["answer"], answer))

        left, waited = ask(), 0.0
        while left and waited < WITHIN_SECONDS and _AGAIN.match(operation):
            pause(EVERY_SECONDS)
            left, waited = ask(), waited + EVERY_SECONDS
        found += [f"{recording.name}:{number}: {recorded['operation']}: {each}" for each in left]
    return found


def _answer(call: Call, service: str, operation: str, request: Mapping[str, Any]) -> Any:
    try:
        answer = call(service, operation, request)
    except ClientError as error:
        answer = {"Error": error.response["Error"]}
    return {key: value for key, value in answer.items() if key != "ResponseMetadata"}


def differences(recorded: Any, answered: Any, at: str = "the answer") -> Iterator[str]:
    """Where an answer has other keys, types, error codes or words in capitals than the recorded one."""
    if isinstance(recorded, dict) and isinstance(answered, Mapping):
        yield from _of_documents(recorded, answered, at)
    elif isinstance(recorded, list) and isinstance(answered, list):
        if recorded and not answered:
            yield f"AWS has something in {at}"
        for one, other in zip(recorded[:1], answered[:1], strict=False):
            yield from differences(one, other, f"{at}[]")
    elif isinstance(recorded, str) and _WORD.fullmatch(recorded):
        if answered != recorded and not _PASSES.fullmatch(recorded):
            yield f"AWS says {recorded} in {at}, the embedded cloud {answered}"
    elif type(recorded) is not type(str(answered) if isinstance(answered, date) else answered):
        yield f"{at} is {type(recorded).__name__} on AWS, here {type(answered).__name__}"


def _of_documents(recorded: Mapping[str, Any], answered: Mapping[str, Any], at: str) -> Iterator[str]:
    codes = [each.get("Error", {}).get("Code", "no error") for each in (recorded, answered)]
    if codes[0] != codes[1]:
        yield f"AWS answered {codes[0]}, the embedded cloud {codes[1]}"
    elif "Error" not in recorded:
        yield from (f"AWS has {at}.{key}" for key in sorted(set(recorded) - set(answered)))
        for key in sorted(set(recorded) & set(answered)):
            yield from differences(recorded[key], answered[key], f"{at}.{key}")
