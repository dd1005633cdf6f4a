"""`lamplighter blocks`: the Capacity Blocks for ML that AWS offers for a pool, and the purchase of one."""

from collections.abc import Sequence
from typing import Annotated

import typer

from cli import known_names, printing
from cli.blocks import quotes
from cli.blocks.wish import BlockWish, lab_of, wish_of
from cli.options import AsJson, LabName, Yes
from lamplighter.domain.capacity.block_offering import BlockOffering
from lamplighter.errors import BadInput, Refused
from lamplighter.lab.types import write_amount


def command(
    pool: Annotated[
        str | None,
        typer.Option("--pool", metavar="POOL", help="The pool.", autocompletion=known_names.pools),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="WINDOW",
            help="Only blocks that have their nodes when it opens next.",
            autocompletion=known_names.windows,
        ),
    ] = None,
    hours: Annotated[
        int | None,
        typer.Option(
            "--hours",
            metavar="N",
            help="The length; default: 24, or what holds the window.",
        ),
    ] = None,
    buy: Annotated[
        str | None, typer.Option("--buy", metavar="OFFERING", help="Buy this one, after showing it.")
    ] = None,
    yes: Yes = False,
    lab: Annotated[
        str | None,
        typer.Option("--lab", metavar="FILE", help="The lab; default: lab.yaml, or the deployed one."),
    ] = None,
    lab_name: LabName = None,
    as_json: AsJson = False,
) -> None:
    """Show the Capacity Blocks that AWS offers for a pool, with their prices, or buy one.

    A block has GPUs of large types for days, ahead of time, and ends at 11:30 UTC. It is paid ahead and whole, used or
    not; nobody can cancel it. Its leases end 45 minutes before the block. AWS shows at most six offerings at once.

    It changes nothing, except with --buy: then it shows what would be bought, asks, and buys once. It buys nothing
    where the pool has a block for these hours already. Exit code 1: AWS offers none, or the answer is no.

    \b
    Examples:
      lamplighter blocks --window exam
      lamplighter blocks --pool big --hours 48 --json
      lamplighter blocks --window exam --buy cb-0123456789abcdef0
    """
    if yes and buy is None:
        raise BadInput("--yes: answers the question of --buy; give both")
    wish = wish_of(*lab_of(lab, lab_name), pool, window, hours)
    if buy is not None:
        from cli.blocks import purchase  # noqa: PLC0415 -- a list needs none of it

        purchase.buy(wish, _named(wish, buy), yes=yes, as_json=as_json)
        return
    offered = _offered(wish)
    quotes.note(offered)
    if as_json:
        printing.as_json({"offerings": [each.to_json() for each in offered]})
    else:
        _show(wish, offered)
    if not offered:
        raise typer.Exit(1)


def _named(wish: BlockWish, id_: str) -> BlockOffering:
    """The offering that a person has seen, or one of those that AWS shows now."""
    offering = quotes.shown(id_) or next((each for each in _offered(wish) if each.id == id_), None)
    if offering is None:
        raise Refused(
            f"nothing was bought: AWS does not offer {id_[:80]} now for {wish}; look at the list again"
        )
    if not wish.is_met_by(offering):
        raise Refused(
            f"nothing was bought: {id_[:80]} is not what is looked for, {wish}; look at the list again"
        )
    return offering


def _offered(wish: BlockWish) -> list[BlockOffering]:
    """What AWS offers for it, of the shortest length that it has; the cheapest first."""
    from lamplighter.adapters.aws.capacity.capacity_blocks import CapacityBlocks  # noqa: PLC0415 -- boto3 is slow

    blocks = CapacityBlocks(wish.lab.region)
    for hours in wish.lengths():
        begins, ends = wish.range(hours)
        found = blocks.offerings(wish.instance_type, wish.nodes, hours, begins, ends) if begins < ends else ()
        usable = filter(wish.is_met_by, found)
        if offered := sorted(usable, key=lambda each: (each.price, each.begins, each.id)):
            return offered
    return []


def _show(wish: BlockWish, offered: Sequence[BlockOffering]) -> None:
    if not offered:
        hours = " or ".join(map(str, wish.lengths()))
        printing.say(
            f"AWS offers no Capacity Block of {hours} hours now: {wish}. Look again later, or with --hours."
        )
        return
    columns = ["offering", "zone", "from", "until", "price", "a node and hour"]
    rows = [
        [
            each.id,
            each.zone,
            printing.local(each.begins, wish.zone),
            printing.local(each.ends, wish.zone),
            f"{write_amount(each.price)} {each.currency}",
            f"{write_amount(each.node_hour)} {each.currency}",
        ]
        for each in offered
    ]
    printing.table(columns, rows, title=str(wish))
