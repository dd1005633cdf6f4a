"""Buys a Capacity Block: once, after a plan and a yes. AWS takes none back."""

from collections.abc import Container, Iterator
from contextlib import suppress

from cli import printing
from cli.blocks.wish import BlockWish
from cli.use.agreed import agree
from lamplighter.adapters.aws.calls import client
from lamplighter.adapters.aws.capacity.capacity_blocks import CapacityBlocks, may_have_sold
from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.domain.capacity.block_offering import BlockOffering, in_the_way
from lamplighter.domain.capacity.reservation import Reservation
from lamplighter.errors import OutsideFailed, Refused, TryLater
from lamplighter.lab.types import write_amount
from lamplighter.values.counted import counted

OFFERING_TAG = "lamplighter:offering"


def buy(wish: BlockWish, offering: BlockOffering, *, yes: bool, as_json: bool) -> None:
    """Buy it. Raises Refused where the pool has a block for its hours, where nobody agrees, or where AWS refuses."""
    reservations = Reservations(client("ec2", region=wish.lab.region))
    _refuse_owned(wish, offering, reservations)
    tell = printing.say_on_stderr if as_json else printing.say
    for line in _plan(wish, offering):
        tell(line)
    if not yes:
        agree((), "Buy it?", "nothing was bought", as_json=as_json, must="say --yes to buy it")
    # Somebody else may have bought while the question stood.
    before = _refuse_owned(wish, offering, reservations)
    bought = _bought(wish, offering, reservations, before)
    if as_json:
        printing.as_json({"offerings": [offering.to_json()], "reservation": bought})
        return
    tell(f"bought: {bought}. AWS takes the payment within 12 hours, and gives the block up if it cannot.")
    for line in _written(wish, offering, bought):
        tell(line)


def _refuse_owned(wish: BlockWish, offering: BlockOffering, reservations: Reservations) -> set[str]:
    """The reservations of the pool. Raises Refused where one is a block for these hours."""
    owned = reservations.tagged(wish.tags)
    of_lab = wish.lab.pools[wish.pool].reservation
    if of_lab is not None and (reservation := reservations.read(of_lab)) is not None:
        owned.append(reservation)
    block = in_the_way(owned, offering)
    if block is not None:
        raise Refused(f"nothing was bought: pool {wish.pool} has {_of(block, wish)} already")
    return {one.id for one in owned}


def _written(wish: BlockWish, offering: BlockOffering, bought: str) -> Iterator[str]:
    """What the lab file needs, so that the pool's nodes are of it."""
    pool = wish.lab.pools[wish.pool]
    yield f"When it is scheduled, write this in pool {wish.pool} and deploy. If the pool is deployed, use another name:"
    yield "    buy: reserved"
    yield f"    reservation: {bought}"
    yield "    reservation_type: capacity-block"
    yield f"    zone_index: {wish.lab.cluster.zones.index(offering.zone)}"
    if offering.nodes != pool.max_nodes:
        yield f"    max_nodes: {offering.nodes}"
    for key in sorted(pool.model_fields_set & {"on_interruption", "price_per_hour"}):
        yield f"and take its {key} out: a block is prepaid, and nobody takes its nodes"


def _plan(wish: BlockWish, offering: BlockOffering) -> list[str]:
    begins, ends = (printing.local(at, wish.zone) for at in (offering.begins, offering.ends))
    nodes = f"{counted(offering.nodes, 'node')} of {offering.instance_type} (Linux/UNIX)"
    return [
        f"would buy {nodes} in {offering.zone}, {begins} to {ends}",
        f"for {write_amount(offering.price)} {offering.currency}, used or not, in no budget of the lab",
        "AWS takes none back: a block can be extended, and neither cancelled nor made smaller",
    ]


def _bought(
    wish: BlockWish, offering: BlockOffering, reservations: Reservations, before: Container[str]
) -> str:
    """The id of the reservation that was bought. `before` are those that were there."""
    mark = {**wish.tags, OFFERING_TAG: offering.id}
    try:
        return CapacityBlocks(wish.lab.region).buy(offering.id, mark)
    except (OutsideFailed, TryLater, KeyboardInterrupt) as error:
        if not may_have_sold(error):
            raise
        # The call is never repeated: AWS has no token that would keep it from selling twice.
        with suppress(OutsideFailed, TryLater):
            for reservation in reservations.tagged(mark):
                if reservation.id not in before:
                    return reservation.id
        raise OutsideFailed(
            f"AWS gave no clear answer to the purchase of {offering.id}, which was sent once. It shows no reservation"
            " of it yet, and may have sold it all the same. Before you buy again, look for the tag"
            f" {OFFERING_TAG}={offering.id}: aws ec2 describe-capacity-reservations --region {wish.lab.region}"
        ) from error


def _of(block: Reservation, wish: BlockWish) -> str:
    begins, ends = (printing.local(at, wish.zone) for at in (block.begins, block.ends))
    return f"block {block.id}, {begins} to {ends}, {block.state}"
