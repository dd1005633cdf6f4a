"""`guard.budget.owners` as lab.yaml writes it: exact amounts by owner, and one clear line for what is wrong."""

from decimal import Decimal

import pytest

from lamplighter.domain.leases.terms import terms
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse


def read(owners: str) -> Lab | list[str]:
    found = parse(f"name: x\nguard: {{budget: {{owners: {owners}}}}}\n", "f")
    return found if isinstance(found, Lab) else [str(problem) for problem in found]


def test_amounts_are_as_written_and_come_back() -> None:
    lab = read('{evening-class: "0.10", "team a": 40}')

    assert isinstance(lab, Lab)
    assert lab.guard.budget.owners == {"evening-class": Decimal("0.10"), "team a": Decimal(40)}
    assert Lab.from_json(lab.to_json()) == lab
    assert str(terms(lab, "gpu").owners["evening-class"]) == "0.10 USD"


def test_without_owners_everything_is_as_it_was() -> None:
    lab = read("null")
    assert isinstance(lab, Lab)
    assert lab == parse("name: x")
    assert terms(lab, "gpu").owners == {}


@pytest.mark.parametrize(
    ("owners", "problem"),
    [
        ("{a: -1}", "f:2: guard.budget.owners.a: is -1, write an amount from 0 to 1000000000 such as 120 or 1.237"),
        (
            "{a: true}",
            "f:2: guard.budget.owners.a: is true, write an amount from 0 to 1000000000 such as 120 or 1.237",
        ),
        ("[a]", "f:2: guard.budget.owners: is a list, write a mapping of keys to values"),
        ('{"": 3}', 'f:2: guard.budget.owners."": is empty, write something or leave it out'),
        ("{a: 1, a: 2}", "f:2: guard.budget.owners.a: is written twice, first in line 2; keep one"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(owners: str, problem: str) -> None:
    assert read(owners) == [problem]
