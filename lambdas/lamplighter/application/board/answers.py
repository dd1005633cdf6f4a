"""Late answers to commands from Slack, and the messages of requests for approval.

An answer goes to the response_url while that is valid, else to its asker alone: in the channel, or as a direct message
where Slack refuses that for good. The board marks it in the ledger before it sends it, so that no two of its runs both
send it. An answer whose run died with it is given by a later one.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lamplighter.adapters.slack.reply import NoLonger
from lamplighter.adapters.slack.web_api import Declined
from lamplighter.application import metrics
from lamplighter.application.logs import logger
from lamplighter.application.metrics import Metric
from lamplighter.application.views.free_times import after_refusal
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.slack import answers
from lamplighter.domain.slack.asked import asking
from lamplighter.domain.slack.blocks import Marked
from lamplighter.domain.slack.kept import ApprovalRequest, Reply
from lamplighter.domain.slack.message import Message
from lamplighter.domain.slack.times import Times
from lamplighter.errors import LamplighterError

if TYPE_CHECKING:
    from lamplighter.application.board.services import Board


def answer(command_id: str, board: "Board") -> None:
    """Send the decision on a command to the person who gave it, unless they have it already."""
    owed = board.conversation.owed(command_id)
    if owed is None:
        return
    decision = board.ledger.command(owed.pool, command_id)
    if decision is None or not board.conversation.begin_answer(command_id, board.now()):
        return
    if board.now() >= owed.until:
        logger().warning("an answer came too late for Slack", extra={"command": command_id})
        metrics.count(Metric.SLACK_ANSWER_LOST, 1, board.lab.name)
    else:
        try:
            _send_to(owed.url, owed.channel, owed.user, _said(owed, decision, board), board)
        except LamplighterError:
            board.conversation.end_answer(command_id, given=False)
            raise
    board.conversation.end_answer(command_id, given=True)


def _said(owed: Reply, decision: Decision, board: "Board") -> dict[str, object]:
    style = board.style(owed.zone)
    speech = answers.Speech(style.texts, Times(style.zone, style.now), zone_known=owed.zone is not None)
    named = decision.lease or decision.about
    lease = board.ledger.lease(owed.pool, named) if named else None
    if owed.ordered is not None:
        command = Command.from_json(owed.ordered)
        pool = board.lab.pools.get(owed.pool)
        experimental = pool is not None and pool.has("experimental")
        free = after_refusal(decision, command, board.lab, board.ledger, board.now())
        return answers.decided(
            decision, command, lease, owed.understood, speech, experimental=experimental, free=free
        ).to_json()
    return answers.plainly(answers.outcome(decision, speech), speech.understood(owed.understood)).to_json()


def _send_to(url: str | None, channel: str, user: str, said: Mapping[str, object], board: "Board") -> None:
    if url:
        try:
            board.answer(url, said)
        except NoLonger as over:
            logger().warning("%s", over)
        else:
            return
    blocks = said.get("blocks")
    text = Marked(str(said.get("text") or ""))
    message = Message(text, blocks if isinstance(blocks, list) else ())
    try:
        try:
            board.api.whisper(channel, user, message)
        except Declined as refused:  # the app is not in that channel, or may not post there
            logger().warning("%s", refused)
            board.api.post(user, message)
    except Declined as refused:
        logger().error("an answer is lost: %s", refused, extra={"user": user, "channel": channel})
        metrics.count(Metric.SLACK_ANSWER_LOST, 1, board.lab.name)


def show_ask(ask_id: str, board: "Board") -> None:
    """Post a request where its approvers see it, and update it with the decision."""
    ask = board.conversation.ask(ask_id)
    if ask is None or (board.channel is None and not ask.channel):
        return
    poster = board.poster(ask.pool, f"ask-{ask.id}", board.channel or ask.channel, ask.until)
    before, style = poster.shown.ts, board.style(ask.zone)
    poster.display(asking.ask_message(ask, board.style()), thread=_thread(ask, board))
    if poster.shown.ts and poster.shown.ts != before:
        board.conversation.show_ask(ask.id, poster.shown.ts)
    if ask.state != "asked":
        poster.tells(f"told-{ask.state}", lambda: _tell(ask, asking.settled(ask, style), board))


def _thread(ask: ApprovalRequest, board: "Board") -> str | None:
    """The thread of the lease that the request is about, or of a running lease of the pool; else None."""
    now, asked_for = board.now(), ask.command.get("lease")
    leases = [lease for lease in board.ledger.leases(ask.pool) if lease.in_force(now)]
    for lease in sorted(leases, key=lambda each: each.id != asked_for):
        shown = board.conversation.shown(ask.pool, lease.id)
        if shown is not None and shown.ts and shown.channel == board.channel:
            return shown.ts
    return None


def _tell(ask: ApprovalRequest, message: Message, board: "Board") -> None:
    """Tell the asker about the decision, and nobody else."""
    said = {"response_type": "ephemeral", **message.to_json()}
    _send_to(ask.url, ask.channel, ask.user, said, board)
