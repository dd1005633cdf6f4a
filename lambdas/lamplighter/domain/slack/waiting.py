"""The waiting list of a full pool: who is offered a place now, who has waited or thought for too long.

A place in the list holds nothing: whoever types `open` meanwhile may get the nodes. Places are offered in the
order of asking, one offer is good for ten minutes, and a wish lapses after a day.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.asked.buttons import ButtonAction, Carried
from lamplighter.domain.slack.blocks import Button, plain
from lamplighter.domain.slack.kept import WaitingPlace
from lamplighter.domain.slack.message import Message
from lamplighter.domain.slack.style import SlackStyle

Grants = Callable[[WaitingPlace, int], bool]
"""Whether a wish would be granted now, beside so many nodes that are offered to others."""


@dataclass(frozen=True, slots=True)
class WaitingRound:
    """What becomes of a pool's waiting list at an instant."""

    offer: tuple[WaitingPlace, ...] = ()
    """Who is offered a place now, in the order of asking."""
    drop: tuple[WaitingPlace, ...] = ()
    """Who leaves the list: their time is over, or they have what they wanted."""


def look_after(
    wishes: Sequence[WaitingPlace], leases: Sequence[Lease], grants: Grants, now: datetime
) -> WaitingRound:
    """Whom to offer a place, and whom to let go.

    The first who cannot be served ends the round: nobody behind them is served before them.
    """
    dropped = tuple(wish for wish in wishes if _over(wish, leases, now))
    standing = sorted((wish for wish in wishes if wish not in dropped), key=lambda each: each.turn)
    # Two people are not offered one place at the same time.
    offered = sum(wish.nodes for wish in standing if wish.offered is not None)
    offers: list[WaitingPlace] = []
    for wish in standing:
        if wish.offered is not None:
            continue
        if not grants(wish, offered):
            break
        offers.append(wish)
        offered += wish.nodes
    return WaitingRound(tuple(offers), dropped)


def offer_message(wish: WaitingPlace, style: SlackStyle) -> Message:
    """The offer, as its asker alone reads it; it carries which wish it answers."""
    until = plain(style.clock(wish.offered_until or style.now))
    said = style.say("waiting.offer", pool=plain(wish.pool), nodes=wish.nodes, until=until)
    take = Carried(pool=wish.pool, nodes=wish.nodes, lasting=wish.lasting, because=wish.because, ask=wish.id)
    row = blocks.actions(
        Button(ButtonAction.TAKE, style.say("button.open-now"), take.written(), style="primary"),
    )
    return Message(said, [blocks.section(said), *row])


def _over(wish: WaitingPlace, leases: Sequence[Lease], now: datetime) -> bool:
    if now >= wish.until:
        return True
    if wish.offered is not None and not wish.on_offer(now):
        return True
    return any(
        lease.owner == wish.owner and lease.in_force(now) and lease.opens >= wish.at for lease in leases
    )
