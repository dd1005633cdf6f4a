"""A mistyped verb, option, value or name is answered with the nearest known one, in one line, with exit code 2."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import deployment
from cli.deployment import Deployment
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, lab_on_moto

EVENING = {"name": "evening", "nodes": 2, "days": "daily", "start": "21:00", "end": "23:00"}
POOLS: dict[str, object] = {"training": {}, "inference": {}}


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A deployed lab with two pools, a window and a lease."""
    with lab_on_moto(monkeypatch, tmp_path) as made:
        lab = Lab.model_validate(
            {"name": "lab", "pools": POOLS, "windows": [EVENING | {"pool": "training"}], "time_zone": "UTC"}
        )
        made.capacity.ledger.put_document(lab.to_json(), EIGHT)
        found = Deployment("lab", {"LedgerTable": LEDGER}, Says(EIGHT))
        monkeypatch.setattr(deployment, "find", lambda _name: found)
        yield


WORDS = [
    ("opne", "open"),
    ("local dmeo", "demo"),
    ("status --jsn", "--json"),
    ("local demo --act dya", "day"),
    ("completion bsh", "bash"),
]
NAMES = [
    ("status trainin", "training"),
    ("windows inferrence", "inference"),
    ("open trianing 2 for 1h", "training"),
    ("open 2 trianing for 1h", "training"),
    ("ack trianing for 2h", "training"),
    ("why Training", "training"),
    ("close trianing", "training"),
    ("close --all trianing", "training"),
    ("extend trianing 1h", "training"),
    ("skip evenign --yes", "evening"),
    ("experiment run nccl-bloked training", "nccl-blocked"),
    ("experiment restore nccl-bloked", "nccl-blocked"),
]


@pytest.mark.parametrize(("words", "nearest"), WORDS, ids=[words for words, _ in WORDS])
def test_a_mistyped_word_is_answered_with_the_nearest(words: str, nearest: str) -> None:
    said = lamplighter(*words.split())
    assert (said.returncode, said.stdout, len(said.stderr.splitlines())) == (2, "", 1), said.stderr
    assert "did you mean" in said.stderr.lower()
    assert nearest in said.stderr.lower().partition("did you mean")[2]


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize(("words", "nearest"), NAMES, ids=[words for words, _ in NAMES])
def test_a_mistyped_name_is_answered_with_the_nearest(words: str, nearest: str) -> None:
    said = lamplighter(*words.split())
    assert (said.returncode, said.stdout, len(said.stderr.splitlines())) == (2, "", 1), said.stderr
    assert said.stderr.endswith(f"; did you mean {nearest}?\n")


@pytest.mark.usefixtures("deployed")
def test_a_name_that_is_like_no_other_is_answered_with_all_there_are() -> None:
    said = lamplighter("status", "x")
    assert said.returncode == 2
    assert said.stderr == "POOL: there is no pool 'x', the lab has training, inference\n"


@pytest.mark.parametrize("words", ["", "events", "experiment"])
def test_without_a_verb_the_help_is_all_that_is_said(words: str) -> None:
    done = lamplighter(*words.split())
    assert (done.returncode, done.stderr) == (2, "")
    assert "Usage:" in done.stdout


def test_an_odd_option_is_told_in_one_line() -> None:
    done = lamplighter("check", "--x\ny")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("check evening.yaml", "Got unexpected extra argument(s) (evening.yaml), --help lists the options\n"),
        ("simulate --json", "Option '--json' requires an argument, --help lists the options\n"),
        ("check --json=yes", "Option '--json' does not take a value, --help lists the options\n"),
    ],
)
def test_an_option_with_too_few_or_too_many_values_is_not_called_unknown(words: str, said: str) -> None:
    done = lamplighter(*words.split())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
