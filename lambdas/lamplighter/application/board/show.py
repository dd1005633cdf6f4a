"""The board function: whatever moves in the ledger, Slack shows it.

Called with batches of the ledger's stream. What fails is raised at the end, after all else was done, and the
batch comes again: what was done before is not done twice. No workflow ever waits for it.
"""

from collections.abc import Callable, Iterable, Mapping

from lamplighter.application.board import answers as board_answers
from lamplighter.application.board import channel as board_channel
from lamplighter.application.board import leases as board_leases
from lamplighter.application.board import waiting as board_waiting
from lamplighter.application.board.events import moved
from lamplighter.application.board.services import Board
from lamplighter.application.logs import logger
from lamplighter.errors import LamplighterError, TryLater


def show(event: Mapping[str, object], on: Board) -> Mapping[str, int]:
    """Bring Slack up to date with what an event is about; raises the first failure, once all was tried."""
    found = moved(event)
    failed = [
        # Whoever waits for an answer comes first.
        *_each(board_answers.answer, found.commands, on),
        *_each(board_leases.look_after, found.pools, on),
        *_each(board_channel.look_after, found.pools, on),
        *_each(board_answers.show_ask, found.asks, on),
        *_each(board_waiting.look_after, found.pools, on),
    ]
    if failed:
        # One that asks for patience is worth trying again soon; the other kind is worth reading.
        raise next((each for each in failed if not isinstance(each, TryLater)), failed[0])
    return {"pools": len(found.pools), "commands": len(found.commands), "asks": len(found.asks)}


def _each(do: Callable[[str, Board], None], these: Iterable[str], on: Board) -> list[LamplighterError]:
    failed = []
    for one in these:
        try:
            do(one, on)
        except LamplighterError as error:
            logger().warning("the board could not show %s: %s", one, error)
            failed.append(error)
    return failed
