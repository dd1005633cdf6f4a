"""The list of mutations fits the present code, and each law that can be broken has a mutation."""

from pathlib import Path

import pytest

from tests.mutations.__main__ import told
from tests.mutations.breakages import BREAKAGES, Breakage
from tests.mutations.experiments import stories

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("breakage", BREAKAGES, ids=[breakage.what for breakage in BREAKAGES])
def test_what_is_taken_out_stands_exactly_once(breakage: Breakage) -> None:
    for file, text in [(breakage.file, breakage.text), *((file, text) for file, text, _ in breakage.more)]:
        assert (ROOT / file).read_text("utf-8").count(text) == 1


def test_each_breakage_has_its_row_on_the_page() -> None:
    page = (ROOT / "docs" / "explanation" / "mutations.md").read_text("utf-8")

    assert [each.what for each in BREAKAGES if f"| {each.law} | {each.what} |" not in page] == []


def test_every_law_has_a_breakage() -> None:
    assert {breakage.law for breakage in BREAKAGES} == set(range(1, 11))


def test_what_is_tried_on_experiments_breaks_nothing_while_nothing_is_taken_out() -> None:
    assert [broken for let in stories() for broken in let()] == []


def test_what_a_hunt_found_stands_below_the_metrics_that_the_product_prints() -> None:
    printed = (
        '{"_aws":{"Timestamp":1}}\n{"_aws":{"Timestamp":2}}\n{"histories": 3, "broken": "law 1: too long"}\n'
    )

    assert told(printed) == {"histories": "3", "broken": "law 1: too long"}
