"""The budget of the present period as one bar: spent, held, planned, against what may be spent."""

from collections.abc import Sequence
from fractions import Fraction

from lamplighter.domain.billing.statement import Row
from lamplighter.domain.money.money import Money
from lamplighter.domain.views.lab_view import BudgetView
from lamplighter.pages.drawing import Canvas, bar, drawn_for_all, words_at
from lamplighter.pages.frame import badge, figures, section
from lamplighter.pages.html import Child, Html, el
from lamplighter.pages.tables import body, cell, name, row, table
from lamplighter.pages.wording import Wording

BAR = 30
MARGIN = 6


def budget(view: BudgetView, words: Wording) -> Html:
    """Bar, figures, and who has what of it."""
    title = words("budget.title", period=view.period)
    over = view.forecast > view.limit
    said = words(
        "budget.said",
        spent=words.money(view.spent),
        held=words.money(view.held),
        planned=words.money(view.planned),
        limit=words.money(view.limit),
        forecast=words.money(view.forecast),
    )
    return section(
        "budget",
        title,
        el("p", badge("late", words("budget.over"))) if over else None,
        drawn_for_all("budget-bar", title, said, lambda paper: _bar(view, words, paper)),
        _legend(view, words),
        figures(_figures(view, words)),
        _rows(_with_rest(view, view.owners, words), "budget.owner", "budget.owners", words),
        _rows(_with_rest(view, view.windows, words), "budget.window", "budget.windows", words),
    )


def _parts(view: BudgetView, words: Wording) -> list[tuple[str, str, Money]]:
    return [
        ("spent", words("budget.spent"), view.spent),
        ("held", words("budget.held"), view.held),
        ("planned", words("budget.planned"), view.planned),
    ]


def _bar(view: BudgetView, words: Wording, paper: Canvas) -> tuple[float, Child]:
    width = paper.width - 2 * MARGIN
    most = max(view.limit.amount, view.forecast.amount, Fraction(1, 100))
    top = 26.0
    drawn: list[Child] = [el("rect", x=MARGIN, y=top, width=width, height=BAR, rx=4, class_="track")]
    x = float(MARGIN)
    for class_, said, money in _parts(view, words):
        length = float(max(money.amount, Fraction(0)) / most) * width
        if length > 0:
            drawn.append(bar(x, top, (length, BAR), class_, f"{said}: {words.money(money)}"))
            x += length
    limit = MARGIN + float(view.limit.amount / most) * width
    forecast = MARGIN + float(max(view.forecast.amount, Fraction(0)) / most) * width
    drawn += [
        el("line", x1=limit, y1=top - 6, x2=limit, y2=top + BAR + 6, class_="threshold"),
        words_at(limit, top - 14, words("budget.limit", limit=words.money(view.limit)), "figure", "end"),
        el("path", d=f"M{forecast:.1f} {top + BAR + 2:.1f} l-5 8 h10 Z", class_="marker"),
        words_at(
            forecast + (-9 if forecast > width / 2 else 9),
            top + BAR + 11,
            words("budget.forecast", forecast=words.money(view.forecast)),
            "figure",
            "end" if forecast > width / 2 else "start",
        ),
    ]
    return top + BAR + 24, drawn


def _legend(view: BudgetView, words: Wording) -> Html:
    rows = [
        el("li", el("span", class_=f"swatch {class_}", aria_hidden="true"), f"{said} {words.money(money)}")
        for class_, said, money in _parts(view, words)
    ]
    return el("ul", rows, class_="legend")


def _figures(view: BudgetView, words: Wording) -> list[tuple[str, str, str]]:
    rows = [(words("budget.left"), words.money(view.left), words("budget.until", at=words.moment(view.ends)))]
    if view.overrun.amount:
        rows.append((words("budget.overrun"), words.money(view.overrun), words("budget.overrun-what")))
    if view.unleased.amount:
        rows.append((words("budget.unleased"), words.money(view.unleased), words("budget.unleased-what")))
    return rows


def _with_rest(view: BudgetView, rows: Sequence[Row], words: Wording) -> Sequence[Row]:
    """The rows, and one for what ran without a lease, so that the columns add up to the figures of the period."""
    rest = view.spent
    for each in rows:
        rest -= each.spent
    if not rows or rest.rounded(2) <= 0:
        return rows
    nothing = Money.zero(rest.currency)
    return [*rows, Row(words("budget.without-lease"), rest, nothing, nothing)]


def _rows(rows: Sequence[Row], first: str, caption: str, words: Wording) -> Html | None:
    if not rows:
        return None
    columns = [words(first), words("budget.spent"), words("budget.held"), words("budget.planned")]
    found = body(
        [
            row(
                name(el("bdi", each.name)),
                [cell(_amount(money), class_="number") for money in (each.spent, each.held, each.planned)],
            )
            for each in rows
        ]
    )
    return table(f"{words(caption)}, {rows[0].spent.currency}", columns, [found], quiet=False, class_="money")


def _amount(money: Money) -> str:
    return f"{money.rounded(2):,f}"
