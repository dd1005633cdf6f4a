"""What moto works out anew for every call and never changes: worked out once.

A call to a table was twice as dear without. moto's backends are global to the process, and so is this.
"""

import uuid
from typing import Any
from weakref import WeakKeyDictionary

import moto.core.responses as moto_responses
from moto.core.base_backend import BackendDict
from moto.core.utils import method_names_from_class

_names: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()
_plain_account = BackendDict.__getitem__
_plain_reset = BackendDict.reset
_noted: set[int] = set()


def work_out_once() -> None:
    """Take moto's seams; idempotent."""
    moto_responses.method_names_from_class = _methods  # type: ignore[assignment,attr-defined]
    moto_responses.gen_amzn_requestid_long = _request_id  # type: ignore[assignment,attr-defined]
    BackendDict.__getitem__ = _account  # type: ignore[method-assign]
    BackendDict.reset = _reset  # type: ignore[method-assign]


def _methods(front: type) -> frozenset[str]:
    """The operations of a service: moto goes through all members of its class."""
    if front not in _names:
        _names[front] = frozenset(method_names_from_class(front))
    return _names[front]


def _request_id(headers: dict[str, Any] | None = None) -> str:
    """AWS's ids of requests are UUIDs; moto draws 52 letters one by one."""
    made = str(uuid.uuid4())
    if headers is not None:
        headers["x-amzn-requestid"] = made
    return made


def _account(backends: Any, account_id: str) -> Any:
    """An account's backends: moto notes at every look which services its next reset is to empty; once will do."""
    found = backends.get(account_id) if id(backends) in _noted else None
    if found is None:
        found = _plain_account(backends, account_id)
        _noted.add(id(backends))
    return found


def _reset() -> None:
    """moto's own; it forgets what it noted, also of what was made anew meanwhile."""
    _plain_reset()
    _noted.clear()
