"""Coroutines run in the lab's time, wait for what they say, and hold hurry up only while they work."""

import threading

import pytest

from local.clock import VirtualClock
from local.fleet.coroutines import Coroutines, Until
from tests.steady.hang import HANG_SECONDS


@pytest.fixture
def clock(tmp_path):
    clock = VirtualClock(tmp_path / "clock")
    clock.hurry(True)
    yield clock
    clock.hurry(False)


@pytest.fixture
def coroutines(clock):
    coroutines = Coroutines(clock)
    yield coroutines
    coroutines.close()


def test_a_story_waits_in_the_labs_time(clock, coroutines):
    began, done, lasted = clock.time(), threading.Event(), []

    def tale():
        yield 3600.0
        lasted.append(clock.time() - began)
        done.set()

    coroutines.tell(tale())
    assert done.wait(HANG_SECONDS)
    assert 3600 <= lasted[0] < 3700


def test_a_story_goes_on_when_its_condition_holds(coroutines):
    ready: list[bool] = []
    done = threading.Event()

    def tale():
        yield Until(lambda: bool(ready))
        done.set()

    coroutines.tell(tale())
    coroutines.look_again()
    assert not done.wait(0.1)
    ready.append(True)
    coroutines.look_again()
    assert done.wait(HANG_SECONDS)


def test_a_stopped_story_goes_no_further(coroutines):
    reached, other = [], threading.Event()

    def tale():
        yield 60.0
        reached.append(True)

    def later():
        yield 120.0
        other.set()

    coroutines.tell(tale()).stop()
    coroutines.tell(later())
    assert other.wait(HANG_SECONDS)
    assert not reached


def test_a_story_that_breaks_off_leaves_the_others(coroutines, caplog):
    done = threading.Event()

    def broken():
        yield 0.0
        raise ValueError("a stumble")

    def tale():
        yield 30.0
        done.set()

    coroutines.tell(broken())
    coroutines.tell(tale())
    assert done.wait(HANG_SECONDS)
    assert "a stumble" in caplog.text
