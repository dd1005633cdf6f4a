"""The board function: it shows changes of the ledger in Slack.

Lambda calls it with batches of the ledger's stream. One failure stops nothing else. The handler names the
records that failed, and Lambda sends the batch again from the first of them on. No workflow ever waits for it.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from lamplighter.application.board import answers as board_answers
from lamplighter.application.board import channel as board_channel
from lamplighter.application.board import leases as board_leases
from lamplighter.application.board import waiting as board_waiting
from lamplighter.application.board.events import ChangedItems, moved
from lamplighter.application.board.services import Board
from lamplighter.application.logs import logger
from lamplighter.errors import LamplighterError

AT_ONCE = 10
"""Answers that are sent side by side: a class waits for them, and one address may be slow."""


class FailedRecord(NamedTuple):
    """A record whose item could not be shown: its sequence number, and the error."""

    record: str
    error: Exception


def show(event: Mapping[str, object], on: Board) -> list[FailedRecord]:
    """Bring Slack up to date with an event; returns the records that failed, after all were tried."""
    found = moved(event)
    _wake(found, on)
    failed = [
        # People who wait for an answer come first.
        *_side_by_side(board_answers.answer, found.commands, on),
        *_each(board_leases.look_after, found.pools, on),
        *_each(board_channel.look_after, found.pools, on),
        *_each(board_answers.show_ask, found.asks, on),
        *_each(board_waiting.look_after, found.pools, on),
    ]
    _overdue(found, on)
    return failed


def _wake(found: ChangedItems, on: Board) -> None:
    """The lab's bus has no reader of the stream of its own beside the board's: DynamoDB allows two readers."""
    if not found.pools:
        return
    try:
        on.wake(found.pools)
    except LamplighterError as error:
        logger().warning("the events of %s are told later: %s", ", ".join(found.pools), error)


def _overdue(found: ChangedItems, on: Board) -> None:
    """With each sweep: answers that a run began and died with. One that fails is tried again with the next sweep."""
    if not found.swept:
        return
    try:
        owed = on.conversation.all_owed()
    except LamplighterError as error:
        logger().warning("which answers are owed is not known: %s", error)
        return
    _side_by_side(board_answers.answer, dict.fromkeys(owed, ""), on)


def _side_by_side(
    do: Callable[[str, Board], None], these: Mapping[str, str], on: Board
) -> list[FailedRecord]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = pool.map(lambda one: _each(do, {one: these[one]}, on), these)
        return [failure for failures in done for failure in failures]


def _each(do: Callable[[str, Board], None], these: Mapping[str, str], on: Board) -> list[FailedRecord]:
    failed = []
    for one, record in these.items():
        try:
            do(one, on)
        except Exception as error:  # noqa: BLE001 -- a fault of ours over one item is not the others' failure
            logger().warning("the board could not show %s: %s: %s", one, type(error).__name__, error)
            failed.append(FailedRecord(record, error))
    return failed
