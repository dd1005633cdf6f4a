"""Calls one cluster's API server: finds it through EKS, signs in as this process's role, and bounds waits.

It has the transport, and turns statuses into our errors. The modules beside it decide what is read or written.
"""

import base64
import json
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import Any

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.aws.cluster_authority import trusting
from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes import pod_answers
from lamplighter.adapters.kubernetes.token import BearerToken, Token
from lamplighter.clock import monotonic, sleep
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import Said, reason

CONNECT_SECONDS = 3.0
READ_SECONDS = 8.0
# A new access entry takes effect after seconds (to verify on the first real deploy).
NEW_ACCESS_ENTRY_SECONDS = 60.0
ASK_AGAIN_SECONDS = 2.0

UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT, TOO_MANY = 401, 403, 404, 409, 429

_DESCRIBE = "eks:DescribeCluster"
_CORE = "/api/v1/"
MERGE_PATCH = "application/merge-patch+json"
# What the API server's names, kinds and groups are written with. DELETE of a path whose name is empty deletes them all.
_PATH = re.compile(r"(/\w[\w.:-]*)+", re.ASCII)

Object = dict[str, Any]

#: Modules of the client import each other: in two threads at once, Python sees a deadlock and one import fails.
_IMPORTING = Lock()


@dataclass(frozen=True)
class KubernetesResponse:
    """A response of the API server: its status and its text."""

    status: int
    text: str

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300  # noqa: PLR2004 - HTTP's own classes

    @property
    def message(self) -> str:
        try:
            message = json.loads(self.text).get("message")
        except (ValueError, AttributeError):
            message = None
        return str(message or self.text[:200] or self.status)


class Forbidden(OutsideFailed):
    """The cluster's RBAC denies the call, perhaps by an older rbac.yaml that an administrator applied."""

    answered = True


class _NoDiscovery:
    """Replaces the dynamic client's discovery of all resources: we name our few paths ourselves."""

    def __init__(self, client: object, cache_file: object) -> None:
        del client, cache_file


@border
class Connection:
    """One cluster's API server. Every call raises OutsideFailed where the server does not answer within 10 s.

    `read_authority` reads the cluster's present authority, PEM: EKS can rotate it while a function lives.
    """

    def __init__(
        self,
        endpoint: str,
        ca_pem: str,
        token: BearerToken,
        read_authority: Callable[[], str] | None = None,
    ) -> None:
        # Imported here: the import is slow, and most refusals do not need it.
        with _IMPORTING:
            from kubernetes.client import ApiClient, Configuration  # noqa: PLC0415
            from kubernetes.dynamic import DynamicClient  # noqa: PLC0415
            from urllib3.util import Retry  # noqa: PLC0415

        self.endpoint = endpoint
        self._token = token
        self._configuration = Configuration(
            host=endpoint,
            # It connects twice at most, and never sends a request again, which may have taken effect.
            retries=Retry(total=1, connect=1, read=0, status=0, other=0, respect_retry_after_header=False),
        )
        api = ApiClient(self._configuration)
        self._pools = api.rest_client.pool_manager
        self._read_authority = read_authority
        self._trust(ca_pem)
        self._client = DynamicClient(api, discoverer=_NoDiscovery)  # type: ignore[no-untyped-call]
        self._date: str | None = None
        self.patience = NEW_ACCESS_ENTRY_SECONDS
        """Seconds for which a call is repeated after a 401; 0 for a person at a prompt."""
        self.read_seconds = READ_SECONDS
        """Seconds to wait for an answer; fewer for a person at a prompt."""

    def _trust(self, ca_pem: str) -> None:
        # The client's configuration takes no SSL context (kubernetes-client/python #2394). Its connection pools do,
        # and are made at the first request with another context.
        self._pools.connection_pool_kw["ssl_context"] = trusting(ca_pem)
        self._ca_pem = ca_pem

    def _trust_present_authority(self) -> bool:
        """Trust the authority that the cluster has now; False where it is the one that we trust."""
        ca_pem = self._read_authority() if self._read_authority else self._ca_pem
        if ca_pem == self._ca_pem:
            return False
        self._trust(ca_pem)
        return True

    @property
    def server_time(self) -> datetime | None:
        """The server's own time at its last answer."""
        return parsedate_to_datetime(self._date) if self._date else None

    def get(self, path: str, **query: str) -> Object:
        """The object or list at `path`; empty where it does not exist."""
        answer = self.ask("GET", path, query=query)
        if answer.status == NOT_FOUND:
            return {}
        return self._object(answer, "GET", path)

    def list(self, path: str, *, served: bool = False, **query: str) -> list[Object]:
        """Every item under `path`, page by page; none of a kind that the cluster lacks.

        A cluster has the kinds of the core, and with `served` this one: then a 404 is no list, and what nobody could
        read is not gone. Raises OutsideFailed.
        """
        items: list[Object] = []
        more: dict[str, str] = {}
        while True:
            page = self.get(path, limit="500", **query, **more)
            if not page and (served or path.startswith(_CORE)):
                raise self._failed("GET", path, str(NOT_FOUND))
            if not page:
                return items
            listed = page["items"]
            # A kind without objects has an empty list: the API server's store never leaves it null.
            if not isinstance(listed, list):
                raise self._failed("GET", path, reason("gpu.kubernetes.no-list"))
            items += listed
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return items
            more = {"continue": token}

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str | None = None,
        most: int | None = None,
    ) -> KubernetesResponse:
        """One request. A refusal is returned as its status; no answer, 401, 403 and a path with an odd name raise.

        With `most` it is a GET that a pod answers behind the API server: a 401 is final, and so many bytes are read.
        """
        if not _PATH.fullmatch(path):
            raise self._failed(method, path[:200], reason("gpu.kubernetes.odd-name"))
        give_up = monotonic() + (self.patience if most is None else 0)
        while True:
            if most is None:
                answer = self._once(method, path, body, query or {}, content_type)
            else:
                answer = self._of_a_pod(path, most)
            if answer.status != UNAUTHORIZED:
                break
            if monotonic() >= give_up:
                raise self._failed(method, path, reason("gpu.kubernetes.unknown-role"))
            self._token.forget()
            sleep(ASK_AGAIN_SECONDS)
        if answer.status == FORBIDDEN:
            raise self._failed(
                method, path, reason("gpu.kubernetes.forbidden", words=answer.message), Forbidden
            )
        return answer

    def _failed(
        self, method: str, path: str, why: Said, error: type[OutsideFailed] = OutsideFailed
    ) -> OutsideFailed:
        call = f"{method} {path}"
        failure = reason("gpu.kubernetes.failed", call=call, endpoint=self.endpoint, why=why)
        return error(failure, call, self.endpoint)

    def expect(self, answer: KubernetesResponse, method: str, path: str) -> KubernetesResponse:
        """The same response; OutsideFailed with the server's message where it is an error."""
        if not answer.ok:
            raise self._failed(method, path, f"{answer.status} {answer.message}")
        return answer

    def _object(self, answer: KubernetesResponse, method: str, path: str) -> Object:
        self.expect(answer, method, path)
        try:
            parsed = json.loads(answer.text)
        except (ValueError, RecursionError):
            parsed = None
        # An empty object is what `get` gives where nothing is there, so no answer may look like it.
        if not isinstance(parsed, dict) or not parsed:
            raise self._failed(method, path, reason("gpu.kubernetes.no-object", words=answer.text[:80]))
        return parsed

    def _once(
        self, method: str, path: str, body: Object | None, query: Mapping[str, str], content_type: str | None
    ) -> KubernetesResponse:
        trusted = self._ca_pem
        try:
            return self._send(method, path, body, query, content_type)
        except OutsideFailed as error:
            # The request was not sent, so it is safe to send it now. Another thread may have read the authority.
            if not _by_certificate(error) or (
                trusted == self._ca_pem and not self._trust_present_authority()
            ):
                raise
        return self._send(method, path, body, query, content_type)

    def _send(
        self, method: str, path: str, body: Object | None, query: Mapping[str, str], content_type: str | None
    ) -> KubernetesResponse:
        from kubernetes.client.exceptions import ApiException  # noqa: PLC0415
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        self._configuration.api_key = {"BearerToken": f"Bearer {self._token.value()}"}
        try:
            response = self._client.request(
                method,
                path,
                body=body,
                query_params=list(query.items()),
                content_type=content_type,
                serialize=False,
                _request_timeout=(CONNECT_SECONDS, self.read_seconds),
                header_params={"Accept": "application/json, */*"},
            )
            status, headers = int(response.status), response.headers
            text = response.data.decode("utf-8", "replace")
        except ApiException as error:
            if not error.status:
                raise self._failed(method, path, str(error.reason)) from error
            raw = error.body or b""
            text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
            status, headers = int(error.status), error.headers or {}
        except (HTTPError, OSError) as error:
            silent = reason("gpu.kubernetes.no-answer", seconds=int(CONNECT_SECONDS), words=str(error))
            raise self._failed(method, path, silent) from error
        self._date = headers.get("Date")
        return KubernetesResponse(status, text)

    def _of_a_pod(self, path: str, most: int) -> KubernetesResponse:
        address, token = self.endpoint + path, self._token.value()
        try:
            status, text = pod_answers.read(self._pools, address, token, most, self.read_seconds)
        except OSError as error:
            raise self._failed("GET", path, str(error)) from error
        return KubernetesResponse(status, text)


def _by_certificate(error: BaseException) -> bool:
    """Whether we refused the server's certificate. urllib3 keeps the cause in `reason`, and in an error's arguments."""
    causes: list[object] = [error.__cause__, getattr(error, "reason", None), *error.args]
    return isinstance(error, ssl.SSLCertVerificationError) or any(
        _by_certificate(cause) for cause in causes if isinstance(cause, BaseException)
    )


@border
def connect(cluster: str) -> Connection:
    """A connection to the EKS cluster named `cluster`, as the role that this process runs with."""
    try:
        endpoint, ca_pem = _address(cluster)
        return Connection(endpoint, ca_pem, Token(cluster), lambda: _address(cluster)[1])
    except (KeyError, ValueError, OSError) as error:
        unreadable = reason("gpu.kubernetes.no-authority", cluster=cluster, words=str(error))
        raise OutsideFailed(unreadable, _DESCRIBE, cluster) from error


def _address(cluster: str) -> tuple[str, str]:
    """The endpoint of a cluster and its authority, PEM, as EKS has them now."""
    with outside(_DESCRIBE, cluster):
        described = client("eks").describe_cluster(name=cluster)["cluster"]
    if "endpoint" not in described:
        status = str(described.get("status", "unknown"))
        raise OutsideFailed(
            reason("gpu.kubernetes.no-endpoint", cluster=cluster, status=status), _DESCRIBE, cluster
        )
    return described["endpoint"], base64.b64decode(described["certificateAuthority"]["data"]).decode()
