"""The few moments of a lease that its drawing numbers and the list below it tells."""

from collections.abc import Sequence
from dataclasses import dataclass

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.views.told import OPENED
from lamplighter.pages.html import Html, el
from lamplighter.pages.node_names import with_short_names
from lamplighter.pages.wording import Wording

TONE = {
    "granted": "quiet",
    "lease-granted": "quiet",
    "extended": "quiet",
    "drained": "quiet",
    "warned": "late",
    "degraded": "late",
    "finding": "late",
    "replaced": "late",
    "breach": "failed",
    "leaked": "failed",
    "zero-proven": "passed",
}
NOTICE_TONE = {"open": "passed", "degraded": "late", "failed": "failed"}
WHOLE = {"announced", "degraded", "finding"}
"""Kinds of entries that are sentences without the one who wrote them."""
MOST = 14


@dataclass(frozen=True, slots=True)
class Moment:
    """One of them."""

    number: int
    entry: Entry
    tone: str


def moments(trail: Sequence[Entry]) -> list[Moment]:
    """In their order; where there are many, the first and the last ones."""
    found = [(entry, tone) for entry in trail if (tone := _tone(entry))]
    if len(found) > MOST:
        half = MOST // 2
        found = [*found[:half], *found[-half:]]
    return [Moment(number, entry, tone) for number, (entry, tone) in enumerate(found, 1)]


def listed(found: Sequence[Moment], words: Wording) -> Html | None:
    """What the numbers mean."""
    if not found:
        return None
    rows = [
        el(
            "li",
            el("span", str(each.number), class_=f"dot {each.tone}", aria_hidden="true"),
            el(
                "span",
                words.time(each.entry.at, words.clock(each.entry.at)),
                " ",
                with_short_names(sentence(each.entry, words)),
            ),
        )
        for each in found
    ]
    return el("ol", rows, class_="moments")


def sentence(entry: Entry, words: Wording) -> str:
    """What happened, as a sentence: of a notice its subject, of anything else who did what."""
    what = words.told(entry.what)
    if entry.who != "notices" and entry.kind not in WHOLE:
        what = words("moment", who=entry.who, what=what)
    return words.sentence(what)


def _tone(entry: Entry) -> str | None:
    if entry.kind == "announced":
        notice = entry.details.get("notice", "")
        return NOTICE_TONE[notice] if notice in OPENED else None
    return TONE.get(entry.kind)
