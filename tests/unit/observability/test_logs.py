"""Each line of a log names the command, lease, pool and execution that it is about, and nothing of the event before."""

from types import SimpleNamespace

import pytest

from lamplighter.application import logs
from lamplighter.domain.commands.command import Command
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason
from tests.unit.observability.commands import OPEN

CONTEXT = SimpleNamespace(aws_request_id="11111111-2222-3333-4444-555555555555")
EXECUTION = "arn:aws:states:eu-central-1:111122223333:execution:gpu-lab-open:evening-2026-11-20"


def keys() -> dict[str, object]:
    """What stands in every line now, beside the message."""
    always = {"level", "location", "message", "timestamp", "service", "sampling_rate"}
    return {name: value for name, value in logs.logger().get_current_keys().items() if name not in always}


def test_a_step_of_a_workflow_names_what_it_works_for() -> None:
    logs.begin({"step": "Admit", "run": {"command": OPEN}, "execution": EXECUTION}, CONTEXT)

    assert keys() == {
        "command": "cli-open-1",
        "lease": Command.from_json(OPEN).lease_id,
        "pool": "gpu",
        "execution": EXECUTION,
        "step": "Admit",
        "request": CONTEXT.aws_request_id,
    }


def test_a_named_lease_is_the_commands_own() -> None:
    close = {**OPEN, "verb": "close", "lease": "evening-2026-11-20"}

    assert logs.about({"run": {"command": close}})["lease"] == "evening-2026-11-20"
    assert "lease" not in logs.about({"run": {"command": {**OPEN, "verb": "close"}}})


def test_the_next_event_begins_without_what_the_last_one_was_about() -> None:
    logs.begin({"step": "Admit", "run": {"command": OPEN}}, CONTEXT)
    logs.begin({"source": "aws.autoscaling"}, CONTEXT)

    assert keys() == {"request": CONTEXT.aws_request_id}


@pytest.mark.parametrize(
    "event", [{}, {"run": None}, {"run": {}}, {"run": {"command": "x"}}, {"Records": []}]
)
def test_an_event_that_is_no_step_is_about_nothing(event: dict[str, object]) -> None:
    assert logs.about(event) == {}


def test_a_command_that_cannot_be_read_still_names_its_pool() -> None:
    assert logs.about({"run": {"command": {"verb": "open", "pool": "gpu"}}}) == {"pool": "gpu"}


def test_the_reason_of_a_step_is_a_sentence_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[dict[str, str]] = []
    monkeypatch.setattr(logs.logger(), "info", lambda _message, *, extra: lines.append(extra))
    why = document(reason("lease.of-window", window="evening"))
    for given in (why, "an older sentence"):
        logs.done({"step": "Admit"}, {"outcome": "granted", "reason": given})

    assert [line["reason"] for line in lines] == ["the evening lease", "an older sentence"]
