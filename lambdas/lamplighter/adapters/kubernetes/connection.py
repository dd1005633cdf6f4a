"""Speaks to one cluster's API server: finds it through EKS, signs in as this process's role, bounds waits.

Owns the transport and what a status means for the caller; what is read or written its neighbours decide.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.kubernetes.authority import trusting
from lamplighter.adapters.kubernetes.token import Token
from lamplighter.clock import monotonic, sleep
from lamplighter.errors import OutsideFailed

CONNECT_SECONDS = 3.0
READ_SECONDS = 8.0
# A new access entry takes seconds to act (to verify on the first real deploy).
NEW_ACCESS_ENTRY_SECONDS = 60.0
ASK_AGAIN_SECONDS = 2.0

UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT, TOO_MANY = 401, 403, 404, 409, 429

MERGE_PATCH = "application/merge-patch+json"

Object = dict[str, Any]


@dataclass(frozen=True)
class KubernetesResponse:
    """What the API server said: its status, its text, and its own clock."""

    status: int
    text: str
    server_time: datetime | None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300  # noqa: PLR2004 - HTTP's own classes

    @property
    def message(self) -> str:
        try:
            said = json.loads(self.text).get("message")
        except (ValueError, AttributeError):
            said = None
        return str(said or self.text[:200] or self.status)


class Forbidden(OutsideFailed):
    """The cluster's RBAC does not let us: an older rbac.yaml, perhaps, where an administrator applied it."""


class BearerToken(Protocol):
    """Signs us in: a token that can be made anew."""

    def value(self) -> str:
        """The token to send now."""

    def forget(self) -> None:
        """The server did not accept it."""


class _NoDiscovery:
    """The dynamic client asks the server for all its resources first; we name our few paths ourselves."""

    def __init__(self, client: object, cache_file: object) -> None:
        del client, cache_file


class Connection:
    """One cluster's API server. Every call raises OutsideFailed where it does not answer within 10 s."""

    def __init__(self, endpoint: str, ca_pem: str, token: BearerToken) -> None:
        # Imported here: it costs more than all else in this function, and most refusals never need it.
        from kubernetes.client import ApiClient, Configuration  # noqa: PLC0415
        from kubernetes.dynamic import DynamicClient  # noqa: PLC0415
        from urllib3.util import Retry  # noqa: PLC0415

        self.endpoint = endpoint
        self._token = token
        self._configuration = Configuration(
            host=endpoint,
            # One more try at connecting, none once a request was sent: it may have acted.
            retries=Retry(total=1, connect=1, read=0, status=0, other=0, respect_retry_after_header=False),
        )
        api = ApiClient(self._configuration)
        # The client's own configuration takes no context (kubernetes-client/python #2394): its pools do, and are
        # made at the first request.
        api.rest_client.pool_manager.connection_pool_kw["ssl_context"] = trusting(ca_pem)
        self._client = DynamicClient(api, discoverer=_NoDiscovery)  # type: ignore[no-untyped-call]
        self.server_time: datetime | None = None
        self.patience = NEW_ACCESS_ENTRY_SECONDS
        """Seconds for which a 401 is asked again; a person at a prompt has none."""
        self.read_seconds = READ_SECONDS
        """For an answer; a person at a prompt has less."""

    def get(self, path: str, **query: str) -> Object:
        """The object or list at `path`; an empty one where it does not exist."""
        answer = self.ask("GET", path, query=query)
        if answer.status == NOT_FOUND:
            return {}
        return self._object(answer, "GET", path)

    def list(self, path: str, **query: str) -> list[Object]:
        """Every item under `path`, page by page."""
        found: list[Object] = []
        more: dict[str, str] = {}
        while True:
            page = self.get(path, limit="500", **query, **more)
            found += page.get("items") or []
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return found
            more = {"continue": token}

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str | None = None,
    ) -> KubernetesResponse:
        """One request; a refusal comes back as its status, only an unreachable or unwilling server raises."""
        give_up = monotonic() + self.patience
        while True:
            answer = self._once(method, path, body, query or {}, content_type)
            if answer.status != UNAUTHORIZED:
                break
            if monotonic() >= give_up:
                tried = f"401 for {self.patience:.0f} s" if self.patience else "401"
                raise OutsideFailed(
                    f"{method} {path} on {self.endpoint}: the API server does not know the role that asks "
                    f"({tried}); has it an EKS access entry?"
                )
            self._token.forget()
            sleep(ASK_AGAIN_SECONDS)
        if answer.status == FORBIDDEN:
            raise Forbidden(
                f"{method} {path} on {self.endpoint}: {answer.message}; "
                "are the rules of `lamplighter adopt --rbac` applied to this cluster?"
            )
        return answer

    def expect(self, answer: KubernetesResponse, method: str, path: str) -> KubernetesResponse:
        """The same answer, or OutsideFailed with what the server said."""
        if not answer.ok:
            raise OutsideFailed(f"{method} {path} on {self.endpoint}: {answer.status} {answer.message}")
        return answer

    def _object(self, answer: KubernetesResponse, method: str, path: str) -> Object:
        self.expect(answer, method, path)
        parsed: Object = json.loads(answer.text)
        return parsed

    def _once(
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
                raise OutsideFailed(f"{method} {path} on {self.endpoint}: {error.reason}") from error
            raw = error.body or b""
            text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
            status, headers = int(error.status), error.headers or {}
        except (HTTPError, OSError) as error:
            raise OutsideFailed(
                f"{method} {path} on {self.endpoint}: no answer, tried to connect twice, "
                f"{CONNECT_SECONDS:.0f} s each ({error})"
            ) from error
        date = headers.get("Date")
        self.server_time = parsedate_to_datetime(date) if date else None
        return KubernetesResponse(status, text, self.server_time)


def connect(cluster: str) -> Connection:
    """A connection to the EKS cluster named `cluster`, as the role that this process runs with."""
    with outside("eks:DescribeCluster", cluster):
        found = client("eks").describe_cluster(name=cluster)["cluster"]
    if "endpoint" not in found:
        raise OutsideFailed(
            f"The cluster {cluster} has no endpoint yet: it is {found.get('status', 'unknown')}."
        )
    try:
        ca_pem = base64.b64decode(found["certificateAuthority"]["data"]).decode()
        return Connection(found["endpoint"], ca_pem, Token(cluster))
    except (KeyError, ValueError, OSError) as error:
        raise OutsideFailed(
            f"eks:DescribeCluster on {cluster} gives no certificate authority that can be read: {error}"
        ) from error
