"""Lambda: runs our real handlers in this process. They can die, wait and fail between any two calls.

An invocation that must wait at a call runs on a thread of its own. There is only one such invocation at a time. While
it waits, the rest of the world goes on, with other functions.
"""

import importlib
import json
import random
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lamplighter.errors import LamplighterError
from local.aws.stepfunctions.errors import StatesError
from tests.world.aws.event_queue import EventQueue
from tests.world.faults import Fault
from tests.world.outside import Died, NotInTheWorld, no_answer, refused

Json = Any
Done = Callable[[Json | None, StatesError | None], None]
#: Seconds after which Lambda ends a function, by stacks/constructs/functions/lab_functions.py; others end after a
#: minute. The guard may outlive its minute as the writer of a pool.
TIMEOUT = 60.0
TIMEOUTS = {"events": 30.0, "classes": 120.0, "guard": 240.0, "cluster": 300.0, "diagnosis": 120.0}
ANSWERED = 0.05
KINDS = ("die", "fail", "throttle", "lost", "twice", "slow", "collide")
#: Calls that boto3 sends with a token, so that a repeated call has no second effect.
IDEMPOTENT = frozenset({"transact_write_items"})
#: Writes that DynamoDB refuses while a transaction writes the same item.
ALONE = frozenset({"put_item", "update_item", "delete_item"})


@dataclass(frozen=True)
class Trouble:
    """What happens at the `at`-th call of an invocation."""

    at: int
    kind: str
    seconds: float = 0.0


@dataclass
class Invocation:
    function: str
    step: str
    troubles: tuple[Trouble, ...] = ()
    calls: int = 0
    spent: float = 0.0
    dead: bool = False
    go: threading.Semaphore | None = None
    made: list[str] = field(default_factory=list)
    verb: str = ""
    """The command, if the step belongs to the run of a command."""


class Functions:
    """`cross` passes every call to the outside; `troubles` says what goes wrong in an invocation."""

    def __init__(self, event_queue: EventQueue, chance: random.Random) -> None:
        self._event_queue, self._chance = event_queue, chance
        self.current: Invocation | None = None
        self.deleted: set[str] = set()
        self.unheard: set[str] = set()
        """Functions whose answers are lost, although they do their work."""
        self.troubles: Callable[[str, str], tuple[Trouble, ...]] = lambda _function, _step: ()
        self.seen: Callable[[Invocation, str], None] = lambda _invocation, _outcome: None
        self.unnamed: list[str] = []
        """Errors that our code does not know: each is a bug, of ours or of the world."""
        self.count = self.calls = self.in_flight = 0
        self.faults: tuple[Fault, ...] = ()
        """What calls answer from now on. The first that meets a call decides."""
        self.known: dict[tuple[str, str], None] = {}
        """Each call that a function has made, in order: the function, and the call."""
        self.fault_chance = random.Random(0)
        self._back = threading.Semaphore(0)
        self._parked: list[Invocation] = []
        self._failure: BaseException | None = None

    def invoke(self, arn: str, event: Json, done: Done) -> None:
        """Runs a function to its end. Returns its outcome as Step Functions sees it."""
        name = arn.rpartition(":")[2].rpartition("-")[2]
        if name in self.deleted:
            error = StatesError("Lambda.ResourceNotFoundException", f"Function not found: {arn}")
            self._event_queue.after(0.1, lambda: done(None, error))
            return
        step = str(event.get("step", "event"))
        invocation = Invocation(name, step, self.troubles(name, step), verb=_verb(event))
        self.count += 1

        def work() -> None:
            result, error = self._outcome(invocation, lambda: _handler(name)(event, None))
            if name in self.unheard:
                result, error = None, StatesError("Lambda.ServiceException", "the answer was lost")
            self._event_queue.after(ANSWERED, lambda: done(result, error))

        if any(trouble.kind == "slow" for trouble in invocation.troubles):
            self._beside(invocation, work)
        else:
            self._with(invocation, work)

    def invoke_async(self, arn: str, event: Json, tries: int = 3) -> None:
        """Invokes as EventBridge does: it tries again after one minute and after two more, and then gives up."""

        def done(_result: Json | None, error: StatesError | None) -> None:
            if error is not None and tries > 1:
                self._event_queue.after(60.0 * (4 - tries), lambda: self.invoke_async(arn, event, tries - 1))

        self.invoke(arn, event, done)

    def now(self, arn: str, event: Json) -> tuple[Json | None, StatesError | None]:
        """Another function of ours waits for this one: it runs at once, without delays."""
        name = arn.rpartition(":")[2].rpartition("-")[2]
        if name in self.deleted:
            raise refused("ResourceNotFoundException", f"Function not found: {arn}", "Invoke", 404)
        return self.at_once(name, str(event.get("step", "event")), lambda: _handler(name)(event, None))

    def at_once(
        self, name: str, step: str, work: Callable[[], Json]
    ) -> tuple[Json | None, StatesError | None]:
        """Runs a part of a function now, without delays."""
        troubles = tuple(each for each in self.troubles(name, step) if each.kind != "slow")
        invocation = Invocation(name, step, troubles)
        self.count += 1
        before, self.current = self.current, invocation
        try:
            return self._outcome(invocation, work)
        finally:
            self.current = before

    def cross(
        self, service: str, operation: str, act: Callable[[], Json], given: Callable[[], str] = str
    ) -> Json:
        """One call from our code to the outside. Calls of people and of tests never fail on purpose.

        `given` writes its parameters as one text.
        """
        invocation = self.current
        if invocation is None:
            return act()
        if invocation.dead:
            raise Died
        invocation.calls += 1
        self.calls += 1
        call = f"{service}.{operation}"
        invocation.made.append(call)
        self.known[invocation.function, call] = None
        for fault in self.faults:
            if fault.meets(invocation.function, call, given):
                return fault.answer(act, self.fault_chance)
        for trouble in invocation.troubles:
            if trouble.at == invocation.calls:
                return self._in_trouble(invocation, trouble, operation, act)
        return act()

    def end(self) -> None:
        """Ends all waiting invocations: they are dead."""
        for invocation in list(self._parked):
            invocation.dead = True
            self._resume(invocation)

    def _in_trouble(
        self, invocation: Invocation, trouble: Trouble, operation: str, act: Callable[[], Json]
    ) -> Json:
        match trouble.kind:
            case "die":
                invocation.dead = True
                raise Died
            case "fail":
                raise refused("InternalServerError", "an internal error", operation, 500)
            case "throttle":
                raise refused("ThrottlingException", "Rate exceeded", operation)
            case "lost":
                act()
                raise no_answer()
            case "collide" if operation in ALONE:
                raise refused(
                    "TransactionConflictException", "Transaction is ongoing for the item", operation
                )
            case "collide":
                return act()
            case "twice":
                # boto3 sent it again because the first answer was lost.
                answer = act()
                return answer if operation in IDEMPOTENT else act()
            case "slow":
                self._wait(invocation, trouble.seconds)
                return act()
        raise NotInTheWorld(trouble.kind)

    def _outcome(
        self, invocation: Invocation, work: Callable[[], Json]
    ) -> tuple[Json | None, StatesError | None]:
        result, error = None, None
        try:
            result = json.loads(json.dumps(work()))
        except Died:
            error = StatesError("Lambda.Unknown", "The process ended before it returned")
        except Exception as failed:  # noqa: BLE001 -- as Lambda does
            if not isinstance(failed, LamplighterError):
                self.unnamed.append(f"{invocation.function} {invocation.step}: {_told(failed)}")
            said = {"errorMessage": str(failed), "errorType": type(failed).__name__}
            error = StatesError(type(failed).__name__, json.dumps(said))
        self.seen(invocation, "ok" if error is None else error.error)
        return result, error

    def _with(self, invocation: Invocation, work: Callable[[], None]) -> None:
        before, self.current = self.current, invocation
        try:
            work()
        finally:
            self.current = before

    def _beside(self, invocation: Invocation, work: Callable[[], None]) -> None:
        invocation.go = threading.Semaphore(0)
        self.in_flight += 1

        def run() -> None:
            try:
                work()
            except BaseException as failed:  # noqa: BLE001 -- raised again on the world's own thread
                self._failure = failed
            finally:
                self.in_flight -= 1
                self._back.release()

        thread = threading.Thread(target=run, daemon=True)
        self._hand_over(invocation, thread.start)

    def _hand_over(self, invocation: Invocation, start: Callable[[], None]) -> None:
        before, self.current = self.current, invocation
        start()
        self._back.acquire()
        self.current = before
        if self._failure is not None:
            failed, self._failure = self._failure, None
            raise failed

    def _wait(self, invocation: Invocation, seconds: float) -> None:
        if invocation.go is None:
            raise RuntimeError("an invocation that waits needs a thread")
        invocation.spent += seconds
        if invocation.spent > TIMEOUTS.get(invocation.function, TIMEOUT):
            invocation.dead = True
            raise Died
        self._parked.append(invocation)
        self._event_queue.after(seconds, lambda: self._resume(invocation))
        self._back.release()
        invocation.go.acquire()
        if invocation.dead:
            raise Died

    def _resume(self, invocation: Invocation) -> None:
        if invocation not in self._parked or invocation.go is None:
            return
        self._parked.remove(invocation)
        self._hand_over(invocation, invocation.go.release)


def _verb(event: Json) -> str:
    run = event.get("run")
    return str(run.get("command", {}).get("verb", "")) if isinstance(run, dict) else ""


def _handler(function: str) -> Callable[[Json, None], Json]:
    found: Callable[[Json, None], Json] = importlib.import_module(f"handlers.{function}").handler
    return found


def _told(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
