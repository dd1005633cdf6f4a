"""Which lease people mean by a pool, by an id, or by nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.deployment import Deployment
from cli.use import meant
from lamplighter.errors import BadInput, Refused
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, LabOnMoto, lab_on_moto


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        pools = {"gpu": {"max_nodes": 3}, "big": {"max_nodes": 1}}
        document = Lab.model_validate({"name": "lab", "pools": pools}).to_json()
        made.capacity.ledger.put_document(document, EIGHT)
        yield made


def named(what: str | None) -> str:
    return meant.lease(Deployment("lab", {"LedgerTable": LEDGER}, Says(EIGHT)), what, "extend").id


def test_what_runs_is_meant_and_not_what_was_granted_ahead(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, name="cli-runs")
    lab.lease(nodes=1, opens=600, closes=700, name="cli-ahead")

    assert named(None) == named("gpu") == "cli-runs"
    assert named("cli-ahead") == "cli-ahead"


def test_several_that_run_are_named_and_so_is_what_lies_ahead(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=600, closes=700, name="cli-ahead")
    with pytest.raises(
        Refused,
        match=r"no lease runs on pool gpu: there is nothing to extend; granted ahead: cli-ahead \(alice\)",
    ):
        named("gpu")

    lab.lease(nodes=1, name="cli-1")
    lab.lease(nodes=1, name="cli-2")
    with pytest.raises(
        BadInput, match=r"several leases run on pool gpu; name one of cli-1 \(alice\), cli-2 \(alice\)"
    ):
        named("gpu")
    with pytest.raises(Refused, match="no lease runs on pool big: there is nothing to extend"):
        named("big")


def test_a_word_that_is_neither_is_bad_input(lab: LabOnMoto) -> None:
    with pytest.raises(BadInput, match="'gpus' is neither a pool nor a lease; pools: gpu, big, leases: none"):
        named("gpus")
