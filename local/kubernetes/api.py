"""A small client of the Kubernetes API for the simulator: plain objects in, plain objects out.

The official client would cost half a second of import, and a thread pool for each client. This client is one pool of
connections, five verbs and a watch that never gives up. The product has its own adapter and does not use it.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from local.hang import HANG_SECONDS
from local.kubernetes.certificates import trusting

Object = dict[str, Any]
"""A Kubernetes object as its JSON."""

_JSON = "application/json"
_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_APPLY = "application/apply-patch+yaml"
_NOT_FOUND = 404
_CONFLICT = 409
_GONE = 410
_BAD = 400
#: Seconds between two tries to follow a collection that does not exist, or not yet.
_RETRY_SECONDS = 0.3


class ApiError(Exception):
    """The API server refused: `status` is the HTTP status, the text is its reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{status}: {reason}")
        self.status = status


@dataclass(frozen=True)
class Answer:
    """What the API server answered, whether it refused or not."""

    status: int
    text: str
    body: bytes


class KubernetesApi:
    """A client with a bearer token, or an anonymous one. Threads may share it. `authority` is a file, or a PEM."""

    def __init__(self, endpoint: str, authority: Path | str, *, token: str | None = None) -> None:
        self._endpoint = endpoint
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._pool = urllib3.PoolManager(
            maxsize=16,
            retries=False,
            timeout=urllib3.Timeout(connect=HANG_SECONDS, read=HANG_SECONDS),
            ssl_context=trusting(authority),
        )
        self._watches: set[urllib3.BaseHTTPResponse] = set()
        #: Called after every successful write, with its path and the answer.
        self.written: Callable[[str, Object], None] = lambda *_: None

    @property
    def endpoint(self) -> str:
        """The address of the API server."""
        return self._endpoint

    def request(self, method: str, path: str, body: Object | None = None, kind: str = _JSON) -> Object:
        """One call. Raises ApiError for a status of 400 and above."""
        answer = self.send(method, path, None if body is None else json.dumps(body), kind)
        if answer.status >= _BAD:
            raise ApiError(answer.status, _reason(answer.body))
        document: Object = json.loads(answer.body)
        if method != "GET":
            self.written(path.partition("?")[0], document)
        return document

    def send(self, method: str, path: str, body: str | None = None, kind: str = _JSON) -> Answer:
        """One call, with a body that is text already."""
        answer = self._pool.request(
            method, self._endpoint + path, body=body, headers={**self._headers, "Content-Type": kind}
        )
        return Answer(answer.status, answer.reason or "", answer.data)

    def text(self, path: str) -> str:
        """GET of something that is not an object, such as a pod's log."""
        answer = self._pool.request("GET", self._endpoint + path, headers=self._headers)
        if answer.status >= _BAD:
            raise ApiError(answer.status, _reason(answer.data))
        return answer.data.decode()

    def is_there(self, path: str) -> bool:
        """Whether a GET succeeds; False also when no server answers yet."""
        try:
            self.text(path)
        except (ApiError, urllib3.exceptions.HTTPError):
            return False
        return True

    def get(self, path: str) -> Object:
        return self.request("GET", path)

    def find(self, path: str) -> Object | None:
        """The object, or None."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def create(self, path: str, body: Object) -> Object | None:
        """Creates an object in the collection `path`; None if it exists already."""
        try:
            return self.request("POST", path, body)
        except ApiError as error:
            if error.status == _CONFLICT:
                return None
            raise

    def apply(self, path: str, body: Object, manager: str) -> Object:
        """Server-side apply. It takes over fields that others own."""
        return self.request("PATCH", f"{path}?fieldManager={manager}&force=true", body, _APPLY)

    def merge(self, path: str, body: Object) -> Object | None:
        """Merge patch; None if the object does not exist."""
        return self._patch(path, body, _MERGE)

    def amend(self, path: str, body: Object) -> Object | None:
        """Strategic merge patch (lists merge by key); None if the object does not exist."""
        return self._patch(path, body, _STRATEGIC)

    def delete(self, path: str, body: Object | None = None) -> None:
        """Deletes an object. An object that is gone, or was replaced by another of its name, is no error."""
        try:
            self.request("DELETE", path, body)
        except ApiError as error:
            if error.status not in (_NOT_FOUND, _CONFLICT):
                raise

    def follow(
        self,
        path: str,
        seen: Callable[[str, Object], None],
        stop: threading.Event,
        reached: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Calls `seen(type, object)` for everything in the collection `path` and every change, until `stop`.

        It calls `reached(version)` whenever everything up to a resource version was seen. Types are those of a watch:
        ADDED, MODIFIED, DELETED. After a broken connection every present object is ADDED again, so `seen` may get an
        object twice.
        """
        known: dict[str, Object] = {}

        def note(change: str, item: Object) -> None:
            if change == "DELETED":
                known.pop(item["metadata"]["uid"], None)
            else:
                known[item["metadata"]["uid"]] = item
            seen(change, item)

        while not stop.is_set():
            try:
                listing = self.get(path)
                present = {item["metadata"]["uid"] for item in listing["items"]}
                for gone in [item for uid, item in known.items() if uid not in present]:
                    note("DELETED", gone)
                for item in listing["items"]:
                    note("ADDED", item)
                version = listing["metadata"]["resourceVersion"]
                reached(version)
                self._watch(path, version, note, stop, reached)
            except (ApiError, urllib3.exceptions.HTTPError, ValueError):
                # ValueError: hang_up ends TLS under a reader, whose last line is then an incomplete piece.
                stop.wait(_RETRY_SECONDS)

    def hang_up(self) -> None:
        """Ends every watch, so that the followers check their `stop` at once."""
        for answer in list(self._watches):
            # A watch that the server has ended has no connection any more.
            with suppress(ValueError, RuntimeError, OSError):
                answer.shutdown()

    def _watch(
        self,
        path: str,
        version: str,
        seen: Callable[[str, Object], None],
        stop: threading.Event,
        reached: Callable[[str], None],
    ) -> None:
        while not stop.is_set():
            answer = self._pool.request(
                "GET",
                f"{self._endpoint}{path}?watch=true&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=300",
                headers=self._headers,
                preload_content=False,
                timeout=urllib3.Timeout(connect=HANG_SECONDS, read=330),
            )
            self._watches.add(answer)
            try:
                if answer.status >= _BAD:
                    raise ApiError(answer.status, _reason(answer.data))
                for line in _lines(answer):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise ApiError(_GONE, str(event["object"].get("message")))
                    version = event["object"]["metadata"]["resourceVersion"]
                    if stop.is_set():
                        return
                    if event["type"] != "BOOKMARK":
                        seen(event["type"], event["object"])
                    reached(version)
            finally:
                self._watches.discard(answer)
                answer.close()

    def _patch(self, path: str, body: Object, kind: str) -> Object | None:
        try:
            return self.request("PATCH", path, body, kind)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise


def _lines(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in answer.stream(65536):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def _reason(body: bytes) -> str:
    try:
        return str(json.loads(body).get("message", ""))
    except ValueError:
        return body[:200].decode(errors="replace")
