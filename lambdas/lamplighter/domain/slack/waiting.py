"""The waiting list of a full pool: who gets an offer now, and whose place or offer has expired.

A place holds nothing: a person who types `open` meanwhile may get the nodes. Offers go out in the order of the
requests. An offer is valid for ten minutes, and a place for a day.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.people.person import who
from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.asked.buttons import ButtonAction, Carried
from lamplighter.domain.slack.blocks import Button, plain
from lamplighter.domain.slack.kept import WaitingPlace
from lamplighter.domain.slack.message import Message
from lamplighter.domain.slack.style import SlackStyle

Grants = Callable[[WaitingPlace, int], bool]
"""Whether a request would be granted now, beside so many nodes that are offered to others."""


@dataclass(frozen=True, slots=True)
class WaitingRound:
    """The changes of a pool's waiting list at an instant."""

    offer: tuple[WaitingPlace, ...] = ()
    """The people who get an offer now, in the order of their requests."""
    drop: tuple[WaitingPlace, ...] = ()
    """The people who leave the list: their time is over, or they have their lease."""


def look_after(
    wishes: Sequence[WaitingPlace], leases: Sequence[Lease], grants: Grants, now: datetime
) -> WaitingRound:
    """Who gets an offer, and who leaves the list.

    The first person for whom there is no room ends the round: nobody behind them goes first.
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
    """The offer, for its asker alone. Its button names the place in the list."""
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
        who(lease.owner) == who(wish.owner) and lease.in_force(now) and lease.opens >= wish.at
        for lease in leases
    )
