"""A stand-in for the module datetime that follows the virtual clock.

moto asks the machine for the time; given these in place of the module's globals it lives in virtual time.
Each seam says which of moto's modules need them; there is one clock in a process.
"""

import datetime as dt
from types import ModuleType
from typing import Any, cast

import moto.core.utils

from local.clock import VirtualClock

_current: list[VirtualClock] = []


def use(clock: VirtualClock) -> None:
    """From now on the stand-ins follow `clock`, and so does what moto calls now."""
    _current[:] = [clock]
    vars(moto.core.utils)["datetime"] = DATETIME


def clock() -> VirtualClock:
    """The clock in use."""
    return _current[0]


class _Instance(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, dt.datetime)


class VirtualDatetime(dt.datetime, metaclass=_Instance):
    """`datetime.datetime` whose now is the virtual one; a naive now is UTC, as on AWS's own machines."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        now = clock().now()
        return now.astimezone(tz) if tz else now.replace(tzinfo=None)

    @classmethod
    def utcnow(cls) -> Any:
        return clock().now().replace(tzinfo=None)


class _Module:
    """A module of which a few names are replaced."""

    def __init__(self, module: ModuleType, **names: object) -> None:
        self.__dict__.update(names)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


DATETIME = cast("ModuleType", _Module(dt, datetime=VirtualDatetime))
