"""The Slack app's secrets: read once a worker, again at most once a minute, and shown nowhere."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lamplighter import clock
from lamplighter.adapters.slack.secret import Secrets, SlackSecret
from lamplighter.errors import OutsideFailed
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


def at(stopped: Path, moment: datetime) -> None:
    stop_at(stopped, moment)


def secret(manager: SecretsManager) -> SlackSecret:
    return SlackSecret("arn:slack", manager, clock.now)  # type: ignore[arg-type]


def test_it_is_read_once_and_again_a_minute_later_where_it_does_not_fit(stopped: Path) -> None:
    at(stopped, EIGHT)
    manager = SecretsManager('{"signing_secret": "old", "bot_token": "xoxb-1"}')
    kept = secret(manager)
    assert {kept.get() for _ in range(5)} == {Secrets("old", "xoxb-1")}
    assert manager.asked == 1

    manager.text = '{"signing_secret": "new", "bot_token": "xoxb-1"}'
    at(stopped, EIGHT + timedelta(seconds=59))
    assert kept.renewed() is None
    at(stopped, EIGHT + timedelta(seconds=60))
    assert kept.renewed() == Secrets("new", "xoxb-1")
    assert kept.renewed() is None
    assert kept.get().signing_secret == "new"
    assert manager.asked == 2


def test_an_empty_one_is_empty_and_half_a_one_is_half(stopped: Path) -> None:
    at(stopped, EIGHT)
    assert secret(SecretsManager("{}")).get() == Secrets("", "")
    assert secret(SecretsManager('{"signing_secret": "s", "bot_token": null}')).get() == Secrets("s", "")


@pytest.mark.parametrize("text", ["", "8f742231b10e", '["8f742231b10e"]', '{"signing_secret": "8f742231b10e'])
def test_what_is_no_secret_of_ours_is_said_without_quoting_it(stopped: Path, text: str) -> None:
    at(stopped, EIGHT)
    with pytest.raises(OutsideFailed, match="Write signing_secret and bot_token") as refused:
        secret(SecretsManager(text)).get()
    assert "8f74" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_it_is_shown_nowhere() -> None:
    assert "hush" not in repr(Secrets("hush", "hush-too"))
