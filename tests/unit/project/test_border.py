"""Nothing that an adapter reads leaves it as an error that is not ours: each call to the outside is at the border."""

import enum
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import is_dataclass

import pytest

import lamplighter.adapters
from lamplighter.adapters.border import border
from lamplighter.errors import OutsideFailed, TryLater

#: Slack's adapters turn errors into ours themselves, and tell nothing of an error that could hold a token.
OTHERWISE = ("lamplighter.adapters.slack.", "lamplighter.adapters.calendars.")
CALLS = ("outside(", "Connection")
"""What only a module that calls AWS or Kubernetes has in its text."""


def callers() -> Iterator[object]:
    """The public classes and functions of the modules that call AWS or Kubernetes."""
    for found in pkgutil.walk_packages(lamplighter.adapters.__path__, "lamplighter.adapters."):
        module = importlib.import_module(found.name)
        text = inspect.getsource(module)
        if found.name.startswith(OTHERWISE) or not any(call in text for call in CALLS):
            continue
        for name, member in vars(module).items():
            if not name.startswith("_") and getattr(member, "__module__", "") == found.name:
                yield member


def asks(member: object) -> bool:
    """Whether it asks the outside: a function with a connection or a call in its text, or a class that is no value."""
    if inspect.isfunction(member):
        text = inspect.getsource(member)
        return "connection: " in text.partition(":\n")[0] or "with outside(" in text
    return (
        inspect.isclass(member)
        and not is_dataclass(member)
        and not issubclass(member, (Exception, enum.Enum))
        and not getattr(member, "_is_protocol", False)
    )


@pytest.mark.parametrize(
    "member", [each for each in callers() if asks(each)], ids=lambda each: each.__qualname__
)
def test_a_call_to_the_outside_is_at_the_border(member: type) -> None:
    methods = [member] if inspect.isfunction(member) else [
        inspect.getattr_static(member, name) for name in dir(member) if not name.startswith("_")
    ]  # fmt: skip
    open_ones = [
        each.__qualname__ for each in methods if inspect.isfunction(each) and not hasattr(each, "__wrapped__")
    ]

    assert open_ones == []


@border
class Reading:
    """What an adapter is like."""

    def first(self, answer: dict[str, str]) -> str:
        return answer["Name"]

    def each(self, answers: list[dict[str, str]]) -> Iterator[str]:
        for answer in answers:
            yield answer["Name"]

    def later(self) -> None:
        raise TryLater("in a minute")


def test_an_answer_that_cannot_be_read_is_not_known() -> None:
    with pytest.raises(
        OutsideFailed, match=r"^what Reading.first has read is not as expected: KeyError: 'Name'$"
    ):
        Reading().first({})


def test_so_is_one_of_many() -> None:
    named = Reading().each([{"Name": "a"}, {}])

    assert next(named) == "a"
    with pytest.raises(OutsideFailed):
        next(named)


def test_an_error_of_ours_stays_as_it_is() -> None:
    with pytest.raises(TryLater, match="in a minute"):
        Reading().later()
