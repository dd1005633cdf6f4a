"""The function `pages`: it draws the pages of the items that changed in the ledger.

An event only names items. Everything is read from the ledger again, and an unchanged page is not written. So events may
come twice, late, or never.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.page_store import LAB, PageStore, receipt_key
from lamplighter.adapters.aws.view_reading import read_lab, receipt_of
from lamplighter.errors import LamplighterError
from lamplighter.pages import lab_page, receipt_page, wording

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab


POOL, RECEIPT = "POOL#", "RECEIPT#"


ALSO = 2
"""So many of a pool's newest receipts are always drawn: their audit trail may still grow."""


@dataclass(frozen=True)
class PageServices:
    """What pages are drawn with."""

    lab: "Lab"
    ledger: Ledger
    store: PageStore

    def now(self) -> datetime:
        return clock.now()


def draw(event: Mapping[str, Any], page_services: PageServices) -> list[str]:
    """The pages that were written. Raises the first error, after the pages of all pools were tried."""
    records = event.get("Records")
    keys = [_key(record) for record in records] if isinstance(records, list) else None
    words = wording.of(page_services.lab)
    drawn: list[str] = []
    failed: list[LamplighterError] = []
    for pool in page_services.lab.pools:
        moved = None if keys is None else [sort for partition, sort in keys if partition == POOL + pool]
        if moved == []:
            continue
        try:
            drawn += _receipt_pages(pool, ALSO + _receipts(moved or []), page_services, words)
        except LamplighterError as error:
            failed.append(error)
    if _keep_lab(page_services, words):
        drawn.append(LAB)
    if failed:
        raise failed[0]
    return drawn


def _receipt_pages(
    pool: str, newest: int, page_services: PageServices, words: wording.Wording
) -> Iterator[str]:
    for receipt in page_services.ledger.receipts(pool, newest):
        view = receipt_of(page_services.ledger, page_services.lab, receipt)
        page = receipt_page.page(view, page_services.lab.name, page_services.lab.region, words)
        key = receipt_key(receipt)
        if page_services.store.keep(key, page):
            yield key


def _keep_lab(page_services: PageServices, words: wording.Wording) -> bool:
    """Write the lab's page where it changed. The clock alone counts as a change only by the hour."""
    view = read_lab(page_services.ledger, page_services.lab, page_services.now())
    by_the_hour = replace(view, now=view.now.replace(minute=0, second=0, microsecond=0))
    return page_services.store.keep(LAB, lab_page.page(view, words), lab_page.page(by_the_hour, words))


def _receipts(sort_keys: Iterable[str]) -> int:
    return len({key for key in sort_keys if key.startswith(RECEIPT)})


def _key(record: Mapping[str, Any]) -> tuple[str, str]:
    keys = record["dynamodb"]["Keys"]
    return str(keys["pk"]["S"]), str(keys["sk"]["S"])
