"""Signing secret and bot token are one secret, and a worker of the door fetches it once for both."""

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from handlers import slack
from lamplighter.adapters.slack import secret
from lamplighter.application import environment
from lamplighter.application.slack import context as slack_context
from lamplighter.lab.model import Lab
from tests import ledger_table

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
    made = (slack.request_handler, slack_context.slack_services, environment.lab, secret.shared)
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
        monkeypatch.setattr(secret, "client", lambda *_, **__: manager)
        yield asked
    for each in made:
        each.cache_clear()


def test_the_signature_and_the_token_are_of_one_fetching(fetched: list[str]) -> None:
    assert slack.request_handler().keys.get().signing_secret == "s"
    # Nobody answers where Slack is, but the token is asked for on the way.
    assert not slack_context.slack_services().people.person("U0MINJI", "minji", frozenset(), 0.5).known

    assert len(fetched) == 1
