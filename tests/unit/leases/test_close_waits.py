"""`close --wait` returns when what comes after it finds the receipt: it is written after the lease is closed."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli import deployment
from cli.deployment import Deployment
from cli.use import orders, wait
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.leases.lease import Lease
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, LabOnMoto, lab_on_moto
from tests.unit.leases.steps import of


def _decided(_found: Deployment, command: Command) -> Decision:
    return Decision(command=command.id, at=EIGHT, outcome="closing", reason="as asked")


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        made.capacity.ledger.put_document(made.lab.to_json(), EIGHT)
        found = Deployment("lab", {"LedgerTable": LEDGER}, Says(EIGHT))
        monkeypatch.setattr(deployment, "find", lambda _name: found)
        monkeypatch.setattr(orders, "give", _decided)
        yield made


def _settled(lease: Lease) -> None:
    of(lease.id, state={"S": "closed"})


def _waited(monkeypatch: pytest.MonkeyPatch, *meanwhile: Callable[[], object]) -> int:
    """How often it waited; each time one thing more has happened, in the end only time passes."""
    now, left, waited = 0.0, list(meanwhile), 0

    def sleep(seconds: float) -> None:
        nonlocal now, waited
        now, waited = now + seconds, waited + 1
        if left:
            left.pop(0)()

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    said = lamplighter("close", "gpu", "--yes", "--wait")
    assert (said.returncode, left) == (0, []), said.stderr
    return waited


def test_it_waits_for_the_receipt(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> None:
    lease, ledger = lab.lease(nodes=1, opens=-10, closes=50), lab.capacity.ledger

    waited = _waited(
        monkeypatch,
        lambda: _settled(lease),
        lambda: None,
        lambda: ledger.put_receipt("gpu", lease.closes, lease.id, {"lease": lease.id}),
    )

    assert waited == 3


def test_zero_is_proven_without_it(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = lab.lease(nodes=1, opens=-10, closes=50)
    waited = _waited(monkeypatch, lambda: _settled(lease))
    assert waited == 1 + wait.RECEIPT_SECONDS / wait.POLL_SECONDS
