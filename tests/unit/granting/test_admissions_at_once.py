"""Many people ask at once, on many pools: the last money is given away once, the lab's and each owner's."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import botocore.client
import pytest

from lamplighter.adapters.capacity import kinds
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.leases.granting import admitted
from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.money import Money
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from tests.drawn import sentence
from tests.lengths import examples
from tests.unit.lab_on_moto import NODEGROUP, LabOnMoto, lab_on_moto

POOLS = [f"p{number}" for number in range(6)]
ASKED_EACH = examples(2, 6)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    call, one_at_a_time = botocore.client.BaseClient._make_api_call, threading.RLock()  # type: ignore[attr-defined]

    def alone(*args: Any) -> Any:
        # moto's tables are not thread-safe; between two calls anything may still happen.
        with one_at_a_time:
            return call(*args)

    with lab_on_moto(monkeypatch, tmp_path) as made:
        monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", alone)
        yield made


def lease_services(lab: LabOnMoto) -> LeaseServices:
    """One budget of 10 USD, 3 of them the class's, for six pools that cost 1 USD an hour a node."""
    pool = {"existing": NODEGROUP, "instance_type": "g5.xlarge", "max_nodes": 9, "price_per_hour": "1"}
    document = {
        "name": "lab",
        "cluster": {"existing": "lab"},
        "pools": dict.fromkeys(POOLS, pool),
        "guard": {"budget": {"amount": "10", "owners": {"class": "3"}}},
    }
    made: LeaseServices = lab.guard_services.lease_services
    there = made.capacity
    six = Lab.model_validate(document)
    capacity = CapacityServices(six, there.ledger, kinds.of_lab(six))
    return replace(made, capacity=capacity)


def ask(lease_services: LeaseServices, pool: str, owner: str, number: int) -> dict[str, object]:
    """A command, tried again as its workflow would."""
    now = lease_services.now()
    command = Command.from_json(
        {
            "id": f"{pool}-{owner}-{number}",
            "verb": "open",
            "pool": pool,
            "nodes": 1,
            "for_seconds": 3600,
            "owner": owner,
            "by": owner,
            "source": "cli",
            "issued": now.isoformat(),
            "expires": "2026-11-21T20:00:00Z",
            "add": True,
        }
    )
    while True:
        try:
            return admitted(command, lease_services)
        except TryLater:
            continue


@pytest.mark.longer
def test_the_last_money_is_given_away_once_however_many_ask(lab: LabOnMoto) -> None:
    at = lease_services(lab)
    asked = [(pool, owner, n) for n in range(ASKED_EACH) for pool in POOLS for owner in ("class", "bob")]

    with ThreadPoolExecutor(examples(6, 12)) as people:
        answers = list(people.map(lambda one: ask(at, *one), asked))

    leases: list[Lease] = [lease for pool in POOLS for lease in at.ledger.leases(pool)]
    budget = at.ledger.budget("2026-11", "USD")
    assert len(leases) == sum(answer["outcome"] == "granted" for answer in answers) == 10
    assert budget.held == sum((lease.hold for lease in leases), Money.zero("USD")) == Money.of(10, "USD")
    assert (
        budget.account("class").held
        == Money.of(sum(lease.owner == "class" for lease in leases), "USD")
        <= Money.of(3, "USD")
    )
    assert all(
        "is left until" in sentence(answer["reason"]) for answer in answers if answer["outcome"] != "granted"
    )
