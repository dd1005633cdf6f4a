"""The virtual clock: one time for everybody, and hurrying over stretches in which nothing is due."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import lamplighter.clock
from local.clock import VirtualClock

START = datetime(2026, 3, 3, 11, 0, tzinfo=UTC)


@pytest.fixture
def clock(tmp_path: Path):
    clock = VirtualClock(tmp_path / "clock", start=START)
    yield clock
    clock.hurry(False)


def test_time_begins_at_the_start_and_runs_at_the_rate(clock: VirtualClock):
    clock.set_rate(1000)
    time.sleep(0.05)
    passed = clock.time() - START.timestamp()
    assert 45 < passed < 500


def test_a_worker_reads_the_same_time_from_the_file(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMPLIGHTER_CLOCK", str(clock.path))
    clock.set_rate(60)
    clock.jump_to(START.timestamp() + 3600)
    assert abs((lamplighter.clock.now() - clock.now()).total_seconds()) < 1


def test_time_never_goes_back(clock: VirtualClock):
    clock.jump_to(START.timestamp() - 3600)
    assert clock.now() >= START


def sleep_then(clock: VirtualClock, seconds: float, do: Callable[[], None]) -> None:
    clock.sleep(seconds)
    do()


def test_a_sleeper_follows_a_jump(clock: VirtualClock):
    awake = threading.Event()
    threading.Thread(target=sleep_then, args=(clock, 3600, awake.set), daemon=True).start()
    clock.jump_to(START.timestamp() + 3601)
    assert awake.wait(2)


def test_hurry_goes_from_one_wake_to_the_next_in_order(clock: VirtualClock):
    woke: list[tuple[str, float]] = []
    done = threading.Barrier(3)

    def sleeper(name: str, seconds: float) -> None:
        clock.sleep(seconds)
        woke.append((name, round(clock.time() - START.timestamp())))
        done.wait(5)

    for name, seconds in (("late", 7200.0), ("early", 600.0)):
        threading.Thread(target=sleeper, args=(name, seconds), daemon=True).start()
    clock.hurry(True)
    done.wait(5)
    assert woke == [("early", 600), ("late", 7200)]


def test_hurry_waits_for_whoever_is_busy(clock: VirtualClock):
    awake = threading.Event()
    threading.Thread(target=sleep_then, args=(clock, 600, awake.set), daemon=True).start()
    with clock.busy():
        clock.hurry(True)
        assert not awake.wait(0.3)
    assert awake.wait(2)


def test_an_event_set_in_time_wins_over_its_time_out(clock: VirtualClock):
    event = clock.event()
    threading.Timer(0.05, event.set).start()
    assert event.wait(3600)


def test_an_event_nobody_sets_times_out_in_virtual_time(clock: VirtualClock):
    clock.hurry(True)
    assert not clock.event().wait(3600)
    assert clock.time() >= START.timestamp() + 3600


def test_a_rate_of_zero_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="above 0"):
        VirtualClock(tmp_path / "clock", rate=0)
