"""Sends commands to the lab's HTTP address: a POST that is signed with the caller's AWS credentials.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-access-control-iam.html
"""

import json
import random
from collections.abc import Mapping

from lamplighter import clock
from lamplighter.adapters.aws.calls import CONNECT_SECONDS, outside
from lamplighter.adapters.border import border
from lamplighter.errors import BadInput, OutsideFailed, Refused, TryLater
from lamplighter.reasons.reason import reason

SERVICE = "execute-api"
READ_SECONDS = 30
"""API Gateway waits for a function as long."""
ATTEMPTS = 2
PATIENCE_SECONDS = 60
AGAIN_SECONDS = 1, 3
"""Before a retry of a command that was throttled, so no function got it: at random, so that a class does not ask again
all at once. The address takes one a second, so each of thirty gets in (stacks/constructs/http/throttle.py)."""
ACCEPTED, BAD, FORBIDDEN, MANY, NO_ROOM = 202, 400, 403, 429, 503
FAILED_FROM = 500


@border
class CommandsApi:
    """The address of one lab, with the credentials that any SDK program would find here."""

    def __init__(self, address: str, region: str) -> None:
        self._address = address
        self._region = region

    def send(self, path: str, document: Mapping[str, object]) -> Mapping[str, object]:
        """The answer to a command at `path`. Without an answer it is sent again, which is safe by its token.

        Raises BadInput and Refused with the lab's own line, OutsideFailed and TryLater else.
        """
        call, about = f"{SERVICE}:Invoke", f"POST /{path}"
        body = json.dumps(document).encode()
        with outside(call, about):
            code, said = self._patiently(f"{self._address}/{path}", body)
        problem = said.get("problem")
        if code == ACCEPTED:
            return said
        if code == BAD and problem:
            raise BadInput(str(problem))
        if code == FORBIDDEN and problem:
            raise Refused(reason("aws.lab.refused", problem=str(problem)))
        if code == FORBIDDEN:
            raise OutsideFailed(
                reason("aws.lab.denied-to-users", call=call, subject=about)
                if path.startswith("lab/")
                else reason("aws.lab.denied", call=call, subject=about),
                call,
                about,
            )
        if code in {MANY, NO_ROOM}:
            raise TryLater(reason("aws.lab.too-many", call=call, subject=about))
        why = problem or said.get("message")
        raise OutsideFailed(
            reason(
                "aws.lab.failed",
                call=call,
                subject=about,
                status=code,
                error=str(why) if why else reason("aws.lab.no-reason"),
            ),
            call,
            about,
        )

    def _patiently(self, url: str, body: bytes) -> tuple[int, Mapping[str, object]]:
        """As `_asked`, with retries while requests are throttled."""
        waited = 0.0
        while True:
            code, said = self._asked(url, body)
            if code not in {MANY, NO_ROOM} or waited >= PATIENCE_SECONDS:
                return code, said
            seconds = random.uniform(*AGAIN_SECONDS)  # noqa: S311 -- no secret
            clock.sleep(seconds)
            waited += seconds

    def _asked(self, url: str, body: bytes) -> tuple[int, Mapping[str, object]]:
        from botocore.exceptions import HTTPClientError  # noqa: PLC0415 -- on first use

        for attempt in range(1, ATTEMPTS + 1):
            try:
                code, said = self._posted(url, body)
            except HTTPClientError:
                if attempt == ATTEMPTS:
                    raise
                continue
            if code < FAILED_FROM or code == NO_ROOM or attempt == ATTEMPTS:
                break
        return code, said

    def _posted(self, url: str, body: bytes) -> tuple[int, Mapping[str, object]]:
        import boto3  # noqa: PLC0415 -- on first use
        from botocore.auth import SigV4Auth  # noqa: PLC0415
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415
        from botocore.exceptions import NoCredentialsError  # noqa: PLC0415
        from botocore.httpsession import URLLib3Session  # noqa: PLC0415
        from botocore.utils import get_environ_proxies  # noqa: PLC0415

        session = boto3.Session()
        credentials = session.get_credentials()
        if credentials is None:
            raise NoCredentialsError
        request = AWSRequest("POST", url, {"Content-Type": "application/json"}, body)
        SigV4Auth(credentials.get_frozen_credentials(), SERVICE, self._region).add_auth(request)
        bundle = session._session.get_config_variable("ca_bundle")  # noqa: SLF001 -- where every client has it from
        http = URLLib3Session(
            verify=bundle or True,
            proxies=get_environ_proxies(url),
            timeout=(CONNECT_SECONDS, READ_SECONDS),  # type: ignore[arg-type] # its stubs know no pair
        )
        try:
            answer = http.send(request.prepare())
            return answer.status_code, _read(answer.content)
        finally:
            http.close()


def _read(content: bytes) -> Mapping[str, object]:
    try:
        said = json.loads(content)
    except ValueError:
        said = None
    return said if isinstance(said, dict) else {"message": repr(content[:80])}
