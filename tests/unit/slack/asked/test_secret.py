"""The Slack app's secrets: fetched once a worker for both, again at most once a minute, and shown nowhere."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from handlers import slack
from lamplighter import clock
from lamplighter.adapters.slack import secret as secret_module
from lamplighter.adapters.slack.secret import Secrets, SlackSecret
from lamplighter.application import environment
from lamplighter.application.slack import context as slack_context
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from tests import ledger_table
from tests.stopped_clock import stop_at
from tests.unit.slack.recording import EIGHT


class SecretsManager:
    """Secrets Manager with one secret, and how often it was asked."""

    def __init__(self, text: str) -> None:
        self.text, self.asked = text, 0

    def get_secret_value(self, *, SecretId: str) -> dict[str, str]:  # noqa: N803 - AWS's own name
        assert SecretId == "arn:slack"
        self.asked += 1
        return {"SecretString": self.text}


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LAMPLIGHTER_INSTANT", str(tmp_path / "clock"))
    return tmp_path / "clock"


def secret(manager: SecretsManager) -> SlackSecret:
    return SlackSecret("arn:slack", manager, clock.now)  # type: ignore[arg-type]


def test_it_is_read_once_and_again_a_minute_later_where_it_does_not_fit(stopped: Path) -> None:
    stop_at(stopped, EIGHT)
    manager = SecretsManager('{"signing_secret": "old", "bot_token": "xoxb-1"}')
    kept = secret(manager)
    assert {kept.get() for _ in range(5)} == {Secrets("old", "xoxb-1")}
    assert manager.asked == 1

    manager.text = '{"signing_secret": "new", "bot_token": "xoxb-1"}'
    stop_at(stopped, EIGHT + timedelta(seconds=59))
    assert kept.renewed() is None
    stop_at(stopped, EIGHT + timedelta(seconds=60))
    assert kept.renewed() == Secrets("new", "xoxb-1")
    assert kept.renewed() is None
    assert kept.get().signing_secret == "new"
    assert manager.asked == 2


def test_an_empty_one_is_empty_and_half_a_one_is_half(stopped: Path) -> None:
    stop_at(stopped, EIGHT)
    assert secret(SecretsManager("{}")).get() == Secrets("", "")
    assert secret(SecretsManager('{"signing_secret": "s", "bot_token": null}')).get() == Secrets("s", "")


@pytest.mark.parametrize("text", ["", "8f742231b10e", '["8f742231b10e"]', '{"signing_secret": "8f742231b10e'])
def test_what_is_no_secret_of_ours_is_said_without_quoting_it(stopped: Path, text: str) -> None:
    stop_at(stopped, EIGHT)
    with pytest.raises(OutsideFailed, match="Write signing_secret and bot_token") as refused:
        secret(SecretsManager(text)).get()
    assert "8f74" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_it_is_shown_nowhere() -> None:
    assert "hush" not in repr(Secrets("hush", "hush-too"))


SETTINGS = {
    "AWS_REGION": "ap-northeast-2",
    "AWS_DEFAULT_REGION": "ap-northeast-2",
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "LEDGER_TABLE": "ledger",
    "LAB_FILE": "lab.json",
    "SLACK_API_URL": "http://127.0.0.1:9/api/",
    **{f"{name}_ARN": f"arn:{name}" for name in ("OPEN_LAB", "CLOSE_LAB", "EXTEND_LEASE", "CHANGE_LAB")},
}


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """A fresh worker, and what it asks Secrets Manager for."""
    asked: list[str] = []
    lab = Lab.model_validate({"name": "lab", "slack": {}})
    (tmp_path / "lab.json").write_text(lab.to_json(), "utf-8")
    for name, value in {**SETTINGS, "LAMBDA_TASK_ROOT": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    made = (slack.request_handler, slack_context.slack_services, environment.lab, secret_module.shared)
    for each in made:
        each.cache_clear()
    with mock_aws():
        ledger_table.create(boto3.client("dynamodb"), "ledger")
        manager = boto3.client("secretsmanager")
        text = json.dumps({"signing_secret": "s", "bot_token": "xoxb-1"})
        arn = manager.create_secret(Name="lab-slack", SecretString=text)["ARN"]
        monkeypatch.setenv("SLACK_SECRET_ARN", arn)
        manager.meta.events.register(
            "before-parameter-build.secretsmanager.GetSecretValue",
            lambda params, **_: asked.append(params["SecretId"]),
        )
        monkeypatch.setattr(secret_module, "client", lambda *_, **__: manager)
        yield asked
    for each in made:
        each.cache_clear()


def test_the_signature_and_the_token_are_of_one_fetching(fetched: list[str]) -> None:
    assert slack.request_handler().keys.get().signing_secret == "s"
    # Nobody answers where Slack is, but the token is asked for on the way.
    assert not slack_context.slack_services().people.person("U0MINJI", "minji", frozenset(), 0.5).known
    assert len(fetched) == 1
