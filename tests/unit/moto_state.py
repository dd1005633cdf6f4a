"""The whole state of moto in this process, copied and put back.

Copying a lab takes a tenth of the time in which its calls create it. BackendDict is moto's own index of its backends
(https://github.com/getmoto/moto/blob/master/moto/core/base_backend.py). It has no public way to copy them.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto import mock_aws
from moto.core.base_backend import BackendDict

#: The backends of each service, account and region.
State = list[tuple[Any, str, dict[str, Any]]]


def copied() -> State:
    """A copy of the present state."""
    indexes: list[Any] = list(BackendDict._instances)  # type: ignore[misc]
    return _copy([(index, account, dict(index[account])) for index in indexes for account in list(index)])


@contextmanager
def mocked(state: State) -> Iterator[None]:
    """moto answers, with a copy of a state."""
    with mock_aws():
        for index, account, backends in _copy(state):
            index[account].update(backends)
        try:
            yield
        finally:
            # moto would create each of these anew before it forgets it.
            for index, _, _ in state:
                index.clear()


def _copy(state: State) -> State:
    """One copy of all of it, because backends refer to each other. The indexes stay the same ones."""
    same: dict[int, Any] = {id(index): index for index, _, _ in state}
    return copy.deepcopy(state, same)
