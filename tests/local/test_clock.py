"""The virtual clock: time stands while something is computed, and goes from one due instant to the next."""

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import lamplighter.clock
import local.clock
import local.clock_turns
from local.background_thread import BackgroundThread
from local.clock import VirtualClock
from local.clock_fibers import Fiber
from tests.steady.hang import HANG_SECONDS

START = datetime(2026, 3, 3, 11, 0, tzinfo=UTC)
#: The files of the clock's own steps.
CLOCK = {local.clock.__file__, local.clock_turns.__file__}

TraceFunction = Callable[[FrameType, str, Any], Any]


@pytest.fixture
def clock(tmp_path: Path) -> Iterator[VirtualClock]:
    clock = VirtualClock(tmp_path / "clock", rate=None, start=START)
    yield clock
    clock.stop()


def passed(clock: VirtualClock) -> float:
    """Virtual seconds since the start."""
    return round(clock.time() - START.timestamp(), 6)


def test_time_flows_at_the_rate_where_nothing_is_due(clock: VirtualClock) -> None:
    clock.set_rate(10_000)
    clock.hurry(False)
    clock.sleep(600)
    assert passed(clock) >= 600


def test_a_worker_reads_the_same_instant_from_the_file(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMPLIGHTER_INSTANT", str(clock.path))
    with clock.busy():
        clock.jump_to(START.timestamp() + 3600.25)
        assert lamplighter.clock.now() == clock.now() == START + timedelta(seconds=3600.25)


def test_time_never_goes_back(clock: VirtualClock) -> None:
    clock.jump_to(START.timestamp() - 3600)
    assert clock.now() >= START


def test_who_has_the_turn_has_it_alone_and_time_stands(clock: VirtualClock) -> None:
    done: list[str] = []
    with clock.busy():
        clock.at(START.timestamp() + 600, lambda: done.append("due"))
        clock.spawn("next", lambda: done.append("next"))
        clock.set_rate(1_000_000)
        assert (done, clock.now()) == ([], START)
        clock.sleep(600)
        assert (done, passed(clock)) == (["next", "due"], 600)


def test_what_is_due_comes_in_the_order_of_instants_and_then_of_asking(clock: VirtualClock) -> None:
    came: list[tuple[str, float]] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: came.append((name, passed(clock)))

    with clock.busy():
        begin = clock.time()
        for name, seconds in (("late", 7200), ("early", 600), ("same, later asked", 600), ("now", 0)):
            clock.at(begin + seconds, note(name))
        clock.sleep(10_000)
    assert came == [("now", 0), ("early", 600), ("same, later asked", 600), ("late", 7200)]


def test_strands_that_wait_and_work_come_out_in_the_same_order_every_time(tmp_path: Path) -> None:
    def told(number: int) -> list[tuple[float, str]]:
        clock, said = VirtualClock(tmp_path / f"clock{number}", rate=None, start=START), []

        def fiber(name: str, pace: float) -> None:
            for _ in range(5):
                clock.sleep(pace)
                sum(range(20_000 if name == "b" else 10))  # one is slow, whatever that means here
                said.append((passed(clock), name))

        with clock.busy():
            for name, pace in (("a", 3.0), ("b", 2.0), ("c", 3.0)):
                clock.spawn(name, lambda name=name, pace=pace: fiber(name, pace))  # type: ignore[misc]
            clock.sleep(60)
        clock.stop()
        return said

    first = told(0)
    assert [seconds for seconds, _ in first] == sorted(seconds for seconds, _ in first)
    assert [name for seconds, name in first if seconds == 6.0] == ["a", "c", "b"]
    assert all(told(number) == first for number in range(1, 20))


def test_a_condition_is_asked_again_when_something_has_happened_and_comes_before_time_moves(
    clock: VirtualClock,
) -> None:
    there: list[bool] = []
    with clock.busy():
        clock.at(clock.time() + 60, lambda: there.append(True))
        clock.at(clock.time() + 61, lambda: there.append(True))
        assert clock.wait_until(None, lambda: bool(there))
        assert (there, passed(clock)) == ([True], 60)
        assert not clock.wait_until(clock.time() + 5, lambda: len(there) > 2)
        assert passed(clock) == 65


def test_a_condition_that_cannot_be_asked_fails_where_it_is_waited_for(clock: VirtualClock) -> None:
    asked: list[int] = []

    def broken() -> bool:
        asked.append(1)
        if len(asked) > 1:
            raise ValueError("nobody to ask")
        return False

    with clock.busy(), pytest.raises(ValueError, match="nobody to ask"):
        clock.wait_until(None, broken)
    with clock.busy():  # the clock goes on
        clock.sleep(1)


def test_an_event_set_in_time_wins_over_its_time_out(clock: VirtualClock) -> None:
    event = clock.event()
    with clock.busy():
        clock.at(clock.time() + 3599, event.set)
        assert event.wait(3600)


def test_an_event_nobody_sets_times_out_in_virtual_time(clock: VirtualClock) -> None:
    assert not clock.event().wait(3600)
    assert passed(clock) >= 3600


def test_a_strand_that_fails_stops_nothing_else(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[bool] = []
    with clock.busy():
        clock.spawn("broken", lambda: next(iter(())))
        clock.at(clock.time() + 1, lambda: done.append(True))
        clock.sleep(2)
    assert done
    assert "a fiber of the embedded cloud failed" in caplog.text


def test_what_is_cancelled_does_not_happen(clock: VirtualClock) -> None:
    done: list[bool] = []
    with clock.busy():
        clock.at(clock.time() + 1, lambda: done.append(True)).cancel()
        clock.sleep(2)
    assert not done


def test_time_waits_for_the_programs_beside_us(clock: VirtualClock) -> None:
    settled = threading.Event()
    clock.settled = settled.is_set
    woke = threading.Event()
    clock.at(START.timestamp() + 600, woke.set)
    assert not woke.wait(0.2)
    assert clock.now() == START
    settled.set()
    clock.stir()
    assert woke.wait(HANG_SECONDS)


def test_for_a_program_with_timers_of_its_own_time_moves_only_for_what_it_waits_for(
    clock: VirtualClock,
) -> None:
    coming = [True]
    clock.awaited = lambda: bool(coming)
    with clock.busy():
        clock.at(clock.time() + 30, coming.clear)
        clock.at(clock.time() + 60, lambda: None)
        with clock.program():
            clock.wait_until(None, lambda: not coming)
            threading.Event().wait(0.1)  # the program is at something that nobody here knows of
            assert passed(clock) == 30


def test_what_another_thread_does_for_a_strand_is_part_of_it(clock: VirtualClock) -> None:
    with clock.busy():
        fiber = clock.fiber()

        def answer() -> None:
            with clock.serving(fiber):
                clock.sleep(30)  # as a request does that takes its time

        other = threading.Thread(target=answer)
        other.start()
        other.join(HANG_SECONDS)
        assert passed(clock) == 30


def test_requests_of_one_fiber_that_overlap_give_its_turn_back_after_the_last(clock: VirtualClock) -> None:
    with clock.busy():
        fiber = clock.fiber()

        def answer(seconds: float) -> None:
            with clock.serving(fiber), clock.busy():
                clock.sleep(seconds)

        requests = [threading.Thread(target=answer, args=(seconds,)) for seconds in (10, 30, 20)]
        for request in requests:
            request.start()
        for request in requests:
            request.join(HANG_SECONDS)
        assert passed(clock) >= 30
        present = clock.time()
        clock.at(present, lambda: None)  # nobody else has the turn
        assert clock.fiber() is fiber
        clock.sleep(60)
        assert clock.time() == present + 60


def test_who_works_on_while_a_request_waits_has_the_turn_and_so_has_the_request(clock: VirtualClock) -> None:
    begun, done = threading.Event(), []
    with clock.busy():
        fiber = clock.fiber()

        def answer() -> None:
            with clock.serving(fiber), clock.busy():
                begun.set()
                clock.sleep(30)
                done.append(passed(clock))

        request = threading.Thread(target=answer)
        request.start()
        assert begun.wait(HANG_SECONDS)
        with clock.busy():
            present = clock.time()
            clock.sleep(60)
            assert clock.time() == present + 60
        request.join(HANG_SECONDS)
        assert done == [30]
        clock.sleep(60)


def test_a_request_that_ends_before_its_own_request_gives_the_turn_back(clock: VirtualClock) -> None:
    begun, over = threading.Event(), threading.Event()
    with clock.busy():
        fiber = clock.fiber()
        assert fiber is not None

        def inner(sender: Fiber | None) -> None:
            with clock.serving(sender), clock.busy():
                begun.set()
                clock.wait_until(None, over.is_set)

        def outer() -> BackgroundThread[None]:
            with clock.serving(fiber), clock.busy():
                request = BackgroundThread(partial(inner, clock.fiber()))
                assert begun.wait(HANG_SECONDS)
                return request

        request = BackgroundThread(outer).result()
        assert fiber.holds
        over.set()
        clock.sleep(1)
        assert request.ended(HANG_SECONDS)


def test_of_two_programs_the_one_that_has_the_turn_is_answered(clock: VirtualClock) -> None:
    asleep = threading.Event()

    def answer(sender: Fiber | None, work: Callable[[], None]) -> None:
        with clock.serving(sender), clock.busy():
            work()

    def second() -> None:
        with clock.busy():  # while the request of the first program sleeps
            request = BackgroundThread(partial(answer, clock.host(), lambda: None))
            answered.append(request.ended(HANG_SECONDS / 4))

    def sleep() -> None:
        asleep.set()
        clock.wait_until(None, lambda: bool(answered))

    answered: list[bool] = []
    with clock.busy():
        first = BackgroundThread(partial(answer, clock.host(), sleep))
        assert asleep.wait(HANG_SECONDS)
        assert BackgroundThread(second).ended(HANG_SECONDS)
        assert first.ended(HANG_SECONDS)
    assert answered == [True]


def test_requests_that_come_at_once_all_find_the_program_that_waits_for_them(clock: VirtualClock) -> None:
    def come() -> list[Fiber | None]:
        with ExitStack() as requests:  # each finds more fibers than the one before
            hosts = []
            for _ in range(300):
                requests.enter_context(clock.serving(None))
                hosts.append(clock.host())
        return hosts

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with clock.busy():
            threads = [BackgroundThread(come) for _ in range(4)]
            assert {host for thread in threads for host in thread.result()} == {clock.fiber()}
    finally:
        sys.setswitchinterval(before)


def test_a_request_may_come_between_any_two_steps_of_its_program(clock: VirtualClock) -> None:
    requests: list[BackgroundThread[None]] = []

    def answer(begun: threading.Event) -> None:
        with clock.serving(clock.host()), clock.busy():
            begun.set()
            clock.sleep(1)

    def come_at(moment: int, fiber: Fiber) -> TraceFunction:
        moments = itertools.count()

        def trace(frame: FrameType, event: str, _: object) -> TraceFunction | None:
            if frame.f_code.co_filename not in CLOCK:
                return None
            free = fiber.holds and not clock._present.lock._is_owned()  # type: ignore[attr-defined]
            if event == "line" and free and next(moments) == moment:
                begun = threading.Event()
                requests.append(BackgroundThread(partial(answer, begun)))
                assert begun.wait(HANG_SECONDS)
            return trace

        return trace

    def program(moment: int) -> None:
        with clock.busy():
            fiber = clock.fiber()
            assert fiber is not None
            sys.settrace(come_at(moment, fiber))
            with clock.busy(), clock.idle():
                pass
            clock.recall()
            clock.sleep(5)
            sys.settrace(None)
            clock.sleep(5)
            assert fiber.holds

    for moment in itertools.count():
        before = len(requests)
        work = BackgroundThread(partial(program, moment))
        assert work.ended(HANG_SECONDS), moment
        work.result()
        if len(requests) == before:
            break
        assert requests[-1].ended(HANG_SECONDS)
    assert requests


def test_a_clock_whose_holder_is_gone_fails_aloud(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    turn = clock.busy()
    holder = threading.Thread(target=turn.__enter__, name="holder")
    holder.start()
    holder.join(HANG_SECONDS)
    with pytest.raises(SystemExit):
        clock.sleep(1)
    assert clock.stopped.is_set()
    assert "<fiber holder> has the turn for ever" in caplog.text


def test_who_waits_when_the_clock_stops_ends_there(clock: VirtualClock) -> None:
    ended: list[type[BaseException] | None] = []

    def sleep() -> None:
        try:
            clock.sleep(10)
        except SystemExit:
            ended.append(SystemExit)

    sleeper = threading.Thread(target=sleep)
    with clock.busy():
        sleeper.start()
        clock.stop()
    sleeper.join(HANG_SECONDS)
    assert ended == [SystemExit]


def test_who_is_interrupted_while_waiting_has_no_turn_and_takes_none(clock: VirtualClock) -> None:
    class Interrupted(BaseException):
        pass

    asked: list[int] = []

    def interrupted() -> bool:
        asked.append(1)
        if len(asked) > 1:
            raise Interrupted
        return False

    def wait() -> None:
        with clock.busy():
            clock.spawn("something happens", lambda: None)
            clock.wait_until(clock.time() + 60, interrupted)

    with pytest.raises(Interrupted):
        wait()
    with clock.busy():
        clock.sleep(120)
        assert passed(clock) == 120


@pytest.mark.once_flaky("the strand went on before the pause had begun, and nobody ended it")
def test_a_strand_that_goes_on_without_its_pauses_keeps_the_turn(clock: VirtualClock) -> None:
    with clock.busy():
        fiber = clock.fiber()
        begun = threading.Event()

        def pause() -> None:
            with clock.serving(fiber):
                begun.set()
                clock.sleep(30)

        other = threading.Thread(target=pause)
        other.start()
        assert begun.wait(HANG_SECONDS)
        clock.recall()  # what it pauses for is over, whether it has begun to pause or not
        assert clock.fiber() is fiber
        clock.sleep(60)
    other.join(HANG_SECONDS)
    assert not other.is_alive()


def test_time_that_flows_stops_at_an_instant_that_was_asked_for_meanwhile(clock: VirtualClock) -> None:
    asking, seen = threading.Event(), []
    clock.settled = lambda: not asking.is_set()
    clock.set_rate(1000)
    clock.hurry(False)
    clock.at(clock.time() + 1e6, lambda: None)
    clock.wait_until(clock.time() + 10, lambda: False)
    asking.set()  # the clock's own thread is held up
    due = clock.time() + 1
    clock.at(due, lambda: seen.append(clock.time()))
    due = max(due, clock.time())  # on a busy machine it may have passed before it was asked for
    threading.Event().wait(0.1)
    assert clock.time() <= due + 1e-6
    asking.clear()
    clock.stir()
    clock.sleep(5)
    assert seen == [due]


@pytest.mark.parametrize("seconds", [float("nan"), float("inf")])
def test_what_is_no_instant_is_refused_and_the_clock_goes_on(clock: VirtualClock, seconds: float) -> None:
    with pytest.raises(ValueError, match="no instant"):
        clock.sleep(seconds)
    with pytest.raises(ValueError, match="finite rate"):
        clock.set_rate(seconds)
    with clock.busy():
        clock.sleep(1)


def test_a_rate_of_zero_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="above 0"):
        VirtualClock(tmp_path / "clock", rate=0)
