"""A cache for values that moto computes again for every call, although they never change.

Without it a call to a table takes twice as long. moto's backends are global in the process, and so is this cache.
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
    """Replaces these parts of moto; calling it again changes nothing."""
    moto_responses.method_names_from_class = _methods  # type: ignore[assignment,attr-defined]
    moto_responses.gen_amzn_requestid_long = _request_id  # type: ignore[assignment,attr-defined]
    BackendDict.__getitem__ = _account  # type: ignore[method-assign]
    BackendDict.reset = _reset  # type: ignore[method-assign]


def _methods(front: type) -> frozenset[str]:
    """The operations of a service. moto goes through all members of the class each time."""
    if front not in _names:
        _names[front] = frozenset(method_names_from_class(front))
    return _names[front]


def _request_id(headers: dict[str, Any] | None = None) -> str:
    """A request id. AWS's ids are UUIDs; moto draws 52 letters one by one."""
    made = str(uuid.uuid4())
    if headers is not None:
        headers["x-amzn-requestid"] = made
    return made


def _account(backends: Any, account_id: str) -> Any:
    """The backends of an account.

    On each access moto notes the services that its next reset must empty; once is enough.
    """
    found = backends.get(account_id) if id(backends) in _noted else None
    if found is None:
        found = _plain_account(backends, account_id)
        _noted.add(id(backends))
    return found


def _reset() -> None:
    """moto's own reset. It also clears these notes, so that new backends are noted again."""
    _plain_reset()
    _noted.clear()
