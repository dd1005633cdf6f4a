"""`lamplighter events put` puts what was asked with the caller's rights, and says what came of it."""

import json
from subprocess import CompletedProcess
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cli.events import put
from cli.use import agreed, orders
from lamplighter.adapters.aws import event_bus
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.events.lab_event import Extended, LabEvent, LeaseGranted, LeaseRefused, PoolClosing
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.cli.events.given import ALLOW, Bus, about

OTHER = {"source": "ops", "principals": ["arn:aws:iam::111122223333:user/people/ann"]}


THEIRS: dict[str, Any] = {"source": "event", "by": "training (event)"}


def run(*words: str, stdin: str = "") -> CompletedProcess[str]:
    return lamplighter("events", "put", *words, stdin=stdin)


def entry(bus: Bus) -> dict[str, Any]:
    """The only entry that was put, with its detail as JSON."""
    (found,) = bus.put
    return {**found, "Detail": json.loads(found["Detail"])}


def test_an_open_is_put_as_the_entry_says_with_what_was_asked(bus: Bus) -> None:
    asked = ("--pool", "gpu", "--nodes", "2", "--for", "1h30m", "--because", "the exam", "--token", "run-17")
    said = run("open", *asked, "--json")

    assert said.returncode == 0
    put_entry = entry(bus)
    named = {"EventBusName": "lab", "Source": "ci.training", "DetailType": "open"}
    assert named.items() <= put_entry.items()
    detail = {"pool": "gpu", "nodes": 2, "for_seconds": 5400, "because": "the exam", "token": "run-17"}
    assert put_entry["Detail"] == detail
    document = json.loads(said.stdout)
    assert document["event"]
    assert document["detail"] == detail


def test_what_is_left_out_is_left_to_the_lab(bus: Bus) -> None:
    said = run("extend")
    assert said.returncode == 0
    assert entry(bus)["Detail"] == {}
    assert "extend is on the bus lab, as ci.training" in said.stdout


@pytest.mark.parametrize(
    ("until", "put_until"),
    [
        ("22:30", "2026-11-21T13:30:00Z"),
        ("2026-11-20T21:00:00+00:00", "2026-11-20T21:00:00Z"),
        # As in Slack.
        ("10:30pm", "2026-11-21T13:30:00Z"),
        ("Tue at 10 p.m.", "2026-11-24T13:00:00Z"),
        ("noon", "2026-11-21T03:00:00Z"),
    ],
)
def test_an_end_is_by_the_labs_clock_or_with_its_offset(bus: Bus, until: str, put_until: str) -> None:
    run("open", "--until", until)
    assert entry(bus)["Detail"] == {"until": put_until}


def test_the_entry_of_the_caller_is_the_one_that_has_the_caller(bus: Bus) -> None:
    bus.deploy({**ALLOW, "operations": OTHER})
    run("open")
    assert entry(bus)["Source"] == "ci.training"


@pytest.mark.parametrize(("lasting", "seconds"), [("2 hours", 7200), ("1.5h", 5400), ("half an hour", 1800)])
def test_a_length_is_read_as_slack_reads_it(bus: Bus, lasting: str, seconds: int) -> None:
    run("open", "--for", lasting)
    assert entry(bus)["Detail"] == {"for_seconds": seconds}


@pytest.mark.parametrize(
    ("allow", "words", "code", "said"),
    [
        (
            {"one": OTHER, "two": {**OTHER, "source": "ops.two"}},
            "open",
            2,
            "is in no entry, name one of one, two",
        ),
        (None, "open", 2, "has no event bus"),
        ({}, "open", 2, "events.allow"),
        ({"training": {**ALLOW["training"], "may": ["open"]}}, "extend", 1, "may not extend"),
        (ALLOW, "open --pool cpu", 2, "cpu"),
        (ALLOW, "open --nodes 0", 2, "nodes"),
        (ALLOW, "open --for soon", 2, "soon"),
        (ALLOW, "open --until 2026-13-40T99:00:00Z", 2, "--until"),
        (ALLOW, "open --for 1h --until 22:30", 2, "for_seconds"),
        (ALLOW, "open --entry trainin", 2, "did you mean training?"),
    ],
)
def test_what_the_lab_would_not_take_is_not_put_and_says_why(
    bus: Bus, allow: dict[str, object] | None, words: str, code: int, said: str
) -> None:
    bus.deploy(allow)
    refusal = run(*words.split())

    assert refusal.returncode == code
    assert said in refusal.stderr
    assert len(refusal.stderr.splitlines()) == 1
    assert bus.put == []


def deny(monkeypatch: pytest.MonkeyPatch, *, whole: bool, code: str = "AccessDeniedException") -> None:
    """EventBridge denies the call, or the only entry of it."""

    class Denies:
        def put_events(self, **_: object) -> dict[str, Any]:
            if whole:
                raise ClientError({"Error": {"Code": code, "Message": "no"}}, "PutEvents")
            return {"Entries": [{"ErrorCode": code, "ErrorMessage": "no"}]}

    monkeypatch.setattr(event_bus, "client", lambda _service: Denies())


@pytest.mark.parametrize("whole", [True, False])
def test_somebody_whom_the_bus_does_not_let_in_reads_who_they_are_and_who_may(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    bus.deploy({"operations": OTHER})
    deny(monkeypatch, whole=whole)

    said = run("open")

    assert said.returncode == 1
    assert said.stderr == (
        "the bus lab takes events of source ops from arn:aws:iam::111122223333:user/people/ann only; "
        "you are arn:aws:sts::111122223333:assumed-role/ci/run-17\n"
    )


def test_a_principal_whose_own_policy_lacks_the_action_reads_that(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    deny(monkeypatch, whole=True)
    said = run("open")
    assert said.returncode == 1
    assert "allow the action in the caller's own policy" in said.stderr


def test_another_failure_of_eventbridge_is_the_outside_worlds(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    deny(monkeypatch, whole=False, code="InternalFailure")
    said = run("open")
    assert said.returncode == 3
    assert "InternalFailure" in said.stderr


GRANTED: dict[str, Any] = {"nodes": 1, "opens": EIGHT, "closes": EIGHT}
ANSWERS: list[Any] = [
    ("open", lambda event: LeaseGranted(**about(in_reply_to=event), **GRANTED), 0),
    ("open", lambda event: LeaseRefused(**about(in_reply_to=event)), 1),
    ("extend", lambda event: Extended(**about(in_reply_to=event), closes=EIGHT), 0),
    ("close", lambda event: PoolClosing(**about(in_reply_to=event)), 0),
]


@pytest.mark.parametrize(("verb", "told", "code"), ANSWERS)
def test_waiting_ends_with_the_answer_to_this_very_request(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, verb: str, told: Any, code: int
) -> None:
    def answer(*_: object) -> Any:
        """Somebody else is answered first."""
        others: LabEvent = LeaseRefused(**about(in_reply_to="another"))
        bus.tell(others)
        yield
        bus.tell(told("the-event"))
        yield

    monkeypatch.setattr(put, "_event", lambda *_: "the-event")
    monkeypatch.setattr(orders, "waiting", answer)

    said = run(verb, "--wait", "--json")

    assert said.returncode == code
    document = json.loads(said.stdout)
    assert document["answer"]["detail"]["in_reply_to"] == "the-event"
    assert document["answer"]["detail-type"] == told("").TYPE


def test_without_an_answer_it_says_where_a_later_one_is(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "waiting", lambda *_: iter([None]))
    said = run("open", "--wait")
    assert said.returncode == 3
    assert "lamplighter events tail" in said.stderr


def close(monkeypatch: pytest.MonkeyPatch, *words: str, answer: str | None = "n") -> CompletedProcess[str]:
    monkeypatch.setattr(agreed, "somebody_is_there", lambda: answer is not None)
    return run("close", *words, stdin=f"{answer}\n")


def test_before_a_close_a_person_sees_which_lease_would_end(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus.made.lease(nodes=1, opens=-10, owner="ci-training", name="event-1", **THEIRS)

    said = close(monkeypatch)

    assert "would end event-1: 1 node on gpu for ci-training" in said.stdout
    assert said.returncode == 1
    assert said.stderr.endswith("nothing was put on the bus\n")
    assert bus.put == []


def test_before_a_close_by_token_the_lease_of_that_open_is_shown(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("event-1", "event-2"):
        bus.made.lease(nodes=1, opens=-10, owner="ci-training", name=name, **THEIRS)
    opened = Decision(command="x", at=EIGHT, outcome="granted", reason="", lease="event-2")
    ledger = type(bus.made.capacity.ledger)
    monkeypatch.setattr(ledger, "command", lambda *_: opened)

    said = close(monkeypatch, "--token", "run-17")

    assert "would end event-2" in said.stdout


@pytest.mark.parametrize(
    ("words", "plan"),
    [
        ([], "would end nothing as things are"),
        (["--token", "run-17"], "no open with token run-17 is decided on gpu"),
    ],
)
def test_a_close_of_nothing_says_so(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, words: list[str], plan: str
) -> None:
    said = close(monkeypatch, *words, answer="y")
    assert plan in said.stdout
    assert entry(bus)["DetailType"] == "close"


@pytest.mark.parametrize(("words", "answer"), [(["--yes"], "n"), ([], None)])
def test_a_script_is_not_held_up(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, words: list[str], answer: str | None
) -> None:
    close(monkeypatch, *words, answer=answer)
    assert entry(bus)["DetailType"] == "close"
