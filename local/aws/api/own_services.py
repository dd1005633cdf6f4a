"""AWS services that the embedded cloud answers itself, behind moto's front.

The front has the routing, the request parsing, the IAM decision and the serialising by botocore's models. The service
object has the operations: its public methods are named like them, and take and return documents as boto3's client does.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from botocore import xform_name
from moto.core.exceptions import ServiceException
from moto.core.request import Request
from moto.core.responses import ActionResult, BaseResponse
from moto.core.utils import get_service_model
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from local.aws.api.paging import paged

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

#: A request, a reply or a part of one, as boto3 takes and gives it.
Document = dict[str, Any]


class AwsError(ServiceException):
    """An error as AWS returns it: `code` and a sentence. `members` are the members of its shape in the model."""

    def __init__(self, code: str, message: str, **members: object) -> None:
        super().__init__(code, message)
        for name, value in members.items():
            setattr(self, name, value)


def application(signing_name: str, *parts: object) -> "WSGIApplication":
    """The application that answers calls signed with `signing_name` (`states`, not `stepfunctions`).

    Each operation is answered by the one of `parts` that has a method for it.
    """
    front = _front(signing_name, parts)

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        return _answer(front, environ)(environ, start_response)

    return answer


#: Services whose signing name differs from boto3's name.
BOTO3_NAMES = {"states": "stepfunctions", "servicequotas": "service-quotas"}


def _front(signing_name: str, parts: tuple[object, ...]) -> type[BaseResponse]:
    name = BOTO3_NAMES.get(signing_name, signing_name)

    class Front(BaseResponse):
        def __init__(self) -> None:
            super().__init__(service_name=name)
            self.automated_parameter_parsing = True

    for called in get_service_model(name).operation_names:
        operation = xform_name(called)
        for part in parts:
            answer = getattr(part, operation, None)
            if callable(answer):
                setattr(Front, operation, _method(name, called, answer))
    return Front


def _method(
    service: str, operation: str, answer: Callable[[Document], Document | None]
) -> Callable[[BaseResponse], ActionResult]:
    def method(self: BaseResponse) -> ActionResult:
        request = dict(self.params)
        reply = answer(dict(request))
        return ActionResult(reply and paged(service, operation, request, reply))

    return method


def _answer(front: type[BaseResponse], environ: "WSGIEnvironment") -> Response:
    request = Request(environ)
    request.from_wsgi_server = True
    try:
        status, headers, body = front.dispatch(request)
    except NotImplementedError as missing:
        return Response(f'{{"__type":"UnknownOperationException","message":"{missing}"}}', 501)
    except HTTPException as refusal:
        return refusal.get_response()
    return Response(
        body, int(status), {name: str(value) for name, value in headers.items() if name != "status"}
    )
