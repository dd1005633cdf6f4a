"""What somebody asks for who may not do it themselves: a message with [Approve] and [Decline], and its end.

Who may approve is roles.py's; the approved command takes the path of any other.
"""

import hashlib

from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.asked.buttons import ButtonAction, Carried
from lamplighter.domain.slack.blocks import Block, Button, joined, plain
from lamplighter.domain.slack.kept import ApprovalRequest
from lamplighter.domain.slack.message import Message
from lamplighter.domain.slack.style import SlackStyle, named


def ask_message(ask: ApprovalRequest, style: SlackStyle) -> Message:
    """The message about an ask, as it stands now."""
    said = style.say("ask.asked", owner=plain(named(ask.owner)), what=plain(ask.understood))
    shown: list[Block] = [blocks.section(said)]
    if ask.state != "asked":
        after = style.say(f"ask.{ask.state}", by=plain(named(ask.by)))
        said = joined([said, after])
        shown.append(blocks.context(after))
    elif style.now >= ask.until:
        after = style.say("ask.lapsed")
        said = joined([said, after])
        shown.append(blocks.context(after))
    else:
        about = Carried(pool=ask.pool, ask=ask.id).written()
        shown += [
            blocks.context(style.say("ask.who", until=plain(style.clock(ask.until)))),
            *blocks.actions(
                Button(ButtonAction.APPROVE, style.say("button.approve"), about, style="primary"),
                Button(ButtonAction.DECLINE, style.say("button.decline"), about),
            ),
        ]
    digest = hashlib.sha256(repr(shown).encode()).hexdigest()[:32]
    return Message(said, shown, digest)


def settled(ask: ApprovalRequest, style: SlackStyle) -> Message:
    """What the asker hears once somebody has decided."""
    after = style.say(f"ask.{ask.state}", by=plain(named(ask.by)))
    said = joined([plain(ask.understood), after])
    return Message(said, [blocks.section(said)])
