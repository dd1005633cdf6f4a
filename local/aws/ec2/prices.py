"""What an instance costs an hour here: the product's table, else an estimate from its hardware, and the spot price.

Spot prices are invented. They differ by type and zone, change every 50 minutes, and are 30 to 70 % of the on-demand
price [est].
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache

from moto.ec2.models.instance_types import INSTANCE_TYPES

from lamplighter.data.prices import on_demand as listed

#: Dollars an hour for a vCPU, a GiB and a GPU, near the general families of us-east-1 [est].
VCPU, GIB, GPU = 0.033, 0.004, 0.6
LOWEST_SHARE, SHARES = 0.3, 0.4


@cache
def on_demand(region: str, instance_type: str) -> float:
    """The on-demand Linux price."""
    price = listed(region, instance_type)
    return float(price) if price is not None else _estimated(instance_type)


#: Seconds between two changes of a spot price.
SPOT_CHANGES = 3000


def spot_path(
    region: str, instance_type: str, zone: str, since: datetime, until: datetime
) -> Iterator[tuple[datetime, float]]:
    """Each change of the spot price in [since, until], the newest first, and the last one before it."""
    for number in range(
        int(until.timestamp()) // SPOT_CHANGES, int(since.timestamp()) // SPOT_CHANGES - 1, -1
    ):
        moment = datetime.fromtimestamp(number * SPOT_CHANGES, UTC)
        yield moment, spot(region, instance_type, zone, number)


@cache
def spot(region: str, instance_type: str, zone: str, change: int = 0) -> float:
    """The spot price in a zone, after a change of it."""
    digest = hashlib.sha256(f"{instance_type} {zone} {change}".encode()).digest()
    share = LOWEST_SHARE + SHARES * digest[0] / 255
    return round(on_demand(region, instance_type) * share, 4)


def _estimated(instance_type: str) -> float:
    known = INSTANCE_TYPES.get(instance_type, {})
    vcpus = known.get("VCpuInfo", {}).get("DefaultVCpus", 2)
    gib = known.get("MemoryInfo", {}).get("SizeInMiB", 4096) / 1024
    gpus = sum(board.get("Count", 0) for board in known.get("GpuInfo", {}).get("Gpus", []))
    price: float = vcpus * VCPU + gib * GIB + gpus * GPU
    return round(price, 4)
