"""What the board says in the channel where no lease has a message: of the pool, the calendar, the windows to come.

All of it is read anew whenever anything of a pool moves, so that no event has to be the right one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.ledger.items import KEEP_CLOSED
from lamplighter.domain.commands.command import WHOLE_LAB
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.slack import channel, post
from lamplighter.domain.slack.post import Post

if TYPE_CHECKING:
    from lamplighter.application.board.services import Board


def look_after(pool: str, board: "Board") -> None:
    """Say what is to have been said by now, of a pool and of what is planned on it."""
    if board.channel is None or pool not in board.lab.pools:
        return
    style, leases = board.style(), board.ledger.leases(pool)
    trail = board.ledger.audit(pool, board.now() - channel.TELLS_BACK)
    of_pool = channel.pool_posts(
        board.ledger.pool(pool), trail, _people(_closing(leases), pool, board), style
    )
    _say(of_pool, pool, board)
    _say(channel.calendar_posts(trail, style), WHOLE_LAB, board)
    for lease in leases:
        if lease.state is LeaseState.PLANNED:
            _outlook(lease, board)


def _say(posts: Sequence[Post], pool: str, board: "Board") -> None:
    if not posts or board.channel is None:
        return
    poster = board.poster(pool, channel.OF_POOL, board.channel, board.now() + KEEP_CLOSED)
    for each in posts:
        poster.says(each)


def _outlook(lease: Lease, board: "Board") -> None:
    """What is foreseen of a window has a memory of its own: its lease's message is younger."""
    thing = f"{channel.OF_POOL}{lease.id}"
    poster = board.poster(lease.pool, thing, board.channel or "", lease.closes + KEEP_CLOSED)
    found = channel.outlook(lease, poster.shown.said, _people([lease], lease.pool, board), board.style())
    if found is not None:
        poster.says(found)


def _closing(leases: Sequence[Lease]) -> list[Lease]:
    """What is left of a leaked pool may be theirs."""
    return [lease for lease in leases if lease.state is LeaseState.CLOSING]


def _people(leases: Sequence[Lease], pool: str, board: "Board") -> list[str]:
    return post.mentioned([lease.owner for lease in leases], board.lab.slack, pool)
