"""`events put --wait` waits as the verbs `open` and `close` do: until the GPUs are proven, until zero is."""

import json
import time
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from cli.events import put
from lamplighter.domain.events.lab_event import LabEvent, LeaseGranted, PoolClosing
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.cli.events.given import Bus, about
from tests.unit.leases.steps import of

GRANTED = LeaseGranted(**about(in_reply_to="the-event"), nodes=1, opens=EIGHT, closes=EIGHT)
CLOSING = PoolClosing(**about(in_reply_to="the-event"))


@pytest.fixture
def asked(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[CompletedProcess[str], int]]:
    """Puts a request that is answered at once. The lease is in each next state a moment later."""

    def ask(words: str, answer: LabEvent, state: str, *later: str) -> tuple[CompletedProcess[str], int]:
        bus.made.lease(nodes=1, opens=-1, owner="ci-training", name="event-1")
        of("event-1", state={"S": state})
        bus.tell(answer)
        left, waited, now = list(later), 0, 0.0

        def sleep(seconds: float) -> None:
            nonlocal waited, now
            waited, now = waited + 1, now + seconds
            if left:
                of("event-1", state={"S": left.pop(0)})

        monkeypatch.setattr(time, "sleep", sleep)
        monkeypatch.setattr(time, "monotonic", lambda: now)
        monkeypatch.setattr(put, "_event", lambda *_: "the-event")
        return lamplighter("events", "put", *words.split()), waited

    return ask


Ask = Callable[..., tuple[CompletedProcess[str], int]]


@pytest.mark.parametrize("wait", ["--wait", "--wait open", "--wait=open"])
def test_an_open_waits_for_proven_gpus(asked: Ask, wait: str) -> None:
    said, waited = asked(f"open {wait} --for 1h --json", GRANTED, "opening", "opening", "open")
    assert (said.returncode, waited) == (0, 2), said.stderr
    assert json.loads(said.stdout)["answer"]["detail-type"] == "lease-granted"


def test_an_open_that_ends_unproven_says_so(asked: Ask) -> None:
    said, _ = asked("open --for 1h --wait", GRANTED, "opening", "closed")
    assert said.returncode == 1
    assert "the GPUs are not proven" in said.stderr


def test_an_open_may_wait_for_its_answer_only(asked: Ask) -> None:
    said, waited = asked("open --wait granted --for 1h", GRANTED, "opening")
    assert (said.returncode, waited) == (0, 0), said.stderr
    assert "lease-granted" in said.stdout


def test_a_close_waits_for_proven_zero(asked: Ask) -> None:
    said, waited = asked("close --yes --wait", CLOSING, "closing", "closing", "closed")
    assert said.returncode == 0, said.stderr
    assert waited >= 2


def test_a_close_may_wait_for_its_answer_only(asked: Ask) -> None:
    said, waited = asked("close --yes --wait granted", CLOSING, "closing")
    assert (said.returncode, waited) == (0, 0), said.stderr
