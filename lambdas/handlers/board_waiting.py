"""The waiting list of a pool, looked after whenever something of the pool moves: who has waited is offered a place.

An offer is noted before it is made, so that nobody is offered one twice; one that Slack refuses is taken back.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.view_reading import Reading
from lamplighter.adapters.slack.web_api import Declined, Unanswered
from lamplighter.domain import grant
from lamplighter.domain.changes import Changes
from lamplighter.domain.commands import Command, Verb
from lamplighter.domain.slack import waiting
from lamplighter.domain.slack.kept import Wish
from lamplighter.errors import LamplighterError

if TYPE_CHECKING:
    from handlers.board_desk import Board

GOOD_FOR = timedelta(minutes=10)


def look_after(pool: str, board: "Board") -> None:
    """Offer places to those whose turn it is; let go of those whose time is over."""
    wishes = board.conversation.wishes(pool, board.now())
    if not wishes or pool not in board.lab.pools:
        return
    found = waiting.look_after(wishes, board.ledger.leases(pool), _grants(pool, board), board.now())
    for wish in found.drop:
        board.conversation.unwish(wish)
    for wish in found.offer:
        if board.conversation.offer(wish, board.now()):
            _offer(wish, board)


def _offer(wish: Wish, board: "Board") -> None:
    """To the asker alone, as a direct message that waits for them; where the app may send none, in the channel."""
    message = waiting.offer_message(wish, board.look(wish.zone))
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


def _grants(pool: str, board: "Board") -> Callable[[Wish, int], bool]:
    """Whether an open command would be granted now: by the very rule, on what the ledger says now."""
    now, ledger = board.now(), board.ledger
    terms = Reading(ledger, board.lab, now).terms.get(pool)
    if terms is None:
        return lambda _wish, _beside: False
    leases, generation = ledger.leases(pool), ledger.pool(pool).generation
    changes = Changes(pauses=tuple(ledger.pauses()))
    period, currency = terms.period(now), terms.budget.currency
    keys = (period.key, terms.period(period.ends).key)
    budgets = {key: ledger.budget(key, currency) for key in keys}

    def granted(wish: Wish, beside: int) -> bool:
        command = Command(
            id=f"wish-{wish.at.timestamp()}-{wish.user}",
            verb=Verb.OPEN,
            pool=pool,
            owner=wish.owner,
            by=wish.owner,
            source="slack",
            issued=now,
            expires=now + GOOD_FOR,
            # Together with what others are offered: one node is not offered to two.
            nodes=wish.nodes + beside,
            lasting=wish.lasting,
            add=True,
        )
        answer = grant.decide(
            command, terms, leases, budgets, now=now, generation=generation, changes=changes
        )
        return answer.outcome == "granted"

    return granted
