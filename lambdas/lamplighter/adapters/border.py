"""The border to the outside: whatever an answer does to the code that reads it, a caller gets an error of ours.

AWS, Kubernetes and people may answer anything: nothing, half of it, other types, other people's names. An adapter reads
what it needs; an answer that it cannot read is not known, as one that never came.
"""

from collections.abc import Callable, Iterator
from inspect import CO_GENERATOR
from types import FunctionType
from typing import Any, TypeVar, cast

from lamplighter.errors import LamplighterError, OutsideFailed
from lamplighter.reasons.reason import reason

Adapter = TypeVar("Adapter", bound=Callable[..., Any])
_LONGEST = 200


def border(adapter: Adapter) -> Adapter:
    """A function, or a class with its public methods, that raises no error but ours: OutsideFailed for any other."""
    if not isinstance(adapter, type):
        return cast("Adapter", _translated(adapter))
    # Every function of ours pays for this at its start, so it does little: inspect would take ten times as long.
    members: dict[str, object] = {}
    for base in reversed(adapter.__mro__):
        members.update(vars(base))
    for name, member in members.items():
        if type(member) is FunctionType and name[0] != "_":
            setattr(adapter, name, _translated(member))
    return adapter


def _translated(call: Any) -> Any:  # noqa: ANN401 -- the same as it came
    wrapper = _each(call) if call.__code__.co_flags & CO_GENERATOR else _answer(call)
    wrapper.__wrapped__, wrapper.__doc__ = call, call.__doc__
    wrapper.__module__, wrapper.__qualname__ = call.__module__, call.__qualname__
    return wrapper


def _answer(call: Any) -> Any:  # noqa: ANN401
    def answer(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        try:
            return call(*given, **named)
        except LamplighterError:
            raise
        except Exception as error:
            raise _unreadable(call, error) from error

    return answer


def _each(call: Any) -> Any:  # noqa: ANN401
    def each(*given: Any, **named: Any) -> Iterator[Any]:  # noqa: ANN401
        try:
            yield from call(*given, **named)
        except LamplighterError:
            raise
        except Exception as error:
            raise _unreadable(call, error) from error

    return each


def _unreadable(call: Any, error: Exception) -> OutsideFailed:  # noqa: ANN401 -- a function of any kind
    what = f"{type(error).__name__}: {error}".splitlines()[0][:_LONGEST]
    failed = OutsideFailed(reason("aws.unreadable", call=call.__qualname__, error=what), call.__qualname__)
    failed.answered = True
    return failed
