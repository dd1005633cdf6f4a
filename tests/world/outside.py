"""The border between our code and the world: clients as boto3 makes them, and failures of a call.

Every outside call of our code passes `Border.cross`. A service is a class whose public methods are its operations, with
boto3's names.
"""

import functools
import inspect
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, ClassVar, Protocol

from botocore.exceptions import ClientError, ReadTimeoutError

REGION, ACCOUNT = "ap-northeast-2", "123456789012"


class NotInTheWorld(BaseException):
    """A call that the world does not know yet. None of our code catches it, so a test fails with its name."""


class Died(BaseException):
    """The function's process died; its next actions never happen."""


class NoSuchBucket(ClientError):
    """S3's error by name."""


class Passage(Protocol):
    """What the world does with a call: it acts before or after a failure."""

    def __call__(
        self, service: str, operation: str, act: Callable[[], Any], given: Callable[[], str] = str, /
    ) -> Any: ...


def refused(code: str, message: str, operation: str, status: int = 400, **more: Any) -> ClientError:
    """An error as botocore raises it."""
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "world"},
        **more,
    }
    return ClientError(response, operation)


def no_answer() -> ReadTimeoutError:
    """The error of botocore after its last try."""
    return ReadTimeoutError(endpoint_url="https://aws.world")


class Client:
    """The result of `boto3.client`: operations by name, paginators, the exceptions and the region."""

    exceptions = SimpleNamespace(ClientError=ClientError, NoSuchBucket=NoSuchBucket)
    meta = SimpleNamespace(region_name=REGION)
    listeners: ClassVar[list[Callable[[str, str, Any, Any], None]]] = []
    """Called for every answered call: service, operation, parameters, answer."""

    def __init__(self, service: str, backend: object, cross: Passage) -> None:
        self._service, self._backend, self._cross = service, backend, cross

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        if operation.startswith("__"):
            raise AttributeError(operation)
        does = getattr(self._backend, operation, None)
        if does is None or operation.startswith("_"):
            raise NotInTheWorld(f"the world has no {self._service}.{operation} yet: add it to tests/world")

        known = _parameters(getattr(does, "__func__", does))

        def call(**given: Any) -> Any:
            if known is not None and not given.keys() <= known:
                strange = ", ".join(sorted(given.keys() - known))
                raise NotInTheWorld(
                    f"the world's {self._service}.{operation} does not know {strange} yet: add it to tests/world"
                )
            answer = self._cross(
                self._service, operation, lambda: does(**given), lambda: json.dumps(given, default=str)
            )
            for listener in self.listeners:
                listener(self._service, operation, given, answer)
            return answer

        self.__dict__[operation] = call
        return call

    def generate_presigned_url(self, operation: str, **given: Any) -> str:
        """It is computed here: nobody is called."""
        return f"https://{self._service}.world/{operation}/{given['Params']['Key']}"

    def get_paginator(self, operation: str) -> Any:
        """One page: our labs need no more."""
        call = getattr(self, operation)

        def paginate(**given: Any) -> Iterator[Any]:
            yield call(**given)

        return SimpleNamespace(paginate=paginate)


@functools.cache
def _parameters(does: Callable[..., Any]) -> frozenset[str] | None:
    parameters = inspect.signature(does).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return None
    return frozenset(parameters)
