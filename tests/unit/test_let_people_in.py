"""The rights that the how-to gives to people are enough for the verbs it names."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import deployment, orders
from cli.deployment import Deployment
from docs.generate import ROOT
from lamplighter.lab import Lab
from tests.programs import lamplighter
from tests.unit import aws_calls
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import EIGHT, LEDGER, LabOnMoto, lab_on_moto

PAGE = (ROOT / "docs/how-to/let-people-in.md").read_text("utf-8")
POLICIES = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
LOOK = [["status"], ["leases"], ["windows"], ["why"], ["cost"], ["page", "--json"], ["experiment", "list"]]
USE = [
    ["open", "1"],
    ["close", "--yes"],
    ["close", "--all", "--yes"],
    ["extend", "10m"],
    ["keep"],
    ["skip", "evening", "--yes"],
    ["pause", "--yes"],
    ["resume"],
    ["ack"],
    ["arm", "--yes"],
    ["arm"],
]
#: botocore's names of services that IAM calls otherwise.
IAM_CALLS = {"SFN": "states", "Auto Scaling": "autoscaling"}
#: Everybody may ask who they are.
FREE = {"sts:GetCallerIdentity"}


def allowed(*policies: dict[str, list[dict[str, str | list[str]]]]) -> set[str]:
    actions = [statement["Action"] for policy in policies for statement in policy["Statement"]]
    return {each for action in actions for each in ([action] if isinstance(action, str) else action)} | FREE


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    monkeypatch.chdir(tmp_path)  # where `page` writes
    window = {"name": "evening", "days": "daily", "start": "21:00", "end": "23:00", "time_zone": "UTC"}
    with lab_on_moto(monkeypatch, tmp_path) as made:
        document = Lab.model_validate({"name": "lab", "windows": [window]}).to_json()
        made.capacity.ledger.put_document(document, EIGHT)
        made.lease(nodes=1, opens=-10, closes=50)
        outputs = {
            "LedgerTable": LEDGER,
            **dict.fromkeys(("OpenLabArn", "CloseLabArn", "ExtendLeaseArn", "ChangeLabArn"), made.close_lab),
        }
        found = Deployment("lab", outputs, Says(EIGHT))
        monkeypatch.setattr(deployment, "find", lambda _name: found)
        # Nobody decides here: that the workflow was started is all there is to see.
        monkeypatch.setattr(orders, "DECISION_SECONDS", 0)
        yield made


@pytest.fixture
def called(lab: LabOnMoto) -> Iterator[set[str]]:
    """Every call to AWS, as IAM names it."""
    names: set[str] = set()

    def note(service: str, operation: str) -> None:
        names.add(f"{IAM_CALLS.get(service, service.lower())}:{operation}")

    with aws_calls.heard(note):
        yield names


@pytest.mark.parametrize("words", LOOK, ids=" ".join)
def test_who_may_look_can(words: list[str], called: set[str]) -> None:
    lamplighter(*words)

    assert called
    assert called <= allowed(POLICIES[0])


@pytest.mark.parametrize("words", USE, ids=" ".join)
def test_who_may_open_and_close_can(words: list[str], called: set[str]) -> None:
    lamplighter(*words)

    assert called <= allowed(*POLICIES)
    assert "states:StartExecution" in called or words == ["arm"]
