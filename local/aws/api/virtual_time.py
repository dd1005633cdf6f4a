"""A replacement for the module datetime that follows the virtual clock.

moto asks the machine for the time. With this replacement in its modules' globals, moto uses virtual time. Each caller
says which modules of moto need it. A process has one clock.
"""

import datetime as dt
from types import ModuleType
from typing import Any, cast

import moto.core.utils

from local.clock import VirtualClock

_current: list[VirtualClock] = []


def use(clock: VirtualClock) -> None:
    """From now on the replacement follows `clock`."""
    _current[:] = [clock]
    vars(moto.core.utils)["datetime"] = DATETIME


def clock() -> VirtualClock:
    """The clock in use."""
    return _current[0]


class _Instance(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, dt.datetime)


class VirtualDatetime(dt.datetime, metaclass=_Instance):
    """`datetime.datetime` with a virtual now. A naive now is UTC, as on AWS's own machines."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        now = clock().now()
        return now.astimezone(tz) if tz else now.replace(tzinfo=None)

    @classmethod
    def utcnow(cls) -> Any:
        return clock().now().replace(tzinfo=None)


class _Module:
    """A module with a few names replaced."""

    def __init__(self, module: ModuleType, **names: object) -> None:
        self.__dict__.update(names)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


DATETIME = cast("ModuleType", _Module(dt, datetime=VirtualDatetime))
