"""The event that Step Functions puts on the default bus when the status of an execution changes.

Source: EventBridge events reference, "AWS Step Functions events", and Step Functions developer guide, "Automating event
delivery with EventBridge": standard workflows send them; input and output of more than 248 KB together are left out.
"""

import json
from datetime import datetime

from local.aws.api.own_services import Document
from local.aws.stepfunctions.execution import Execution

_MOST = 248 * 1024
_IN, _OUT = {"included": True}, {"included": False}


def status_changed(execution: Execution) -> Document:
    """The entry for EventBridge, with the status that the execution has now."""
    document = execution.document()
    given, output = document["input"], document.get("output")
    fits = len(given.encode()) + len((output or "").encode()) <= _MOST
    details = _IN if fits else _OUT
    detail = {
        "executionArn": execution.arn,
        "stateMachineArn": execution.machine.arn,
        "name": execution.name,
        "status": document["status"],
        "startDate": _milliseconds(execution.started),
        "stopDate": _milliseconds(execution.ended),
        "input": given if fits else None,
        "output": output if fits else None,
        "inputDetails": details,
        "outputDetails": None if output is None else details,
        "error": document.get("error"),
        "cause": document.get("cause"),
    }
    return {
        "Source": "aws.states",
        "DetailType": "Step Functions Execution Status Change",
        "Resources": [execution.arn],
        "Detail": json.dumps(detail),
        "Time": execution.clock.time(),
    }


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)
