"""Tables with explicit ARIA roles: on a phone the style sheet lays out a row as a card.

A browser may derive a table's meaning from its layout. The explicit roles keep that meaning for screen readers.
"""

from collections.abc import Sequence

from lamplighter.pages.html import Child, Html, el


def table(
    caption: str, columns: Sequence[str], bodies: Sequence[Child], *, quiet: bool = True, class_: str = ""
) -> Html:
    """A table. Its caption is for screen readers only, unless it is not `quiet`."""
    heads = [el("th", column, scope="col", role="columnheader") for column in columns]
    return el(
        "table",
        el("caption", caption, class_="unseen" if quiet else None),
        el("thead", el("tr", heads, role="row"), role="rowgroup"),
        *bodies,
        class_=class_ or None,
        role="table",
    )


def body(*rows: Child) -> Html:
    """Rows that belong together."""
    return el("tbody", *rows, role="rowgroup")


def group(named: Child, across: int) -> Html:
    """The row that names those below it."""
    name = el("th", named, colspan=across, scope="rowgroup", role="rowheader")
    return el("tr", name, class_="group", role="row")


def row(*cells: Child) -> Html:
    """A row."""
    return el("tr", *cells, role="row")


def name(*children: Child) -> Html:
    """The cell that names its row."""
    return el("th", *children, scope="row", role="rowheader")


def cell(*children: Child, class_: str | None = None) -> Html:
    """Any other cell."""
    return el("td", *children, class_=class_, role="cell")
