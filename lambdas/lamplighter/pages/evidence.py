"""The evidence of a receipt: verdicts by node, bus bandwidth against its floor, findings, and the proof of zero."""

from collections.abc import Sequence
from decimal import Decimal

from lamplighter.domain.checks.gpu_proof import Bandwidth
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.domain.views.told import FindingView, VerdictRow
from lamplighter.pages.drawing import Canvas, bar, drawn_for_all, shortened, words_at
from lamplighter.pages.frame import badge, section
from lamplighter.pages.html import Child, Html, el, with_code
from lamplighter.pages.node_names import node_name, short_name, with_short_names
from lamplighter.pages.tables import body, cell, group, name, row, table
from lamplighter.pages.wording import Wording

ROOM = Decimal("1.25")
"""How far beyond the largest figure the scale goes."""
BAR = 18
NAME = {"wide": 90, "middle": 56, "narrow": 34}
"""Characters of a name beside its figure."""
FLOOR_LABEL = 4


def verdicts(view: ReceiptView, words: Wording) -> Html:
    """Every check's verdict, node by node."""
    title = words("verdicts.title")
    if not view.verdict_rows:
        return section("verdicts", title, el("p", words("verdicts.none"), class_="nothing"))
    nodes = list(dict.fromkeys(row.node for row in view.verdict_rows))
    rows = {node: [row for row in view.verdict_rows if row.node == node] for node in nodes}
    passed = [node for node in nodes if node and all(row.verdict == Outcome.PASSED for row in rows[node])]
    if len(passed) == 1:
        passed = []
    columns = [words("verdicts.check"), words("verdicts.verdict"), words("verdicts.because")]

    def drawn(some: Sequence[str]) -> Html | None:
        bodies = [_node(node, rows[node], words) for node in some]
        return table(title, columns, bodies, class_="verdicts") if bodies else None

    return section(
        "verdicts",
        title,
        drawn([node for node in nodes if node not in passed]),
        el("details", el("summary", _all_passed(passed, words)), drawn(passed)) if passed else None,
    )


def _all_passed(nodes: Sequence[str], words: Wording) -> list[Child]:
    """One line for several nodes without a fault; the rows of each are behind it."""
    return [
        badge("passed", words("verdicts.nodes-passed", nodes=len(nodes))),
        " ",
        *[part for node in nodes for part in (", ", el("bdi", with_short_names(node)))][1:],
    ]


def _node(node: str, rows: Sequence[VerdictRow], words: Wording) -> Html:
    return body(
        group(node_name(node) if node else words("verdicts.whole-pool"), 3),
        [
            row(
                name(el("bdi", each.check)),
                cell(badge(each.verdict, words.outcome(each.verdict))),
                cell(el("bdi", with_short_names(words.told(each.reason)))),
            )
            for each in rows
        ],
    )


def bandwidth(view: ReceiptView, words: Wording) -> Html | None:
    """Each measurement as a bar, with the floor that it must pass; None where none was measured."""
    found = view.bandwidth
    if not found:
        return None
    said = "; ".join(_said(each, words) for each in found)
    drawing = drawn_for_all(
        "bandwidth", words("bandwidth.title"), said, lambda paper: _bars(found, words, paper)
    )
    return section("bandwidth", words("bandwidth.title"), el("p", words("bandwidth.what")), drawing)


def _said(each: Bandwidth, words: Wording) -> str:
    key = "bandwidth.said" if each.floor is not None else "bandwidth.said-alone"
    return words(key, check=each.check, node=each.node, measured=each.measured, floor=each.floor)


def _bars(found: Sequence[Bandwidth], words: Wording, paper: Canvas) -> tuple[float, Child]:
    figures = [each.measured for each in found] + [each.floor for each in found if each.floor is not None]
    most = max(max(figures) * ROOM, Decimal("0.1"))
    width = paper.width - 10
    drawn: list[Child] = []
    y = 10.0
    for each in found:
        called = f"{each.check} · {short_name(each.node)}" if each.node else each.check
        slow = each.floor is not None and each.measured < each.floor
        length = float(each.measured / most) * width
        top = y + 14
        drawn += [
            words_at(0, y, shortened(called, NAME[paper.name]), "name"),
            words_at(width, y, words("bandwidth.figure", number=each.measured), "figure", "end"),
            el("rect", x=0, y=top, width=width, height=BAR, rx=3, class_="track"),
            bar(0, top, (length, BAR), "measured short" if slow else "measured", _said(each, words)),
        ]
        y = top + BAR
        if each.floor is not None:
            at = float(each.floor / most) * width
            flip = at > width / 2
            said = words("bandwidth.floor", number=each.floor)
            drawn += [
                el("line", x1=at, y1=top - 5, x2=at, y2=top + BAR + 5, class_="threshold"),
                words_at(
                    at + (-FLOOR_LABEL if flip else FLOOR_LABEL),
                    y + 12,
                    said,
                    "tick",
                    "end" if flip else None,
                ),
            ]
        y += 34
    return y, drawn


def findings(found: Sequence[FindingView], words: Wording, none: str) -> Html:
    """Causes with what to do about them."""
    title = words("findings.title")
    if not found:
        return section("findings", title, el("p", none, class_="nothing"))
    cards = [
        el(
            "li",
            el(
                "h3",
                el("span", words("finding.layer", layer=each.layer), class_="layer") if each.layer else None,
                el("bdi", each.cause),
            ),
            el("p", el("bdi", words.told(each.summary))),
            el("p", el("strong", words("finding.advice")), " ", el("bdi", with_code(words.told(each.advice))))
            if each.advice
            else None,
            el(
                "p",
                words.time(each.at, words.moment(each.at)),
                " · ",
                el("bdi", each.lease or each.pool),
                class_="aside",
            ),
        )
        for each in found
    ]
    return section("findings", title, el("ul", cards, class_="cards"))


def zero(view: ReceiptView, words: Wording) -> Html:
    """What was read for the proof of zero, and whether each part is at zero."""
    proof, title = view.proof_of_zero, words("zero.title")
    if proof.at is None:
        return section("zero", title, el("p", words("zero.never")))
    nodes = proof.kubernetes_nodes or ()
    desired, instances = ("zero.desired", "zero.instances")
    if proof.nodeclaims is not None:
        desired, instances = ("zero.replicas", "zero.ec2")
    rows = [
        (words(desired), str(proof.desired), proof.desired == 0),
        (words(instances), ", ".join(proof.instances) or words("zero.no"), not proof.instances),
        (words("zero.kubernetes"), ", ".join(nodes) or words("zero.no"), not nodes),
    ]
    # Claims and nodes without an instance cost nothing: they are remarks, and no part of the verdict.
    remarks = [el("p", words("zero.remark", said=words.told(remark))) for remark in proof.remarks]
    when = words("zero.at", at=words.moment(proof.at))
    said = when if proof.proven else f"{when} {words('zero.others')}"
    found = body(
        [
            row(
                name(what),
                cell(el("bdi", read)),
                cell(badge("passed" if ok else "quiet", words("zero.ok" if ok else "zero.kept"))),
            )
            for what, read, ok in rows
        ]
    )
    columns = [words("zero.what"), words("zero.found"), words("zero.verdict")]
    return section("zero", title, el("p", said), table(title, columns, [found], class_="zero"), *remarks)
