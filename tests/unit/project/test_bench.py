"""`make bench` and its page agree on what is measured. The figures themselves are not tested."""

import re
from pathlib import Path

import pytest

from tests.bench import deciding, windows
from tests.bench.__main__ import MEASUREMENTS
from tests.bench.figure import Measurement, shown

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "performance.md"


def test_every_figure_is_explained_and_nothing_else_is() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\S+) \|", PAGE.read_text("utf-8"), re.MULTILINE)

    printed = [figure for measurement in MEASUREMENTS for figure in measurement.figures.items()]

    assert rows == printed


def test_a_figure_is_a_line_of_name_value_and_unit() -> None:
    lines = [line for measurement in windows.MEASUREMENTS for line in measurement.lines()]

    assert [re.fullmatch(r"year-of-windows \d[\d.]* ms", line) is not None for line in lines] == [True]


def test_the_benchmark_decides_about_running_windows_and_about_windows_without_a_lease() -> None:
    labs = deciding.Labs(40, deciding.AT)

    nodes = {found.target.nodes for found in labs.decide().values()}
    unmet = sum(len(found.unmet) for found in deciding.Labs(40, deciding.AT, refused=True).decide().values())

    assert nodes == {0, 1, 2}
    assert unmet > 10


def test_a_figure_that_was_promised_and_not_measured_is_an_error() -> None:
    with pytest.raises(ValueError, match="promised"):
        list(Measurement({"a": "s"}, lambda: {"b": 1.0}).lines())


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (12345.6, "12346"), (12.34, "12.3"), (1.234, "1.23"), (0.0008942, "0.00089")],
)
def test_a_value_shows_the_digits_that_mean_something(value: float, text: str) -> None:
    assert shown(value) == text
