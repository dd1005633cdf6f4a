"""`lamplighter windows --free`: when so many nodes are free for so long."""

from collections.abc import Sequence
from datetime import timedelta

from cli import deployment, printing
from cli.deployment import Deployment
from cli.instants import instant
from cli.use import orders
from lamplighter.application.leases.outlook import why_never
from lamplighter.application.views.free_times import FURTHEST, asked_range, read
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.commands.orders import opening
from lamplighter.domain.commands.words import OpenWords, duration
from lamplighter.domain.granting.free_times import FreeTime
from lamplighter.errors import BadInput
from lamplighter.values.instant import written


def show(
    length: str,
    nodes: int | None,
    seats: int | None,
    begins: str | None,
    ends: str | None,
    pool: str | None,
    lab_name: str | None,
    *,
    as_json: bool,
) -> None:
    """The free times as a table or, with --json, as the document of the contract; a week from now by default."""
    if nodes is not None and seats is not None:
        raise BadInput("--seats: --nodes says how many nodes already, keep one of the two")
    lasting = duration(length)
    asked, until = (
        instant(option, text) if text else None for option, text in (("--from", begins), ("--to", ends))
    )
    found = deployment.find(lab_name)
    range_asked = asked_range(asked, until, found.now)
    if range_asked is None:
        raise BadInput("--from: no lease is granted more than a year ahead, write an earlier instant")
    since, until = range_asked
    if until <= since:
        raise BadInput(
            f"--to: {ends} is not after {printing.local(since, found.zone)}, write a later instant"
        )
    if until - since > FURTHEST:
        raise BadInput("--to: is more than 8 weeks after the beginning, write an earlier instant")
    wishes = [_wish(found, name, _nodes(found, name, nodes, seats), lasting) for name in found.pools(pool)]
    free = read(found.lab, found.ledger, wishes, since, until, now=found.now)
    if as_json:
        printing.as_json({"free": rows(free)})
        return
    if free:
        printing.table(
            ["pool", "nodes", "from", "until"],
            [
                [one.pool, str(wish.nodes), *(printing.local(at, found.zone) for at in one[1:])]
                for one in free
                for wish in wishes
                if wish.pool == one.pool
            ],
        )
    for wish in wishes:
        if all(one.pool != wish.pool for one in free):
            why = why_never(wish, found.ledger, found.lab, found.now)
            never = f"not free for {length} in that time" if why is None else printing.drawn(why, found.zone)
            printing.say(f"{wish.pool}: {never}")


def rows(free: Sequence[FreeTime]) -> list[dict[str, str]]:
    """The free times as JSON has them."""
    return [{"pool": one.pool, "from": written(one.begins), "until": written(one.ends)} for one in free]


def _wish(found: Deployment, pool: str, nodes: int, lasting: timedelta) -> Command:
    return opening(orders.order(found, Verb.OPEN, pool), OpenWords(nodes=nodes), lasting, add=True)


def _nodes(found: Deployment, pool: str, nodes: int | None, seats: int | None) -> int:
    """The number of nodes; as many as the seats need, by the pool's GPUs and how they are shared."""
    if seats is None:
        return nodes or 1
    needed = found.lab.nodes_for(seats, pool, None)
    if needed is None:
        raise BadInput(f"--seats: the GPUs of pool {pool} are not known, write --nodes")
    return needed
