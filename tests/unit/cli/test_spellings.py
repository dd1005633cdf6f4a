"""The command line reads the words of Slack: numbers as words, am and pm, lengths without `for`."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from cli import deployment
from cli.deployment import Deployment
from cli.use import agreed, meant
from lamplighter.domain.commands.words import OpenWords
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, HOUR
from tests.programs import lamplighter
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, lab_on_moto


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Deployment]:
    """A deployed lab at eight in the evening."""
    with lab_on_moto(monkeypatch, tmp_path) as made:
        evening = {"name": "evening", "days": "daily", "start": "20:00", "end": "22:00"}
        lab = Lab.model_validate({"name": "lab", "time_zone": "UTC", "windows": [evening]})
        made.capacity.ledger.put_document(lab.to_json(), EIGHT)
        yield Deployment("lab", {"LedgerTable": LEDGER}, Says(EIGHT))


@pytest.mark.parametrize(("words", "read"), [
    ("two for 9h", OpenWords(nodes=2, duration=timedelta(hours=9))),
    ("2 nodes 90m", OpenWords(nodes=2, duration=timedelta(minutes=90))),
    ("gpu until 10pm", OpenWords("gpu", closes=EIGHT + 2 * HOUR)),
    ("1 til 22:30", OpenWords(nodes=1, closes=EIGHT + 2.5 * HOUR)),
    ("1 from 21:00 to 22:30", OpenWords(nodes=1, opens=EIGHT + HOUR, closes=EIGHT + 2.5 * HOUR)),
    ("1 at tomorrow 20:00 for 1h because two of us", OpenWords(
        nodes=1, opens=EIGHT + 24 * HOUR, duration=HOUR, because="two of us")),
])  # fmt: skip
def test_open_reads_what_slack_reads(deployed: Deployment, words: str, read: OpenWords) -> None:
    assert meant.open_words(deployed, words.split()) == read


@pytest.mark.parametrize("words", [
    "evening 2026-12-24", "Evening 2026-12-24.", "the evening window on 2026-12-24 because of the holiday",
])  # fmt: skip
def test_skip_reads_what_slack_reads(
    deployed: Deployment, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setattr(deployment, "find", lambda _name: deployed)
    monkeypatch.setattr(agreed, "somebody_is_there", lambda: True)
    said = lamplighter("skip", *words.split(), stdin="n\n")
    assert "would not open: window evening on 2026-12-24" in said.stdout, said.stderr
