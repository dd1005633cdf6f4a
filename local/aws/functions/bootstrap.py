"""The program of a Lambda worker: loads one handler and serves invocations over the Runtime API.

Like AWS's own runtime client, it imports nothing of ours. It runs with the function's code and the packages of its
layers on its path (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html). worker_starter.py starts it.
"""

import contextlib
import http.client
import importlib
import json
import os
import signal
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import Any

Reply = tuple[int, http.client.HTTPMessage, bytes]
Handler = Callable[[Any, "Context"], Any]


class Context:
    """The context that AWS gives to a handler beside the event."""

    identity = None
    client_context = None

    def __init__(self, headers: http.client.HTTPMessage) -> None:
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.aws_request_id = headers["Lambda-Runtime-Aws-Request-Id"]
        self.invoked_function_arn = headers["Lambda-Runtime-Invoked-Function-Arn"]
        self._deadline = int(headers["Lambda-Runtime-Deadline-Ms"])

    def get_remaining_time_in_millis(self) -> int:
        return max(0, self._deadline - int(present() * 1000))


def present() -> float:
    """The lab's present instant as an epoch, if the environment names a clock."""
    clock = os.environ.get("LAMPLIGHTER_INSTANT")
    if clock is None:
        return time.time()
    with open(clock, "rb") as file:  # noqa: PTH123 (no pathlib on the way of every start)
        instant: int = struct.unpack("=q", file.read(8))[0]
    return instant / 1e9


class Api:
    """The Runtime API at the address that the environment names."""

    def __init__(self, address: str) -> None:
        host, _, prefix = address.partition("/")
        self._connection = http.client.HTTPConnection(host)
        self._prefix = f"/{prefix}/2018-06-01/runtime"

    def call(self, method: str, path: str, body: bytes | None = None) -> Reply:
        self._connection.request(method, self._prefix + path, body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        return response.status, response.headers, response.read()


def end_with_parent() -> None:
    """Ends this process group when the embedded cloud dies, which holds the other end of our standard input."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            os.read(0, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def description(error: Exception, request_id: str = "") -> bytes:
    frames = traceback.format_list(traceback.extract_tb(error.__traceback__)[1:])
    return json.dumps(
        {
            "errorMessage": str(error),
            "errorType": type(error).__name__,
            "requestId": request_id,
            "stackTrace": frames,
        }
    ).encode()


def plain(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def load(name: str) -> Handler:
    module, _, function = name.rpartition(".")
    handler: Handler = getattr(importlib.import_module(module.replace("/", ".")), function)
    return handler


def serve(api: Api, handler: Handler) -> None:
    while True:
        status, headers, body = api.call("GET", "/invocation/next")
        if status != http.client.OK:
            return
        context = Context(headers)
        try:
            text = json.dumps(handler(json.loads(body), context), default=plain, ensure_ascii=False)
            answer, path = text.encode(), "response"
        except Exception as error:  # noqa: BLE001 (whatever the handler raises is the invocation's answer)
            sys.stderr.write(f"[ERROR] {''.join(traceback.format_exception(error)[1:])}")
            answer, path = description(error, context.aws_request_id), "error"
        sys.stdout.flush()
        sys.stderr.flush()
        api.call("POST", f"/invocation/{context.aws_request_id}/{path}", answer)


def main(handler_name: str) -> int:
    """The exit status of the worker."""
    end_with_parent()
    api = Api(os.environ["AWS_LAMBDA_RUNTIME_API"])
    try:
        handler = load(handler_name)
    except Exception as error:  # noqa: BLE001 (an init error is reported, then the worker ends)
        traceback.print_exc()
        api.call("POST", "/init/error", description(error))
        return 1
    with contextlib.suppress(OSError, http.client.HTTPException):
        serve(api, handler)
    return 0
