"""The audit trail as a table: who did what to the pool, when, and why."""

from collections.abc import Sequence
from datetime import date

from lamplighter.domain.audit.entry import Entry
from lamplighter.pages.frame import section
from lamplighter.pages.html import Html, el
from lamplighter.pages.node_names import with_short_names
from lamplighter.pages.tables import body, cell, group, row, table
from lamplighter.pages.wording import Wording


def trail(entries: Sequence[Entry], words: Wording) -> Html:
    """Day by day, oldest first; nothing is left out."""
    title = words("trail.title")
    if not entries:
        return section("trail", title, el("p", words("trail.none"), class_="nothing"))
    days: dict[date, list[Entry]] = {}
    for entry in entries:
        days.setdefault(entry.at.astimezone(words.zone).date(), []).append(entry)
    bodies = [
        body(group(words.day(each[0].at), 3), [_row(entry, words) for entry in each])
        for each in days.values()
    ]
    columns = [words("trail.when"), words("trail.who"), words("trail.what")]
    return section("trail", title, table(title, columns, bodies, class_="trail"))


def _row(entry: Entry, words: Wording) -> Html:
    what, why = words.told(entry.what), words.told(entry.why)
    return row(
        cell(words.time(entry.at, words.second(entry.at)), class_="when"),
        cell(el("bdi", entry.who), class_="who"),
        cell(
            el("bdi", with_short_names(what)),
            # Two lines of a notice are two lines here.
            el("p", el("bdi", with_short_names(why)), class_="why") if why and why != what else None,
        ),
    )
