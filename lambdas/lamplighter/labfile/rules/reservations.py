"""Whether a pool that is bought from a reservation has what that needs. AWS's facts of it are the doctor's."""

from collections.abc import Iterator

from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.pools import Pool
from lamplighter.labfile.rules.parts import Misfit


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The pools whose keys about a reservation do not fit each other, or the pool."""
    for name, pool in lab.pools.items():
        path: Path = ("pools", name)
        if pool.buy != "reserved":
            yield from _without(path, pool)
            continue
        yield from _alone(path, pool)
        if pool.of_block and "price_per_hour" in pool.model_fields_set:
            text = "is for nodes that are paid by the hour, but a Capacity Block is prepaid; leave it out"
            yield Misfit((*path, "price_per_hour"), text, _reads(path, "reservation_type"))


def _without(path: Path, pool: Pool) -> Iterator[Misfit]:
    """Keys of a reservation in a pool that is bought in another way."""
    for key, given in (
        ("reservation", pool.reservation is not None),
        ("reservation_type", pool.reservation_type != "on-demand"),
    ):
        if given:
            text = f"is for a pool with buy: reserved, and this one is {pool.buy}; write buy: reserved, or leave it out"
            yield Misfit((*path, key), text, _reads(path))


def _alone(path: Path, pool: Pool) -> Iterator[Misfit]:
    """What a pool with a reservation lacks, or has beside it and must not have."""
    if pool.reservation is None:
        text = "is reserved, which needs the id of the reservation; write reservation: cr-… beside it"
        yield Misfit((*path, "buy"), text, ((*path, "reservation"),))
    if pool.existing is not None:
        text = "is reserved, but the template of an existing pool says how its nodes are bought; leave it out"
        yield Misfit((*path, "buy"), text, ((*path, "existing"),))
    elif not pool.has("group"):
        text = f"is reserved, which only a pool of kind node-group can be, and this one is {pool.kind}; leave it out"
        yield Misfit((*path, "buy"), text, ((*path, "kind"),))
    if len(pool.types) > 1:
        text = f"are {len(pool.types)}, and a reservation has one type; write instance_type in their place"
        yield Misfit((*path, "instance_types"), text, _reads(path))
    if len(pool.zone_indexes) > 1:
        text = (
            f"are {len(pool.zone_indexes)}, and a reservation is in one zone; write zone_index in their place"
        )
        yield Misfit((*path, "zones"), text, _reads(path))


def _reads(path: Path, *also: str) -> tuple[Path, ...]:
    return tuple((*path, key) for key in ("buy", *also))
