"""Writes the two pages of the played day: the receipt of its last lease, and the lab."""

from pathlib import Path

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.view_reading import read_lab, receipt_of
from lamplighter.lab.model import Lab
from lamplighter.pages import lab_page, receipt_page, wording
from lamplighter.values.instant import read
from local.clock import VirtualClock

BUILD = Path(".build")


def folder() -> Path:
    """The folder for the pages: `.build/demo` in a checkout, otherwise the present folder."""
    if not BUILD.is_dir():
        return Path()
    beside = BUILD / "demo"
    beside.mkdir(exist_ok=True)
    return beside


def write(ledger: Ledger, lab: Lab, clock: VirtualClock, into: Path) -> dict[str, str]:
    """Writes both pages, with a link from the lab to the receipt, and returns their paths.

    Without a lease there is no receipt.
    """
    words = wording.of(lab)
    pages, links = {}, {}
    receipts = [each for pool in lab.pools for each in ledger.receipts(pool) if each.get("lease")]
    if receipts:
        last = max(receipts, key=lambda each: read(str(each["closed"])))
        pages["receipt"] = into / "receipt.html"
        page = receipt_page.page(receipt_of(ledger, lab, last), lab.name, lab.region, words)
        pages["receipt"].write_text(page, "utf-8")
        links[str(last["lease"])] = pages["receipt"].name
    pages["lab"] = into / "lab.html"
    pages["lab"].write_text(lab_page.page(read_lab(ledger, lab, clock.now()), words, links), "utf-8")
    return {name: str(where.absolute()) for name, where in pages.items()}
