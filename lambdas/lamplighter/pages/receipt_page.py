"""The receipt as a page: what was open for whom, its cost, its checks, and the proof of zero."""

from datetime import timedelta

from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.pages import frame, moments, timeline
from lamplighter.pages.evidence import bandwidth, findings, verdicts, zero
from lamplighter.pages.html import Html, el, joined
from lamplighter.pages.trail import trail
from lamplighter.pages.wording import Wording
from lamplighter.reasons.fields import to_document


def page(view: ReceiptView, lab: str, region: str, words: Wording) -> str:
    """The whole document; the same view gives the same page."""
    return frame.sheet(
        words,
        f"{name(view, words)} · {lab}",
        _header(view, lab, region, words),
        [
            _figures(view, words),
            _timeline(view, words),
            verdicts(view, words),
            bandwidth(view, words),
            findings(view.findings, words, words("findings.none-then")),
            zero(view, words),
            _particulars(view, words),
            trail(view.audit, words),
        ],
        el("p", words("footer", zone=words.zone_at(view.closed))),
    )


def name(view: ReceiptView, words: Wording) -> str:
    """What the receipt is of: `evening, Tue 1 Dec 2026`."""
    if view.lease is None:
        return words("receipt.unleased", pool=view.pool)
    return words("receipt.of", window=view.window or view.lease, day=words.day(view.opened or view.closed))


def _header(view: ReceiptView, lab: str, region: str, words: Wording) -> Html:
    whole = words.stretch(view.opened, view.closed) if view.opened else words.moment(view.closed)
    who = words("receipt.for", owner=view.owner) if view.owner else words("receipt.nobody")
    return joined(
        el(
            "p",
            frame.lamp(),
            el("span", words("receipt.kicker"), " · ", el("bdi", lab), " · ", region),
            class_="kicker",
        ),
        el("h1", el("bdi", name(view, words))),
        el("p", el("bdi", f"{words('pool-nodes', pool=view.pool, nodes=view.nodes)}, {who}"), class_="lead"),
        el("p", f"{whole} ({words.zone_at(view.closed)})", class_="lead"),
        el("p", *_badges(view, words), class_="badges"),
    )


def _badges(view: ReceiptView, words: Wording) -> list[Html]:
    found = []
    if view.verdict:
        found.append(frame.badge(view.verdict.value, words(f"badge.{view.verdict.value}")))
    elif view.lease:
        found.append(frame.badge("quiet", words("badge.no-verdict")))
    if view.proof_of_zero.proven:
        found.append(frame.badge("passed", words("badge.zero")))
    else:
        found.append(frame.badge("late", words("badge.left" if view.proof_of_zero.at else "badge.unproven")))
    if view.experimental:
        found.append(frame.badge("late", words("badge.experimental")))
    if view.findings:
        found.append(frame.badge("late", words("badge.findings", count=len(view.findings))))
    if view.replaced:
        found.append(frame.badge("late", words("badge.replaced", count=len(view.replaced))))
    return found


def _figures(view: ReceiptView, words: Wording) -> Html:
    over = (
        words("figure.overrun", cost=words.money(view.overrun))
        if view.overrun and view.overrun.amount
        else ""
    )
    rows = [
        (
            words("figure.cost"),
            words.money(view.cost),
            over or (words("figure.prepaid") if view.prepaid else ""),
        )
    ]
    if view.gpu_use:
        use = {name: f"{hours:,.2f}" for name, hours in to_document(view.gpu_use).items()}
        rows.append((words("figure.gpu-hours"), use["gpu_hours_used"], words("figure.gpu-hours.of", **use)))
    elif view.gpu_minutes is not None:
        rows.append((words("figure.gpu-minutes"), f"{view.gpu_minutes:,}", ""))
    if view.seats and view.seats.used is not None:
        of = words("figure.seats.of", **to_document(view.seats))
        rows.append((words("figure.seats"), f"{view.seats.used}", of))
    rows.append((words("figure.node-hours"), f"{view.node_seconds / 3600:,.2f}", ""))
    if view.minutes_to_ready is not None:
        rows.append((words("figure.ready"), words.length(timedelta(minutes=view.minutes_to_ready)), ""))
    if view.proof_of_zero.at:
        rows.append(
            (words("figure.zero"), words.clock(view.proof_of_zero.at), words.short_day(view.proof_of_zero.at))
        )
    return el("section", frame.figures(rows), aria_label=words("figures.title"), class_="part")


def _timeline(view: ReceiptView, words: Wording) -> Html | None:
    if not view.bars:
        return None
    found = moments.moments(view.audit)
    close_up = timeline.warm_up(view, words)
    return frame.section(
        "timeline",
        words("timeline.title"),
        timeline.whole(view, found, words),
        moments.listed(found, words),
        joined(el("h3", words("warm-up.title")), close_up) if close_up else None,
    )


def _particulars(view: ReceiptView, words: Wording) -> Html:
    rows: list[tuple[str, str]] = [
        (words("particular.lease"), view.lease or words("none")),
        (words("particular.source"), words.source(view.source)),
        (words("particular.by"), view.by or words("none")),
    ]
    if view.because:
        rows.append((words("particular.because"), words.told(view.because)))
    if view.replaced:
        rows.append((words("particular.replaced"), ", ".join(view.replaced)))
    return frame.section(
        "particulars",
        words("particulars.title"),
        frame.facts([(said, el("bdi", what)) for said, what in rows]),
    )
