"""The board function: whatever moves in the ledger, Slack shows it.

Called with batches of the ledger's stream. What fails is raised at the end, after all else was done, and the
batch comes again: what was done before is not done twice. No workflow ever waits for it.
"""

from collections.abc import Mapping

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter.application.board.services import board
from lamplighter.application.board.show import show


def handler(event: Mapping[str, object], _context: object) -> dict[str, object]:
    """Entry point of the event source mapping."""
    return dict(show(event, board()))
