"""The messages of leases that run, close or have just ended. channel.py has the posts that belong to no lease.

All leases of a pool are read again whenever an item of the pool changes, so that it does not matter which event came.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.ledger.items import KEEP_CLOSED
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.adapters.aws.view_reading import ViewReading, receipt_of
from lamplighter.application.board.posting import MessagePoster
from lamplighter.domain.gpu.sharing import offer
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.slack import message, post, thread
from lamplighter.domain.slack.asked import using
from lamplighter.domain.slack.message import MessageExtras
from lamplighter.domain.slack.thread import ThreadFacts
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView
from lamplighter.domain.views.receipt_view import ReceiptView

if TYPE_CHECKING:
    from lamplighter.application.board.services import Board

ATTEMPTS = 3
LATELY = timedelta(minutes=30)
"""A closed lease is read for so long: its receipt comes last."""
JUST_OVER = timedelta(minutes=15)
"""A lease that closed within this gets a message even if it had none, so that its receipt is posted."""
TRAIL = timedelta(hours=1)
"""Entries from so long before its opening belong to a lease."""


def look_after(pool: str, board: "Board") -> None:
    """Bring every lease's message up to date, and make the posts beside it."""
    if board.channel is None or pool not in board.lab.pools:
        return
    for lease in _shown(board.ledger.leases(pool), board.now()):
        _several_looks(pool, lease.id, board)


def _several_looks(pool: str, lease_id: str, board: "Board") -> None:
    for attempt in range(ATTEMPTS):
        try:
            _lease(pool, lease_id, board, anyway=attempt > 0)
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return


def _shown(leases: Iterable[Lease], now: datetime) -> list[Lease]:
    """The leases with a message: granted, closing, just closed; and leases that were refused at their opening."""
    return [
        lease
        for lease in leases
        if lease.granted
        or lease.state is LeaseState.CLOSING
        or (lease.state is LeaseState.CLOSED and now - (lease.closed or lease.closes) < LATELY)
        or (lease.state is LeaseState.REFUSED and now < lease.closes)
    ]


def _lease(pool: str, lease_id: str, board: "Board", *, anyway: bool) -> None:
    """One lease: its message first, since its posts go to the thread of that message."""
    now, style = board.now(), board.style()
    view = ViewReading(board.ledger, board.lab, now).lease(pool, lease_id)
    if view is None:
        return
    poster = board.poster(pool, lease_id, board.channel or "", view.closes + KEEP_CLOSED)
    beside = _beside(view, board)
    if _has_message(view, poster, now):
        poster.display(message.message(view, beside, style), anyway=anyway)
    slack = board.lab.slack
    told = ThreadFacts(
        trail=board.ledger.audit(pool, view.opens - TRAIL)
        if view.standing is not LeaseStanding.PLANNED
        else (),
        pool=board.ledger.pool(pool),
        mentioned=post.mentioned([view.owner, view.by], slack, pool),
    )
    for each in thread.posts(view, told, beside, style):
        poster.says(each)


def _has_message(view: LeaseView, poster: MessagePoster, now: datetime) -> bool:
    if poster.shown.ts or view.in_force or view.standing is LeaseStanding.CLOSING:
        return True
    return view.standing is LeaseStanding.CLOSED and now - (view.closed or view.closes) < JUST_OVER


def _beside(view: LeaseView, board: "Board") -> MessageExtras:
    lab, receipt = board.lab, _receipt(view, board)
    seen = board.ledger.pool(view.pool).seen_gpus
    shall = view.seats.offer if view.seats else offer(lab, view.pool, view.window)
    return MessageExtras(
        how_to_use=lab.pools[view.pool].how_to_use,
        snippet=using.pod_snippet(lab, view.pool, shall, view.window),
        seen=seen if seen is not None and view.in_force and seen.at >= view.opens else None,
        receipt=receipt,
        page=board.page(view.pool, view.id) if receipt else None,
    )


def _receipt(view: LeaseView, board: "Board") -> ReceiptView | None:
    if view.standing is not LeaseStanding.CLOSED:
        return None
    found = board.ledger.receipt(view.pool, view.id, view.closed or view.closes)
    return None if found is None else receipt_of(board.ledger, board.lab, found)
