"""Lambda's own lines in the log of a function, in the format that the function asks for.

Text: https://docs.aws.amazon.com/lambda/latest/dg/python-logging.html
JSON: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html, and the records of
https://docs.aws.amazon.com/lambda/latest/dg/telemetry-schema-reference.html. At the usual level it has no line of an
invocation's end.
"""

import json
import math
from datetime import datetime

from local.aws.functions.worker import FunctionSpec

JSON = "JSON"


def start(spec: FunctionSpec, request_id: str, at: datetime) -> str:
    """The first line of an invocation."""
    if spec.log_format != JSON:
        return f"START RequestId: {request_id} Version: {spec.version}"
    return _event("platform.start", at, {"requestId": request_id, "version": spec.version})


def report(spec: FunctionSpec, request_id: str, took: float, init: float | None, at: datetime) -> str:
    """The last lines of an invocation, with its seconds; `init` is None where its worker was warm."""
    duration, billed = round(took * 1000, 2), math.ceil((took + (init or 0.0)) * 1000)
    if spec.log_format == JSON:
        started = {} if init is None else {"initDurationMs": round(init * 1000, 2)}
        metrics = {"durationMs": duration, "billedDurationMs": billed, "memorySizeMB": spec.memory, **started}
        record: dict[str, object] = {"requestId": request_id, "metrics": metrics, "status": "success"}
        return _event("platform.report", at, record)
    cold = "" if init is None else f" Init Duration: {init * 1000:.2f} ms"
    return (
        f"END RequestId: {request_id}\n"
        f"REPORT RequestId: {request_id} Duration: {duration:.2f} ms Billed Duration: {billed} ms"
        f" Memory Size: {spec.memory} MB{cold}"
    )


def _event(kind: str, at: datetime, record: dict[str, object]) -> str:
    time = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"time": time, "type": kind, "record": record})
