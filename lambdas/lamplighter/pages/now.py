"""The pools now: a card for each, with the warm-up of a lease that is opening."""

from lamplighter.domain.views.lab_view import LabView, PoolView
from lamplighter.domain.views.lease_view import LeaseView
from lamplighter.domain.views.stages import StageState, StageView
from lamplighter.pages.frame import badge, facts, section
from lamplighter.pages.html import Child, Html, el
from lamplighter.pages.wording import Wording

KIND = {
    "planned": "quiet",
    "opening": "going",
    "open": "open",
    "degraded": "late",
    "closing": "going",
    "closed": "quiet",
    "refused": "failed",
}
STAGE_KIND = {
    StageState.DONE: "passed",
    StageState.GOING: "going",
    StageState.WAITING: "quiet",
    StageState.LATE: "late",
    StageState.SHORT: "late",
    StageState.FAILED: "failed",
}


def now(view: LabView, words: Wording) -> Html:
    """All pools."""
    return section(
        "now", words("now.title"), el("ul", [_pool(pool, words) for pool in view.pools], class_="cards pools")
    )


def _pool(pool: PoolView, words: Wording) -> Html:
    shown = [*pool.leases, *pool.closing]
    return el(
        "li",
        el("h3", el("bdi", pool.name), el("span", _has(pool, words), class_="aside")),
        el("p", badge("failed", words("now.leaked")), " ", el("bdi", words.told(pool.leaked)))
        if pool.leaked
        else None,
        el("p", badge("late", words("now.watch")), " ", words("now.watch-what"))
        if pool.mode == "watch"
        else None,
        el("p", badge("late", words("badge.experimental")), " ", words("now.experimental-what"))
        if pool.experimental
        else None,
        [_lease(lease, words) for lease in shown],
        None if shown or pool.leaked else el("p", badge("quiet", words("now.dark"))),
        facts(rows) if (rows := _facts(pool, words)) else None,
    )


def _has(pool: PoolView, words: Wording) -> str:
    return words("now.has", type=pool.instance_type, most=pool.max_nodes)


def _facts(pool: PoolView, words: Wording) -> list[tuple[str, Child]]:
    rows: list[tuple[str, Child]] = []
    if pool.gpus_in_use is not None and pool.seen_at:
        used = words(
            "now.gpus-used", used=pool.gpus_in_use, free=pool.gpus_free, at=words.clock(pool.seen_at)
        )
        rows.append((words("now.gpus"), used))
    if pool.next:
        following = f"{words.moment(pool.next.opens)} · {pool.next.window or pool.next.owner}"
        rows.append((words("now.next"), el("bdi", following)))
    elif not pool.leases:
        rows.append((words("now.next"), words("now.nothing-next")))
    return rows


def _lease(lease: LeaseView, words: Wording) -> Html:
    warm = lease.ready is None and lease.in_force
    rows: list[tuple[str, Child]] = [
        (words("now.owner"), el("bdi", lease.owner)),
        (words("now.until"), words.moment(lease.closes)),
        (words("now.nodes"), f"{lease.usable}/{lease.nodes}" if lease.missing else str(lease.nodes)),
    ]
    if lease.cost_so_far is not None:
        rows.append((words("now.cost"), words.money(lease.cost_so_far)))
    if lease.verdict:
        rows.append((words("now.checks"), badge(lease.verdict.value, words.outcome(lease.verdict.value))))
    reasons = [lease.degraded_because, lease.failed_because, lease.leaked_because]
    return el(
        "div",
        el(
            "p",
            badge(KIND.get(lease.standing.value, "quiet"), words(f"standing.{lease.standing.value}")),
            " ",
            el("strong", el("bdi", lease.window or lease.id)),
        ),
        [el("p", el("bdi", words.told(reason))) for reason in dict.fromkeys(reasons) if reason],
        facts(rows),
        _stages(lease, words) if warm else None,
        class_="lease-now",
    )


def _stages(lease: LeaseView, words: Wording) -> Html:
    percent = round(lease.bar * 100)
    return el(
        "div",
        el(
            "progress",
            f"{percent} %",
            max=100,
            value=percent,
            aria_label=words("now.warm-up", percent=percent),
        ),
        el("ul", [_stage(stage, words) for stage in lease.whole_warm_up], class_="stages"),
        el("p", words("now.expected", at=words.clock(lease.gpus_expected)), class_="aside")
        if lease.gpus_expected
        else None,
    )


def _stage(stage: StageView, words: Wording) -> Html:
    said = f"{words(f'stage.{stage.stage.value}')} {stage.count}".strip()
    return el(
        "li",
        badge(STAGE_KIND[stage.state], said),
        el("span", words(f"stage-state.{stage.state.value}"), class_="unseen"),
        el("span", " ", times, class_="aside") if (times := _times(stage, words)) else None,
        el("span", " ", el("bdi", words.told(stage.said)), class_="aside") if stage.said else None,
    )


def _times(stage: StageView, words: Wording) -> str:
    """Of a stage that is done or under way: how long it took, and how long it usually takes."""
    took = "" if stage.took is None else words.length(stage.took)
    usual = words.usually(stage.usual) if stage.usual and (stage.begun or took) else ""
    return ", ".join(filter(None, (took, usual)))
