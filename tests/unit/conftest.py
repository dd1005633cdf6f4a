"""A ledger on moto; and every text that any unit test has said is said in every other language, too."""

from collections.abc import Iterator
from functools import wraps

import boto3
import pytest
from moto import mock_aws

from lamplighter.adapters.aws.ledger import Ledger
from lamplighter.data.texts import Texts, languages, rendered
from tests import ledger_table


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """An empty one, in the table `ledger`."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-northeast-2")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        client = boto3.client("dynamodb")
        ledger_table.create(client, "ledger")
        yield Ledger("ledger", client)


@pytest.fixture(autouse=True)
def _in_every_language(monkeypatch: pytest.MonkeyPatch) -> None:
    say = Texts.say

    @wraps(say)
    def in_every_language(self: Texts, key: str, /, **values: object) -> str:
        if (key, *values) not in _SAID:
            for language in languages():
                rendered(language, key, values)
            _SAID.add((key, *values))
        return say(self, key, **values)

    monkeypatch.setattr(Texts, "say", in_every_language)


_SAID: set[tuple[str, ...]] = set()
"""Texts with the names of their values: pages say the same ones thousands of times."""
