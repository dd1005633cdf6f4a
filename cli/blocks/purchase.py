"""Buys a Capacity Block: once, after a plan and a yes. AWS takes none back."""

from collections.abc import Sequence
from contextlib import suppress

from cli import printing
from cli.blocks.wish import BlockWish
from cli.use.agreed import agree
from lamplighter.adapters.aws.calls import client
from lamplighter.adapters.aws.capacity.capacity_blocks import CapacityBlocks
from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.domain.capacity.block_offering import BlockOffering, in_the_way
from lamplighter.domain.capacity.reservation import Reservation
from lamplighter.errors import OutsideFailed, Refused, TryLater
from lamplighter.lab.types import write_amount
from lamplighter.values.counted import counted

OFFERING_TAG = "lamplighter:offering"


def buy(wish: BlockWish, offered: Sequence[BlockOffering], named: str, *, yes: bool, as_json: bool) -> None:
    """Buy the named one. Raises Refused where AWS does not offer it, or where the pool has a block for its hours."""
    offering = next((each for each in offered if each.id == named), None)
    if offering is None:
        raise Refused(
            f"nothing was bought: AWS does not offer {named[:80]} now for {wish}; look at the list again"
        )
    reservations = Reservations(client("ec2", region=wish.lab.region))
    known = [*reservations.tagged(wish.tags)]
    named_by_lab = wish.lab.pools[wish.pool].reservation
    if named_by_lab is not None and (its := reservations.read(named_by_lab)) is not None:
        known.append(its)
    owned = in_the_way(known, offering)
    if owned is not None:
        raise Refused(f"nothing was bought: pool {wish.pool} has {_of(owned, wish)} already")
    tell = printing.say_on_stderr if as_json else printing.say
    plan = _plan(wish, offering)
    if yes:
        for line in plan:
            tell(line)
    else:
        agree(plan, "Buy it?", "nothing was bought", as_json=as_json, must="say --yes to buy it")
    bought = _bought(wish, offering, reservations)
    if as_json:
        printing.as_json({"offerings": [offering.to_json()], "reservation": bought})
        return
    index = wish.lab.cluster.zones.index(offering.zone) if offering.zone in wish.lab.cluster.zones else None
    tell(
        f"bought: {bought}. AWS takes the payment within 12 hours. Write this in pool {wish.pool} and deploy:"
    )
    written = {
        "buy": "reserved",
        "reservation": bought,
        "reservation_type": "capacity-block",
        "zone_index": index,
    }
    for key, value in written.items():
        if value is not None:
            tell(f"    {key}: {value}")
    if "price_per_hour" in wish.lab.pools[wish.pool].model_fields_set:
        tell("and take its price_per_hour out: a block is prepaid")


def _plan(wish: BlockWish, offering: BlockOffering) -> list[str]:
    begins, ends = (printing.local(at, wish.zone) for at in (offering.begins, offering.ends))
    nodes = f"{counted(offering.nodes, 'node')} of {offering.instance_type}"
    return [
        f"would buy {nodes} in {offering.zone}, {begins} to {ends}",
        f"for {write_amount(offering.price)} {offering.currency}, used or not, in no budget of the lab",
        "AWS takes none back: a block can be neither cancelled nor changed",
    ]


def _bought(wish: BlockWish, offering: BlockOffering, reservations: Reservations) -> str:
    """The id of the reservation that was bought. An error says that it may have been."""
    mark = {**wish.tags, OFFERING_TAG: offering.id}
    try:
        return CapacityBlocks(wish.lab.region).buy(offering.id, mark)
    except (OutsideFailed, TryLater) as error:
        # The call is never repeated: AWS has no token that would keep it from selling twice.
        with suppress(OutsideFailed, TryLater):
            for known in reservations.tagged(mark):
                return known.id
        raise OutsideFailed(
            f"{error}; AWS shows no reservation of it yet, and may have sold it all the same. Before you buy again:"
            f" aws ec2 describe-capacity-reservations --filters Name=tag:{OFFERING_TAG},Values={offering.id}"
        ) from error


def _of(owned: Reservation, wish: BlockWish) -> str:
    begins, ends = (printing.local(at, wish.zone) for at in (owned.begins, owned.ends))
    return f"block {owned.id}, {begins} to {ends}, {owned.state}"
