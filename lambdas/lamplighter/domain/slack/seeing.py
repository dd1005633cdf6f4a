"""The lab as Slack shows it to a person who asks: status, windows, leases, cost and why, as short texts.

Made from the views that the terminal and the pages show as well. People are named without a mention, so that no
question notifies anybody else.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from lamplighter.domain.audit.findings import advice_of, summary_of
from lamplighter.domain.audit.why import Explanation
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.commands.command import Command
from lamplighter.domain.granting.free_times import FreeTime
from lamplighter.domain.leases.lease import OVER, Lease
from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.answers import SlackAnswer, Speech
from lamplighter.domain.slack.asked.buttons import ButtonAction, Carried
from lamplighter.domain.slack.blocks import Marked, plain
from lamplighter.domain.slack.style import named
from lamplighter.domain.views.lab_view import LabView, PoolView, WindowView
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView

MOST_ROWS = 20
TRAIL_ROWS = 6
MOST_TIMES = 8


def status(pools: Sequence[PoolView], pause: Pause | None, speech: Speech) -> SlackAnswer:
    """Every pool: until when, GPUs free and in use, and what opens next."""
    lines = [_line(line) for pool in pools for line in _pool(pool, speech)]
    if pause is not None:
        lines.insert(0, plain(speech.sentence(pause.reason())))
    return SlackAnswer(blocks.joined(lines))


def windows(lab: LabView, speech: Speech) -> SlackAnswer:
    """What opens, what does not, and why."""
    lines = [plain(_window(window, speech)) for window in lab.windows[:MOST_ROWS]]
    if lab.pause is not None:
        lines.insert(0, plain(speech.sentence(lab.pause.reason())))
    return SlackAnswer(blocks.joined(lines or [plain(speech.texts.say("slack.windows.none"))]))


def free(found: Sequence[FreeTime], wish: Command, until: datetime, speech: Speech) -> SlackAnswer:
    """When a lease like `wish` would be granted, with a choice of the beginnings that opens one then."""
    say, times = speech.texts.say, speech.times
    if not found:
        return SlackAnswer(plain(say("slack.free.none", until=times.with_zone(until))))
    shown = found[:MOST_TIMES]
    rows = [
        say("slack.free.row", pool=one.pool, begins=times.at(one.begins), until=times.with_zone(one.ends))
        for one in shown
    ]
    options = [
        {
            "text": {"type": "plain_text", "text": f"{one.pool}, {times.at(one.begins)}"},
            "value": Carried(
                pool=one.pool, nodes=wish.nodes, opens=one.begins, lasting=wish.lasting
            ).written(),
        }
        for one in shown
    ]
    choice: Mapping[str, object] = {
        "type": "static_select",
        "action_id": ButtonAction.ADD.value,  # a free node may be beside a lease
        "placeholder": {"type": "plain_text", "text": say("slack.button.open-at")},
        "options": options,
    }
    return SlackAnswer(blocks.joined([plain(row) for row in rows]), elements=(choice,))


def leases(found: Sequence[Lease], speech: Speech) -> SlackAnswer:
    """Who has nodes or will have, and until when."""
    rows = [
        speech.texts.say(
            "slack.leases.row",
            id=lease.id,
            nodes=lease.nodes,
            pool=lease.pool,
            owner=plain(named(lease.owner)),
            opens=speech.times.at(lease.opens),
            until=speech.times.with_zone(lease.closes),
            state=speech.drawn(lease.stands()),
        )
        for lease in found
        if lease.state not in OVER
    ]
    return SlackAnswer(blocks.joined(rows[:MOST_ROWS] or [speech.texts.say("slack.leases.none")]))


def cost(lab: LabView, speech: Speech) -> SlackAnswer:
    """The present budget period, and what runs now."""
    budget, say = lab.budget, speech.texts.say
    lines = [
        say(
            "slack.cost.period",
            per=say(f"slack.per.{budget.per}"),
            period=budget.period,
            spent=budget.spent,
            held=budget.held,
            left=budget.left,
            limit=budget.limit,
        ),
        say("slack.cost.forecast", forecast=budget.forecast, ends=speech.times.with_zone(budget.ends)),
    ]
    beside = budget.overrun + budget.unleased
    if beside.amount:
        lines.append(say("slack.cost.beside", cost=beside))
    for pool in lab.pools:
        for lease in pool.leases:
            spent = lease.cost_so_far or lease.hold
            lines.append(say("slack.cost.lease", id=lease.id, owner=plain(named(lease.owner)), cost=spent))
    return SlackAnswer(blocks.joined(lines[:MOST_ROWS]))


def why(pool: str, found: Explanation, days: int, speech: Speech) -> SlackAnswer:
    """Why a pool has the nodes it has, and what led there."""
    clock, say, drawn = speech.times.with_zone, speech.texts.say, speech.drawn
    lines = [
        say("slack.why.should", pool=pool, nodes=found.nodes, reason=drawn(found.target.reason)),
        *(say("slack.why.unmet", reason=drawn(unmet.reason_by(clock))) for unmet in found.unmet),
        drawn(found.last_decision),
        *(f"{drawn(summary_of(entry))} → {drawn(advice_of(entry))}" for entry in found.findings),
    ]
    rows = [
        say(
            "slack.why.row",
            at=speech.times.at(entry.at),
            who=named(entry.who),
            what=drawn(entry.what),
            why=drawn(entry.why),
        )
        for entry in found.trail[-TRAIL_ROWS:]
    ]
    rows = rows or [say("slack.why.nothing", days=days)]
    return SlackAnswer(blocks.joined([plain(line) for line in [*lines, *rows] if line]))


def _pool(pool: PoolView, speech: Speech) -> list[str]:
    lines = [_standing(pool, speech)]
    if pool.experimental:
        lines.append(speech.texts.say("slack.experimental"))
    if pool.seen is not None:
        at = speech.times.at(pool.seen.at)
        lines.append(
            speech.texts.say("slack.status.gpus", free=pool.gpus_free, in_use=pool.gpus_in_use, at=at)
        )
    lines += [speech.sentence(lease.no_node_yet) for lease in pool.leases if lease.no_node_yet is not None]
    lines.append(_next(pool.next, speech))
    return lines


def _standing(pool: PoolView, speech: Speech) -> str:
    say, owners = speech.texts.say, speech.texts.joined(map(named, pool.owners))
    if pool.leaked:
        return say("slack.status.leaked", pool=pool.name, reason=speech.sentence(pool.leaked))
    if not pool.leases:
        return say("slack.status.closing" if pool.closing else "slack.status.closed", pool=pool.name)
    opening = [lease for lease in pool.leases if lease.standing is LeaseStanding.OPENING]
    if len(opening) == len(pool.leases) and opening[0].gpus_expected is not None:
        ready = speech.times.with_zone(opening[0].gpus_expected)
        return say("slack.status.opening", pool=pool.name, owners=owners, ready=ready)
    until = max(lease.closes for lease in pool.leases)
    return say(
        "slack.status.open",
        pool=pool.name,
        until=speech.times.with_zone(until),
        nodes=sum(lease.usable for lease in pool.leases),
        owners=owners,
    )


def _next(lease: LeaseView | None, speech: Speech) -> str:
    if lease is None:
        return speech.texts.say("slack.status.next.none")
    what, opens = lease.window or named(lease.owner), speech.times.with_zone(lease.opens)
    if lease.refused_because:
        reason = speech.sentence(lease.refused_because)
        return speech.texts.say("slack.status.next.refused", what=what, opens=opens, reason=reason)
    return speech.texts.say("slack.status.next", what=what, opens=opens, nodes=lease.nodes)


def _window(window: WindowView, speech: Speech) -> str:
    name = window.window or named(window.owner)
    state = speech.texts.say(f"slack.window.{window.state}")
    if window.because:
        state = f"{state}: {speech.drawn(window.because)}"
    if window.capacity:
        state = speech.texts.say(
            "slack.windows.capacity", state=state, capacity=speech.drawn(window.capacity.said)
        )
    if window.readiness:
        state = speech.texts.say(
            "slack.windows.readiness", state=state, readiness=speech.drawn(window.readiness.said)
        )
    if window.opens is None or window.closes is None:
        return speech.texts.say("slack.windows.row.closed", window=name, date=window.date, state=state)
    return speech.texts.say(
        "slack.windows.row",
        window=name,
        opens=speech.times.at(window.opens),
        until=speech.times.with_zone(window.closes),
        nodes=window.nodes,
        pool=window.pool,
        state=state,
    )


def _line(text: str) -> Marked:
    """Names of pools are bold in the texts; a person's name may hold no markup, as owners are written."""
    return plain(text)
