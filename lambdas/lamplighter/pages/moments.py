"""The few moments of a lease that its drawing numbers and the list below it tells."""

from collections.abc import Sequence
from dataclasses import dataclass

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.views.told import OPENED
from lamplighter.pages.html import Html, el
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
                words.told(each.entry.what),
            ),
        )
        for each in found
    ]
    return el("ol", rows, class_="moments")


def _tone(entry: Entry) -> str | None:
    if entry.kind == "announced":
        notice = entry.details.get("notice", "")
        return NOTICE_TONE[notice] if notice in OPENED else None
    return TONE.get(entry.kind)
