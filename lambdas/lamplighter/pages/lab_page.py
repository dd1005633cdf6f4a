"""The lab as a page: the pools now, findings, the budget, the calendar, and the history."""

from collections.abc import Mapping

from lamplighter.domain.views.lab_view import LabView
from lamplighter.pages import frame
from lamplighter.pages.budget import budget
from lamplighter.pages.calendar import calendar
from lamplighter.pages.evidence import findings
from lamplighter.pages.history import history
from lamplighter.pages.html import Html, el, joined
from lamplighter.pages.now import now
from lamplighter.pages.wording import Wording

NO_LINKS: Mapping[str, str] = {}


def page(view: LabView, words: Wording, links: Mapping[str, str] = NO_LINKS) -> str:
    """The whole document; `links` are relative addresses of receipts that lie beside it, by lease."""
    return frame.sheet(
        words,
        words("lab.title", lab=view.name),
        _header(view, words),
        [
            now(view, words),
            findings(view.findings, words, words("findings.none-now")),
            budget(view.budget, words),
            calendar(view, words),
            history(view, words, links),
        ],
        el("p", words("footer", zone=words.zone_at(view.now))),
    )


def _header(view: LabView, words: Wording) -> Html:
    leaked = [pool for pool in view.pools if pool.leaked]
    in_force = sum(len(pool.leases) for pool in view.pools)
    badges = [frame.badge("failed", words("badge.leaked", pool=pool.name)) for pool in leaked]
    if view.pause:
        badges.append(frame.badge("late", words("badge.paused")))
    badges.append(
        frame.badge("open", words("badge.in-force", count=in_force))
        if in_force
        else frame.badge("quiet", words("badge.dark"))
    )
    if view.findings:
        badges.append(frame.badge("late", words("badge.findings", count=len(view.findings))))
    return joined(
        el("p", frame.lamp(), el("span", words("lab.kicker"), " · ", view.region), class_="kicker"),
        el("h1", el("bdi", view.name)),
        el(
            "p",
            words("lab.as-of", at=words.moment(view.now), zone=words.zone_at(view.now)),
            class_="lead",
            id="as-of",
        ),
        el("p", *badges, class_="badges"),
        el("p", el("bdi", _paused(view, words)), class_="lead") if view.pause else None,
    )


def _paused(view: LabView, words: Wording) -> str:
    pause = view.pause
    if pause is None:
        return ""
    until = words.moment(pause.until) if pause.until else words("lab.resumed")
    return words("lab.paused", by=pause.by, until=until, because=words.told(pause.because or words("none")))
