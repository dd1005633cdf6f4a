"""A verb that takes something away shows it first: it asks a person, obeys `--yes`, and does not stop a script."""

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import boto3
import pytest

from cli import deployment
from cli.deployment import Deployment
from cli.look_after import arm
from cli.use import agreed, orders
from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.planner.plan import PlannerServices, plan_all
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, lab_on_moto

EVENING = {"name": "evening", "nodes": 2, "days": "daily", "start": "21:00", "end": "23:00"}
SHOWN = "would not open: evening-2026-11-20, Fri 20 Nov 21:00 UTC to Fri 20 Nov 23:00 UTC, 2 nodes on gpu"


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Command]]:
    """A deployed lab with a window in an hour and a running lease; yields the commands that reach AWS."""
    commands: list[Command] = []

    def give(_found: Deployment, command: Command) -> Decision:
        commands.append(command)
        return Decision(command=command.id, at=EIGHT, outcome="done", reason="as asked")

    with lab_on_moto(monkeypatch, tmp_path) as made:
        made.capacity.lab = Lab.model_validate({"name": "lab", "time_zone": "UTC", "windows": [EVENING]})
        topic = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
        plan_all(
            PlannerServices(
                made.guard_services.lease_services,
                made.guard_services.workflows,
                Notices(topic),
                extend_lease=made.close_lab,
            )
        )
        made.lease(nodes=1, opens=-10, closes=110)
        # An experiment needs a lease whose GPUs are proven.
        made.capacity.ledger.advance("gpu", "cli-1", LeaseState.OPEN, EIGHT)
        found = Deployment("lab", {"LedgerTable": LEDGER}, Says(EIGHT))
        monkeypatch.setattr(deployment, "find", lambda _name: found)
        monkeypatch.setattr(orders, "give", give)
        monkeypatch.setattr(arm, "would_change", lambda *_: [])
        yield commands


def say(monkeypatch: pytest.MonkeyPatch, words: str, answer: str | None) -> CompletedProcess[str]:
    """Run the words with this answer to the question; None: no terminal."""
    monkeypatch.setattr(agreed, "somebody_is_there", lambda: answer is not None)
    return lamplighter(*words.split(), stdin=f"{answer}\n")


PLANS: list[Any] = [
    ("skip evening", SHOWN, "nothing was skipped"),
    ("skip evening 2027-01-01", "would not open: window evening on 2027-01-01", "nothing was skipped"),
    ("pause", SHOWN, "nothing was paused"),
    ("pause for 30m", "nothing that is planned so far would stay closed", "nothing was paused"),
    ("close", "would end cli-1: 1 node on gpu for alice", "nothing was closed"),
    ("close --all gpu", "would end cli-1: 1 node on gpu for alice", "nothing was closed"),
    ("arm gpu", "the guard would change nothing on pool gpu now", "nothing was changed"),
    ("experiment run device-plugin-off gpu --no-wait", "  restored by ", "nothing was changed"),
]
NAMES = [words for words, _, _ in PLANS]


@pytest.mark.parametrize(("words", "shown", "otherwise"), PLANS, ids=NAMES)
def test_a_person_sees_what_would_happen_and_may_say_no_or_yes_also_beforehand(
    given: list[Command], monkeypatch: pytest.MonkeyPatch, words: str, shown: str, otherwise: str
) -> None:
    declined = say(monkeypatch, words, "n")
    assert shown in declined.stdout
    assert declined.returncode == 1
    assert declined.stderr.endswith(f"{otherwise}\n")
    assert given == []

    agreed_to = say(monkeypatch, words, "y")
    assert shown in agreed_to.stdout
    assert len(given) == 1

    beforehand = say(monkeypatch, f"{words} --yes", "n")
    assert shown not in beforehand.stdout
    assert len(given) == 2


@pytest.mark.parametrize("words", ["skip evening", "pause", "close"])
def test_a_script_is_not_held_up(given: list[Command], monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    say(monkeypatch, words, None)
    assert len(given) == 1


@pytest.mark.parametrize("words", ["close --all gpu", "arm gpu"])
def test_what_takes_away_much_wants_a_word_from_a_script(
    given: list[Command], monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    said = say(monkeypatch, words, None)
    assert said.returncode == 1
    assert "say --yes" in said.stderr
    assert given == []


@pytest.mark.parametrize("words", ["skip evening", "pause", "close"])
def test_a_plan_spoils_no_document(given: list[Command], monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    said = say(monkeypatch, f"{words} --json", "y")
    document = json.loads(said.stdout)
    assert (document[0] if isinstance(document, list) else document)["reason"] == "as asked"
