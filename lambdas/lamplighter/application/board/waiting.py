"""The waiting list of a pool, looked after whenever something of the pool moves: who has waited is offered a place.

An offer is noted before it is made, so that nobody is offered one twice; one that Slack refuses is taken back, and made
again by the next sweep.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from lamplighter.adapters.slack.web_api import Declined, Unanswered
from lamplighter.application.leases.outlook import outlook
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.slack import waiting
from lamplighter.domain.slack.kept import OFFER_GOOD_FOR, WaitingPlace
from lamplighter.errors import LamplighterError

if TYPE_CHECKING:
    from lamplighter.application.board.services import Board


def look_after(pool: str, board: "Board") -> None:
    """Offer places to those whose turn it is; let go of those whose time is over."""
    wishes = board.conversation.wishes(pool, board.now())
    if not wishes or pool not in board.lab.pools:
        return
    found = waiting.look_after(wishes, board.ledger.leases(pool), _grants(pool, board), board.now())
    for wish in found.drop:
        board.conversation.unwish(wish)
    for wish in found.offer:
        at = board.now()
        if board.conversation.offer(wish, at):
            _offer(replace(wish, offered=at), board)


def _offer(wish: WaitingPlace, board: "Board") -> None:
    """To the asker alone, as a direct message that waits for them; where the app may send none, in the channel."""
    message = waiting.offer_message(wish, board.style(wish.zone))
    try:
        try:
            board.api.post(wish.user, message)
        except Declined:
            board.api.whisper(wish.channel, wish.user, message)
    except Unanswered:
        raise  # they may have it: ten minutes decide
    except LamplighterError:
        board.conversation.wish(replace(wish, offered=None))
        raise


def _grants(pool: str, board: "Board") -> Callable[[WaitingPlace, int], bool]:
    """Whether an open command would be granted now."""
    now = board.now()
    answer = outlook(pool, board.ledger, board.lab, now)

    def granted(wish: WaitingPlace, beside: int) -> bool:
        command = Command(
            id=f"wish-{wish.id}",
            verb=Verb.OPEN,
            pool=pool,
            owner=wish.owner,
            by=wish.owner,
            source="slack",
            issued=now,
            expires=now + OFFER_GOOD_FOR,
            # Together with what others are offered: one node is not offered to two.
            nodes=wish.nodes + beside,
            lasting=wish.lasting,
            add=True,
        )
        return answer(command).outcome == "granted"

    return granted
