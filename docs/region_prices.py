"""Reads a region's prices in AWS's price list, as the rows of data/prices.json and data/auto_mode_fees.json.

`.venv/bin/python -m docs.region_prices REGION`, with credentials that may call pricing:GetProducts. The three prices of
data/standing.json stand on AWS's pages: NAT gateways in those of Amazon VPC, gp3 in Amazon EBS, load balancers.
"""

import json
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import groupby

from lamplighter.adapters.aws.price_list import PriceList
from lamplighter.data import instance_types

Price = Callable[[str, str], Decimal | None]


def rows(region: str, price: Price) -> Iterator[str]:
    """A line of JSON for each family that has a price in the region."""
    priced = [
        (name, str(found)) for name in instance_types.gpu_type_names() if (found := price(region, name))
    ]
    for _, family in groupby(priced, key=lambda each: each[0].partition(".")[0]):
        yield json.dumps(dict(family))[1:-1] + ","


def main(region: str) -> None:
    """Print both tables."""
    price_list = PriceList()
    for name, price in (("prices", price_list.on_demand), ("auto_mode_fees", price_list.auto_mode_fee)):
        sys.stdout.write("\n      ".join((f"data/{name}.json", *rows(region, price))) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
