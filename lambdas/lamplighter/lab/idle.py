"""How long a lease may be idle: a duration, or `off`."""

from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from lamplighter.lab.types import read_duration
from lamplighter.values.counted import write_duration

OFF = "off"
SHORTEST = timedelta(minutes=10)
"""Two sweeps. The guard checks every five minutes whether a pod holds a GPU."""


def read_idle_after(value: object) -> timedelta:
    """A duration of at least ten minutes; zero for `off`. Raises ValueError."""
    if value in (OFF, timedelta()):
        return timedelta()
    try:
        length = read_duration(value)
    except ValueError as error:
        raise ValueError(f"{error}; or off") from None
    if length < SHORTEST:
        raise ValueError(f"is {write_duration(length)}, the shortest is {write_duration(SHORTEST)}; or off")
    return length


def write_idle_after(length: timedelta) -> str:
    """The text for lab.yaml."""
    return write_duration(length) if length else OFF


IdleAfter = Annotated[
    timedelta,
    BeforeValidator(read_idle_after),
    PlainSerializer(write_idle_after, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^(off|(?=.)([0-9]{1,5}h)?([0-9]{1,6}m)?)$"}),
]
