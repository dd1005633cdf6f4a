"""The shipped tables of prices have the same regions; a script prints a region's rows from AWS's price list."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from docs.region_prices import rows
from lamplighter import data
from lamplighter.data import prices

TABLES = [Path(data.__file__).with_name(f"{name}.json") for name in ("prices", "auto_mode_fees", "standing")]


def regions(table: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(table.read_text("utf-8"))["regions"]
    return found


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_table_has_every_region(table: Path) -> None:
    assert list(regions(table)) == prices.known_regions()


def test_every_region_has_each_price_of_what_stands_there() -> None:
    assert len({frozenset(region) for region in regions(TABLES[2]).values()}) == 1


def test_the_script_prints_the_rows_of_a_table_one_line_a_family() -> None:
    known = {"g5.xlarge": Decimal("1.237"), "g5.2xlarge": Decimal("1.49"), "g6.xlarge": Decimal("0.989")}

    assert list(rows("ap-northeast-2", lambda _, name: known.get(name))) == [
        '"g5.xlarge": "1.237", "g5.2xlarge": "1.49",',
        '"g6.xlarge": "0.989",',
    ]
