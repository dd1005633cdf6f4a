"""The function `pages`: told which items of the ledger moved, it draws the pages that show them.

What an event says is only where to look: all is read from the ledger again, and a page that would not be
another is not written. So events may come twice, late, or never.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.page_store import PageStore
from lamplighter.application import environment
from lamplighter.application.logs import logger
from lamplighter.application.pages.drawing import PageServices, draw


def handler(event: Mapping[str, Any], _context: object) -> dict[str, object]:
    """Lambda's entry point for the ledger's stream; an event without records draws everything."""
    drawn = draw(event, _page_services())
    logger().info("pages drawn", extra={"pages": drawn})
    return {"drawn": drawn}


@cache
def _page_services() -> PageServices:
    ledger = Ledger(environment.ENVIRONMENT.ledger_table)
    lab = environment.as_kept(environment.lab(), ledger)
    return PageServices(lab, ledger, PageStore(environment.ENVIRONMENT.pages_bucket))
