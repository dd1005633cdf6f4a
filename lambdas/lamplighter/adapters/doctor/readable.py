"""One fact of the doctor: what a call gives, or why it could not be read."""

from collections.abc import Callable
from typing import TypeVar

from lamplighter.domain.doctor.line import Unread
from lamplighter.errors import LamplighterError

T = TypeVar("T")


def read(call: Callable[[], T]) -> T | Unread:
    """The result of the call, or why it failed."""
    try:
        return call()
    except LamplighterError as error:
        return Unread(error.said)
