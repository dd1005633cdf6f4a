"""A ledger and a lab on moto; and every text that any test has said is said in every other language, too."""

from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.data.texts import Texts, languages, rendered
from local.aws.api.dynamodb_queries import read_partitions
from local.aws.api.moto_cache import remember_keys
from tests import ledger_table
from tests.unit.lab_on_moto import LabOnMoto, lab_on_moto

# Most of the time of a test on moto would be the search for what it answers.
remember_keys()
read_partitions()


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    """A deployed lab at eight in the evening, its pool at zero."""
    with lab_on_moto(monkeypatch, tmp_path) as made:
        yield made


@pytest.fixture
def dynamodb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """With a ledger's table, `ledger`, and nothing in it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-northeast-2")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        client = boto3.client("dynamodb")
        ledger_table.create(client, "ledger")
        yield client


@pytest.fixture
def ledger(dynamodb: Any) -> Ledger:
    """An empty one."""
    return Ledger("ledger", dynamodb)


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
