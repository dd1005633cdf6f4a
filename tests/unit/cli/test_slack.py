"""`lamplighter slack` prints a manifest that Slack accepts, and stores secrets without showing them."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from ruamel.yaml import YAML

from cli.look_after import slack, slack_manifest
from lamplighter.adapters.aws import secrets
from tests.programs import lamplighter

URL = "https://abc123.execute-api.ap-northeast-2.amazonaws.com/slack"
SIGNING_SECRET = "8f742231b10e8888abcd99e4bbb85a5f"
BOT_TOKEN = "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcBrzbqgy"


def run(*words: str, stdin: str = "") -> CompletedProcess[str]:
    return lamplighter("slack", *words, stdin=stdin)


def manifest(lab: str = "gpu-lab", command: str = "gpu") -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(slack_manifest.manifest(lab, command, URL))
    return found


def test_the_manifest_has_the_labs_word_and_its_address_for_commands_and_buttons() -> None:
    said = manifest(command="lab")

    [command] = said["features"]["slash_commands"]
    assert (command["command"], command["url"]) == ("/lab", URL)
    assert said["settings"]["interactivity"] == {"is_enabled": True, "request_url": URL}
    assert said["oauth_config"]["scopes"]["bot"] == [
        "chat:write",
        "commands",
        "usergroups:read",
        "users:read",
    ]
    assert said["settings"]["socket_mode_enabled"] is False


def test_the_manifest_keeps_to_slacks_lengths_whatever_the_lab_is_called() -> None:
    said = manifest(lab="l" * 40)

    assert len(said["display_information"]["name"]) <= 35
    assert len(said["display_information"]["description"]) <= 140
    assert len(said["features"]["bot_user"]["display_name"]) <= 80
    [command] = said["features"]["slash_commands"]
    assert len(command["usage_hint"]) <= 1000
    assert len(command["description"]) <= 2000


def of_file(folder: Path, text: str, url: str = URL) -> CompletedProcess[str]:
    """The manifest of a lab file."""
    (folder / "lab.yaml").write_text(f"name: tiny\n{text}", "utf-8")
    return run("manifest", "--lab", str(folder / "lab.yaml"), "--url", url)


def test_a_manifest_of_a_file_needs_no_account(tmp_path: Path) -> None:
    said = of_file(tmp_path, "slack: {command: tiny}\n")
    assert said.returncode == 0
    assert YAML(typ="safe").load(said.stdout)["features"]["slash_commands"][0]["command"] == "/tiny"


@pytest.mark.parametrize("url", ["http://example.com/slack", "ftp://x", "https://a b", "slack"])
def test_an_address_that_slack_does_not_post_to_is_refused(tmp_path: Path, url: str) -> None:
    said = of_file(tmp_path, "slack: {}\n", url)
    assert (said.returncode, said.stdout, len(said.stderr.splitlines())) == (2, "", 1)


def test_a_lab_without_slack_has_no_manifest(tmp_path: Path) -> None:
    said = of_file(tmp_path, "")
    assert said.returncode == 2
    assert "has no slack key" in said.stderr


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A deployed lab with Slack; yields what is written into its secret."""
    written: list[str] = []

    class SecretsManager:
        def put_secret_value(self, *, SecretId: str, SecretString: str) -> None:  # noqa: N803 (AWS's names)
            written.extend([SecretId, SecretString])

    monkeypatch.setattr(secrets, "client", lambda _: SecretsManager())
    monkeypatch.setattr(slack, "_outputs", lambda _: {"SlackUrl": URL, "SlackSecretArn": "arn:secret"})
    monkeypatch.setattr(slack, "_command", lambda _: "gpu")
    return written


def test_both_secrets_are_read_from_two_lines_and_shown_nowhere(put: list[str]) -> None:
    said = run("secret", stdin=f"{SIGNING_SECRET}\n{BOT_TOKEN}\n")
    assert said.returncode == 0
    assert put[0] == "arn:secret"
    assert json.loads(put[1]) == {"signing_secret": SIGNING_SECRET, "bot_token": BOT_TOKEN}
    assert SIGNING_SECRET not in said.stdout + said.stderr
    assert BOT_TOKEN not in said.stdout + said.stderr


@pytest.mark.parametrize(
    "given", ["", "abc\n", f"{BOT_TOKEN}\n{SIGNING_SECRET}\n", f"{SIGNING_SECRET}\nxoxp-1\n"]
)
def test_what_is_no_secret_is_refused_without_being_repeated(put: list[str], given: str) -> None:
    refusal = run("secret", stdin=given)
    assert refusal.returncode == 2
    assert put == []
    for word in given.split():
        assert word not in refusal.stdout + refusal.stderr
