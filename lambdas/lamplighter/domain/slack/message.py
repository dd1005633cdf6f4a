"""The one message of a lease in the lab's channel. The board updates it in place, from the opening to the receipt.

It is made from the view that the terminal and the pages show as well. Its digest tells whether Slack needs an update:
the cost so far changes with the clock alone, so it counts only every five minutes.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.people.person import who
from lamplighter.domain.pool.pool import SeenGpus
from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.asked.buttons import ButtonAction, Carried
from lamplighter.domain.slack.blocks import Block, Button, Confirm, Marked, bold, joined, plain
from lamplighter.domain.slack.style import SlackStyle, amount, named
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView
from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.domain.views.stages import StageState, StageView
from lamplighter.values.counted import write_seconds

BAR_LONG = 10
EXTENDED_BY = timedelta(hours=1)
REFRESHED = timedelta(minutes=5)
MARKS = {
    StageState.DONE: "✓",
    StageState.GOING: "●",
    StageState.WAITING: "○",
    StageState.LATE: "⏰",
    StageState.SHORT: "⚠",
    StageState.FAILED: "✗",
}


@dataclass(frozen=True, slots=True)
class Message:
    """One message as Slack is given it."""

    text: Marked
    blocks: Sequence[Block] = ()
    digest: str = ""
    """A digest of the parts that are worth an update. A link that is signed anew each time is none."""

    def to_json(self) -> dict[str, object]:
        """What chat.postMessage, chat.update and a response_url take."""
        said: dict[str, object] = {"text": blocks.fallback(self.text)}
        return said | {"blocks": blocks.whole(self.blocks)} if self.blocks else said


@dataclass(frozen=True, slots=True)
class MessageExtras:
    """What a lease's message shows beside the lease itself."""

    how_to_use: str | None = None
    snippet: str = ""
    """The YAML of a pod that gets a GPU."""
    seen: SeenGpus | None = None
    receipt: ReceiptView | None = None
    page: str | None = None
    """The address of the receipt's page."""


@dataclass(slots=True)
class _Draft:
    """Blocks in their order, and the parts that the digest is made of."""

    blocks: list[Block] = field(default_factory=list)
    counted: list[object] = field(default_factory=list)

    def add(self, *these: Block) -> None:
        self.blocks += these
        self.counted += these

    def add_moving(self, block: Block, instead: object) -> None:
        self.blocks.append(block)
        self.counted.append(instead)


def message(view: LeaseView, beside: MessageExtras, style: SlackStyle) -> Message:
    """The message of a lease in its present state."""
    title = style.texts.say("lease.on-pool", lease=called(view, style), pool=view.pool)
    stands = standing(view, style)
    draft = _Draft()
    draft.add(blocks.header(f"{title[:1].upper()}{title[1:]}"), blocks.section(stands))
    if view.standing in {LeaseStanding.OPENING, LeaseStanding.OPEN, LeaseStanding.DEGRADED}:
        draft.add(blocks.section(_progress(view, style)))
    trouble = _trouble(view, style)
    if trouble:
        draft.add(blocks.section(trouble))
    if view.standing is LeaseStanding.CLOSED and beside.receipt is not None:
        draft.add(blocks.section(receipt_lines(beside.receipt, style)))
    if view.standing in {LeaseStanding.OPEN, LeaseStanding.DEGRADED} and view.ready is not None:
        draft.add(*_use(beside, style))
    moving, instead = _small_print(view, beside, style)
    draft.add_moving(blocks.context(*moving), instead)
    draft.add(*blocks.actions(*buttons(view, style)))
    for link in page_link(beside, style):
        draft.add_moving(link, "page")
    said = joined([plain(title), stands], ": ")
    return Message(said, draft.blocks, _digest(said, draft.counted))


def called(view: LeaseView, style: SlackStyle) -> str:
    """`the evening lease` or `minji's lease`."""
    if view.window:
        return style.texts.say("lease.of-window", window=view.window)
    return style.texts.say("lease.of-owner", owner=named(view.owner))


def standing(view: LeaseView, style: SlackStyle) -> Marked:
    """The lease's state, in one sentence."""
    key = view.standing.value
    if view.standing is LeaseStanding.OPENING and (
        view.gpus_expected is None or view.gpus_expected <= style.now
    ):
        key = "opening-some-time"
    return style.say(
        f"state.{key}",
        opens=plain(style.clock(view.opens)),
        until=plain(style.clock(view.closes)),
        ready=plain(style.clock(view.gpus_expected or view.closes)),
        closed=plain(style.clock(view.closed or view.closes)),
        nodes=view.nodes,
        usable=view.usable,
    )


def _progress(view: LeaseView, style: SlackStyle) -> Marked:
    """The progress bar and the stages, with a reason for each stage that is late, short or failed.

    During the warm-up also the boot of the nodes and the operator's stages, each beside its usual time.
    """
    warming = view.ready is None
    full = round(view.bar * BAR_LONG)
    percent = f"{'▰' * full}{'▱' * (BAR_LONG - full)} {round(view.bar * 100)} %"
    stages = "   ".join(_stage(stage, style, times=warming and stage.begun) for stage in view.stages)
    boot = "   ".join(_stage(stage, style, times=True) for stage in view.boot) if warming else ""
    late = [stage for stage in (*view.stages, *(view.boot if warming else ())) if stage.said]
    why = [f"{_stage(stage, style)}: {plain(style.drawn(stage.said))}" for stage in late]
    return joined([percent, stages, boot, *why])


def _stage(stage: StageView, style: SlackStyle, *, times: bool = False) -> str:
    name = style.say(f"stage.{stage.stage.value}")
    return f"{MARKS[stage.state]} {joined([name, stage.count, _times(stage, style) if times else ''], ' ')}"


def _times(stage: StageView, style: SlackStyle) -> str:
    """How long it took, and usually takes: `42s (usually 40s)`."""
    took = "" if stage.took is None else write_seconds(stage.took)
    if stage.usual is None:
        return took
    key = "usually" if stage.usual.measured else "normally"
    return joined([took, style.say(key, length=write_seconds(stage.usual.length))], " ")


def _trouble(view: LeaseView, style: SlackStyle) -> Marked:
    """What is wrong with the lease, a line each."""
    found: list[Marked] = []
    for key, reason in (
        ("trouble.leaked", view.leaked_because),
        ("trouble.failed", view.failed_because),
        ("trouble.degraded", view.degraded_because),
        ("trouble.refused", view.refused_because),
    ):
        if reason:
            found.append(style.say(key, reason=style.told(reason)))
    if view.verdict is Outcome.FAILED:
        found.append(style.say("trouble.verdict-failed"))
    elif view.verdict is Outcome.NOT_PROVEN:
        found.append(style.say("trouble.not-proven"))
    if view.replaced:
        found.append(style.say("trouble.replaced", nodes=plain(", ".join(view.replaced))))
    return joined(found)


def _use(beside: MessageExtras, style: SlackStyle) -> list[Block]:
    """How to use the pool: the lab's own words, and a pod to start from."""
    found = [blocks.section(blocks.written(beside.how_to_use))] if beside.how_to_use else []
    if beside.snippet:
        found.append(blocks.section(joined([style.say("use.pod"), blocks.code(beside.snippet)])))
    return found


def _small_print(view: LeaseView, beside: MessageExtras, style: SlackStyle) -> tuple[list[Marked], object]:
    """The owner, the cost and the free GPUs; and the parts that count for the digest."""
    still = [style.say("for", owner=plain(named(view.owner)))]
    if view.by and who(view.by) != who(view.owner) and view.source != "window":
        still.append(style.say("by", by=plain(named(view.by))))
    if view.because:
        still.append(style.say("because", because=plain(style.drawn(view.because))))
    if view.moved_from:
        still.append(style.say("moved-from", pool=plain(view.moved_from.pool)))
    if view.in_force and beside.seen is not None:
        seen = beside.seen
        still.append(style.say("gpus", free=max(0, seen.of - seen.in_use), in_use=seen.in_use))
    cost = view.cost_so_far
    if cost is None or (not view.in_force and view.standing is not LeaseStanding.CLOSING):
        return still, still
    tick = int(style.now.timestamp() // REFRESHED.total_seconds()) if view.in_force else 0
    shown = style.say("cost-so-far", cost=amount(cost), hold=amount(view.hold))
    return [*still, shown], [*still, tick]


def receipt_lines(receipt: ReceiptView, style: SlackStyle) -> Marked:
    """The receipt's figures."""
    lines = [style.say("receipt.cost", cost=bold(amount(receipt.cost)), nodes=receipt.nodes)]
    if receipt.overrun is not None:
        lines.append(style.say("receipt.overrun", cost=amount(receipt.overrun)))
    if receipt.gpu_minutes is not None:
        lines.append(style.say("receipt.gpu-minutes", minutes=receipt.gpu_minutes))
    if receipt.minutes_to_ready is not None:
        lines.append(style.say("receipt.ready", minutes=f"{receipt.minutes_to_ready:g}"))
    passed = sum(row.verdict == "passed" for row in receipt.verdict_rows)
    if receipt.verdict_rows:
        lines.append(style.say("receipt.checks", passed=passed, all=len(receipt.verdict_rows)))
    zero = receipt.proof_of_zero
    if zero.at is not None:
        key = "receipt.zero" if zero.proven else "receipt.others-stay"
        lines.append(style.say(key, at=plain(style.clock(zero.at))))
    return joined(lines)


def page_link(beside: MessageExtras, style: SlackStyle) -> list[Block]:
    """The link to the receipt's page, in a block of its own: a signed link is long, and it cannot be cut."""
    if beside.page is None:
        return []
    link = blocks.link(beside.page, style.say("receipt.link"))
    return [blocks.context(style.say("receipt.page", link=link))]


def buttons(view: LeaseView, style: SlackStyle) -> list[Button]:
    """The buttons of a lease. Each takes the same path as the typed command."""
    why = Button(ButtonAction.WHY, style.say("button.why"), Carried(pool=view.pool, lease=view.id).written())
    if not view.in_force:
        return [why]
    ask_first = Confirm(
        style.say("confirm.close.title"),
        style.say("confirm.close.text", lease=called(view, style), owner=named(view.owner)),
        style.say("confirm.close.yes"),
        style.say("confirm.close.no"),
    )
    extend = Carried(pool=view.pool, lease=view.id, lasting=EXTENDED_BY)
    close = Carried(pool=view.pool, lease=view.id, confirmed=True)
    return [
        Button(ButtonAction.EXTEND, style.say("button.extend"), extend.written(), style="primary"),
        Button(
            ButtonAction.CLOSE, style.say("button.close"), close.written(), style="danger", confirm=ask_first
        ),
        why,
    ]


def _digest(text: str, counted: object) -> str:
    said = json.dumps([text, counted], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(said.encode()).hexdigest()[:32]
