"""How long a lease may be idle: a person's as long as the lab says, a window's only where the window says so."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.granting.idleness import allowed
from lamplighter.lab.model import Lab
from tests.builders.guard_facts import lease

WINDOW = {"days": ["tue"], "start": "20:00", "end": "23:00"}


def lab(idle_after: str = "45m") -> Lab:
    windows = [
        {"name": "patient", **WINDOW},
        {"name": "strict", "idle_after": "20m", **WINDOW},
        {"name": "strictest", "idle_after": "10m", **WINDOW},
        {"name": "never", "idle_after": "off", **WINDOW},
    ]
    return Lab.model_validate({"name": "lab", "guard": {"idle_after": idle_after}, "windows": windows})


@pytest.mark.parametrize(("window", "minutes"), [
    (None, 45), ("patient", None), ("strict", 20), ("strictest", 10), ("never", None), ("gone", None),
])  # fmt: skip
def test_a_lease_may_be_idle_as_its_window_or_the_lab_says(window: str | None, minutes: int | None) -> None:
    found = allowed(replace(lease(), window=window), lab())
    assert found == (None if minutes is None else timedelta(minutes=minutes))


def test_a_lab_may_leave_idle_leases_alone() -> None:
    assert allowed(replace(lease(), window=None), lab("off")) is None
    assert allowed(replace(lease(), window="strict"), lab("off")) == timedelta(minutes=20)
