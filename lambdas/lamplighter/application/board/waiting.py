"""The waiting list of a pool: whenever an item of the pool changes, the next people get an offer.

The board notes an offer before it sends it, so that nobody gets it twice. Where the note or the message fails, the
board takes the offer back, and the next sweep makes it again.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from lamplighter.adapters.slack.web_api import Declined, Unanswered
from lamplighter.application.leases.outlook import outlook
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.slack import waiting
from lamplighter.domain.slack.kept import OFFER_GOOD_FOR, WaitingPlace

if TYPE_CHECKING:
    from lamplighter.application.board.services import Board


def look_after(pool: str, board: "Board") -> None:
    """Make the offers whose turn it is, and drop the places whose time is over."""
    wishes = board.conversation.wishes(pool, board.now())
    if not wishes or pool not in board.lab.pools:
        return
    found = waiting.look_after(wishes, board.ledger.leases(pool), _grants(pool, board), board.now())
    for wish in found.drop:
        board.conversation.unwish(wish)
    for wish in found.offer:
        at = board.now()
        try:
            if board.conversation.offer(wish, at):
                _offer(replace(wish, offered=at), board)
        except Unanswered:
            raise  # the person may have it: the offer expires by itself
        except Exception:
            board.conversation.take_back(wish, at)
            raise


def _offer(wish: WaitingPlace, board: "Board") -> None:
    """Send the offer to the asker alone: as a direct message, or in the channel where the app may send none."""
    message = waiting.offer_message(wish, board.style(wish.zone))
    try:
        board.api.post(wish.user, message)
    except Declined:
        board.api.whisper(wish.channel, wish.user, message)


def _grants(pool: str, board: "Board") -> Callable[[WaitingPlace, int], bool]:
    """Whether an open command would be granted now."""
    now = board.now()
    answer = outlook(pool, board.ledger, board.lab, now).opening

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
            # Counted with the other offers, so that two people are not offered one node.
            nodes=wish.nodes + beside,
            lasting=wish.lasting,
            add=True,
        )
        return answer(command).outcome == "granted"

    return granted
