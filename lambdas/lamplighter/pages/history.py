"""The history: time to ready and bus bandwidth over the last proofs, and the ended leases."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.domain.checks.gpu_proof import GpuProof
from lamplighter.domain.views.lab_view import LabView, PastLease
from lamplighter.pages.drawing import Canvas, drawn_for_all, words_at
from lamplighter.pages.frame import badge, section
from lamplighter.pages.html import Child, Html, el
from lamplighter.pages.tables import body, cell, row, table
from lamplighter.pages.wording import Wording

HEIGHT, TOP, LEFT = 110, 16, 34
SHOWN = 20
RADIUS = 5
LEAST = 2
"""Points that make a course."""
Point = tuple[datetime, float, str]


def history(view: LabView, words: Wording, links: Mapping[str, str]) -> Html:
    """Courses by pool, then the leases themselves, newest first."""
    past = [each for each in view.past if each.lease]
    return section(
        "history",
        words("history.title"),
        [_courses(number, pool.name, view, words) for number, pool in enumerate(view.pools)],
        _leases(view.past, words, links) if past else el("p", words("history.none"), class_="nothing"),
    )


def _courses(number: int, pool: str, view: LabView, words: Wording) -> Html | None:
    ready = [
        (each.closed, each.minutes_to_ready, each.verdict.value if each.verdict else "quiet")
        for each in reversed(view.past)
        if each.pool == pool and each.minutes_to_ready is not None
    ][-SHOWN:]
    drawn = [_course(f"ready-{number}", words("history.ready", pool=pool), ready, _minutes(words), words)]
    mine = [proof for proof in view.proofs if proof.pool == pool]
    for which, kind in enumerate(dict.fromkeys(proof.instance_type for proof in mine)):
        speeds = [
            point for proof in reversed(mine) if proof.instance_type == kind and (point := _speed(proof))
        ]
        name = f"bandwidth-{number}-{which}"
        title = words("history.bandwidth", pool=pool, type=kind)
        drawn.append(_course(name, title, speeds[-SHOWN:], _gigabytes(words), words))
    found = [each for each in drawn if each]
    return el("div", found, class_="courses") if found else None


def _speed(proof: GpuProof) -> Point | None:
    return None if proof.bandwidth is None else (proof.at, float(proof.bandwidth), proof.verdict)


def _minutes(words: Wording) -> Callable[[float], str]:
    return lambda number: words.length(timedelta(minutes=number))


def _gigabytes(words: Wording) -> Callable[[float], str]:
    return lambda number: words("bandwidth.figure", number=f"{number:g}")


def _course(
    name: str, title: str, points: Sequence[Point], said: Callable[[float], str], words: Wording
) -> Html | None:
    if not points:
        return None
    numbers = [number for _, number, _ in points]
    desc = words(
        "history.desc",
        count=len(points),
        last=said(numbers[-1]),
        least=said(min(numbers)),
        most=said(max(numbers)),
    )
    drawing = drawn_for_all(name, title, desc, lambda paper: _drawn(points, said, words, paper))
    return el("figure", el("figcaption", el("strong", title), el("span", desc, class_="aside")), drawing)


def _drawn(
    points: Sequence[Point], said: Callable[[float], str], words: Wording, paper: Canvas
) -> tuple[float, Child]:
    most = max(max(number for _, number, _ in points) * 1.15, 0.1)
    right = paper.width / 2 if len(points) < LEAST else paper.width - 14
    apart = (right - LEFT) / max(1, len(points) - 1)
    places = [
        (LEFT + apart * number if len(points) >= LEAST else right, TOP + HEIGHT * (1 - figure / most))
        for number, (_, figure, _) in enumerate(points)
    ]
    line = " ".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(places))
    drawn: list[Child] = []
    for share in (0.0, 0.5, 1.0):
        y = TOP + HEIGHT * (1 - share)
        drawn += [
            el("line", x1=LEFT - 6, y1=y, x2=paper.width - 4, y2=y, class_="rule" if share else "floor"),
            words_at(LEFT - 10, y, f"{most * share:.0f}", "tick", "end"),
        ]
    drawn.append(el("path", d=line, class_="line"))
    for (x, y), (at, number, verdict) in zip(places, points, strict=True):
        tip = f"{words.moment(at)}: {said(number)}, {words.outcome(verdict)}"
        drawn.append(el("g", el("title", tip), _point(x, y, verdict)))
    ends = [(places[0][0], points[0][0], "start")] if len(points) >= LEAST else []
    ends.append((places[-1][0], points[-1][0], "end" if len(points) >= LEAST else "middle"))
    drawn += [words_at(x, TOP + HEIGHT + 14, words.short_day(at), "tick", anchor) for x, at, anchor in ends]
    return TOP + HEIGHT + 26, drawn


def _point(x: float, y: float, verdict: str) -> Html:
    """A disc for what passed, a cross for what failed, a ring for what was not proven."""
    if verdict == "failed":
        d = f"M{x - RADIUS:.1f} {y - RADIUS:.1f} l10 10 M{x + RADIUS:.1f} {y - RADIUS:.1f} l-10 10"
        return el("path", d=d, class_="point failed")
    return el("circle", cx=x, cy=y, r=RADIUS, class_=f"point {verdict}")


def _leases(past: Sequence[PastLease], words: Wording, links: Mapping[str, str]) -> Html:
    columns = [words("history.when"), words("history.lease"), words("history.checks"), words("history.cost")]
    found = body([_lease(each, words, links) for each in past])
    return table(words("history.leases"), columns, [found], quiet=False, class_="past")


def _lease(each: PastLease, words: Wording, links: Mapping[str, str]) -> Html:
    called = el("bdi", each.window or each.lease or words("history.unleased"))
    link = links.get(each.lease or "")
    what = [words("pool-nodes", pool=each.pool, nodes=each.nodes)] if each.lease else [each.pool]
    if each.owner:
        what.append(each.owner)
    if each.minutes_to_ready is not None:
        what.append(
            words("history.ready-after", length=words.length(timedelta(minutes=each.minutes_to_ready)))
        )
    when = words.stretch(each.opened, each.closed) if each.opened else words.moment(each.closed)
    verdict = badge(each.verdict.value, words.outcome(each.verdict.value)) if each.verdict else None
    return row(
        cell(when, class_="when"),
        cell(
            el("strong", el("a", called, href=link) if link else called),
            el("p", el("bdi", ", ".join(what)), class_="why"),
        ),
        cell(verdict or "–"),  # noqa: RUF001
        cell(words.money(each.cost), class_="number"),
    )
