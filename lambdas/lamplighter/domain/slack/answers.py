"""What the door answers: one short message for whoever asked, with what they may press next.

Every answer to a change shows how it was understood. What the lab looks like is said in seeing.py, the lab's
own messages in message.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lamplighter.data.texts import Texts
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.asked.buttons import Action, Carried
from lamplighter.domain.slack.asked.roles import No
from lamplighter.domain.slack.asked.understood import ends
from lamplighter.domain.slack.blocks import Block, Button, Marked, plain
from lamplighter.domain.slack.look import named
from lamplighter.domain.slack.times import Times

KEPT_LONGER = (timedelta(minutes=30), timedelta(hours=1), timedelta(hours=2))
"""What [Keep until…] offers beyond the present end."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One message for the asker alone, unless it says so."""

    text: Marked
    understood: str = ""
    elements: tuple[Mapping[str, object], ...] = ()
    """Buttons and choices, as Block Kit has them."""
    more: tuple[Block, ...] = field(default=())

    def to_json(self) -> dict[str, object]:
        """As Slack takes it, answered at once or sent to a response_url."""
        small = plain(self.understood)
        parts: list[Block] = [blocks.section(self.text), *self.more]
        if self.elements:
            parts.append({"type": "actions", "elements": list(self.elements)})
        if small:
            parts.append(blocks.context(small))
        return {
            "response_type": "ephemeral",
            "text": blocks.fallback(blocks.joined([self.text, small])),
            "blocks": blocks.whole(parts),
        }


@dataclass(frozen=True, slots=True)
class Voice:
    """In which language and by whose clock it is said."""

    texts: Texts
    times: Times
    zone_known: bool = True
    """False where Slack did not say theirs: the clock is the lab's, and the answer says so."""

    def understood(self, sentence: str) -> str:
        """The line that shows how it was understood."""
        if not sentence:
            return ""
        said = self.texts.say("slack.understood", what=sentence)
        return said if self.zone_known else f"{said} {self.texts.say('slack.zone-unknown')}"

    def button(
        self, action: Action, key: str, carried: Carried, style: blocks.Style | None = None
    ) -> Mapping[str, object]:
        """A button of ours."""
        return Button(action, self.texts.say(key), carried.written(), style).to_json()


def plainly(text: str, understood: str = "") -> Answer:
    """A sentence as it stands."""
    return Answer(plain(text), understood)


def decided(
    decision: Decision, command: Command, lease: Lease | None, understood: str, voice: Voice
) -> Answer:
    """What the lab decided; a pool that is full comes with [Tell me]."""
    said = voice.understood(understood)
    if decision.outcome == "granted" and lease is not None and command.verb is Verb.OPEN:
        later = lease.opens > decision.at + timedelta(minutes=2)
        text = voice.texts.say(
            "slack.granted-ahead" if later else "slack.granted",
            pool=lease.pool,
            nodes=lease.nodes,
            opens=voice.times.at(lease.opens),
            until=voice.times.with_zone(lease.closes),
            hold=str(lease.hold),
            id=lease.id,
        )
        return plainly(text, said)
    outcome = voice.texts.say(f"slack.outcome.{decision.outcome}")
    text = voice.texts.say(
        "slack.outcome", outcome=outcome, reason=voice.times.retold(decision.reason, voice.texts).rstrip(".")
    )
    if decision.outcome != "refused" or decision.earliest is None or command.verb is not Verb.OPEN:
        return plainly(text, said)
    earliest = voice.texts.say("slack.earliest", at=voice.times.with_zone(decision.earliest))
    return Answer(
        blocks.joined([plain(text), plain(earliest)]), said, (_tell_me(command, decision.earliest, voice),)
    )


def follows(understood: str, voice: Voice, *, here: bool, word: str) -> Answer:
    """It was handed on, and the decision takes longer than Slack waits."""
    key = "slack.follows" if here else "slack.follows-elsewhere"
    return plainly(voice.texts.say(key, word=word), voice.understood(understood))


def just_use_it(
    running: Sequence[Lease],
    free: int | None,
    command: Command,
    understood: str,
    voice: Voice,
    *,
    full_until: datetime | None = None,
) -> Answer:
    """The pool is open already: nothing is added unless somebody says so. `free` GPUs, where that is known.

    To a pool that is full until some instant nothing can be added: they may be told when there is room.
    """
    last, said = max(running, key=lambda lease: lease.closes), voice.understood(understood)
    opening = all(lease.state is not LeaseState.OPEN for lease in running)
    busy = ".opening" if opening else "" if free is None else ".free" if free else ".busy"
    text = voice.texts.say(
        f"slack.open-already{busy}",
        pool=last.pool,
        until=voice.times.with_zone(last.closes),
        whose=last.window or named(last.owner),
        gpus=free or 0,
    )
    if full_until is not None:
        full = voice.texts.say("slack.open-full", pool=last.pool, at=voice.times.with_zone(full_until))
        buttons = (_keep_until(last, voice), _tell_me(command, full_until, voice))
        return Answer(blocks.joined([plain(text), plain(full)]), said, buttons)
    more = Carried(
        pool=last.pool,
        nodes=command.nodes,
        lasting=command.lasting,
        closes=command.closes,
        because=None if command.because is None else str(command.because),
    )
    return Answer(
        plain(text), said, (_keep_until(last, voice), voice.button(Action.ADD, "slack.button.add", more))
    )


def may_not(why: No, command: Command | None, understood: str, voice: Voice) -> Answer:
    """A no by the lab's roles; with [Ask] where somebody who may can say yes."""
    text = plain(voice.texts.say("slack.may-not", reason=why.said(voice.texts)))
    if command is None or command.verb not in (Verb.OPEN, Verb.EXTEND):
        return Answer(text, voice.understood(understood))
    carried = Carried(
        pool=command.pool,
        lease=command.lease,
        nodes=command.nodes,
        lasting=command.lasting,
        opens=command.opens,
        closes=command.closes,
        because=None if command.because is None else str(command.because),
        verb=Action.ADD if command.add else command.verb.value,
    )
    button = voice.button(Action.ASK, "slack.button.ask", carried, "primary")
    return Answer(text, voice.understood(understood), (button,))


def sure(lease: Lease, word: str, understood: str, voice: Voice) -> Answer:
    """Before another's lease is closed its owner is named; yes is pressed, or typed after `word`."""
    text = voice.texts.say(
        "slack.sure",
        owner=lease.owner,
        id=lease.id,
        pool=lease.pool,
        until=voice.times.with_zone(lease.closes),
    )
    typed = voice.texts.say("slack.sure.type", word=f"/{word}", id=lease.id)
    carried = Carried(pool=lease.pool, lease=lease.id)
    button = voice.button(Action.CONFIRM, "slack.button.confirm", carried, "danger")
    return Answer(blocks.joined([plain(text), plain(typed)]), voice.understood(understood), (button,))


def help_text(command: str, user: str, nearest: str, voice: Voice) -> Answer:
    """Every word with an example, and the asker's own id; `nearest` is what goes before it."""
    lines: Sequence[str] = (
        *([plain(nearest)] if nearest else []),
        plain(voice.texts.say("slack.help.head")),
        *(
            f"`/{command} {example}`  {plain(voice.texts.say(f'slack.help.{word}'))}"
            for word, example in HELP
        ),
        plain(voice.texts.say("slack.help.id", id=user)),
    )
    return Answer(blocks.joined(lines))


HELP: Sequence[tuple[str, str]] = (
    ("status", "status"),
    ("open", "open 2 for 90m"),
    ("open-at", "open gpu 1 at fri 20:00 until 22:30 because of the exam"),
    ("extend", "extend 1h"),
    ("close", "close"),
    ("skip", "skip evening 2026-12-24"),
    ("windows", "windows"),
    ("leases", "leases"),
    ("cost", "cost"),
    ("why", "why"),
    ("keep", "keep"),
    ("pause", "pause until mon 08:00"),
)
"""What help shows: the key of its explanation, and an example that can be typed."""


def _tell_me(command: Command, earliest: datetime, voice: Voice) -> Mapping[str, object]:
    """A place in the waiting list for what a command asks for."""
    lasting = command.lasting or ends(command) - (command.opens or command.issued)
    wish = Carried(
        pool=command.pool,
        nodes=command.nodes,
        lasting=lasting,
        closes=earliest,
        because=None if command.because is None else str(command.because),
    )
    return voice.button(Action.TELL_ME, "slack.button.tell-me", wish)


def _keep_until(lease: Lease, voice: Voice) -> Mapping[str, object]:
    """A choice of later ends, by the asker's clock."""
    later = [lease.closes + longer for longer in KEPT_LONGER]
    return {
        "type": "static_select",
        "action_id": Action.KEEP_UNTIL.value,
        "placeholder": {"type": "plain_text", "text": voice.texts.say("slack.button.keep-until")},
        "options": [
            {
                "text": {"type": "plain_text", "text": voice.times.at(closes)},
                "value": Carried(pool=lease.pool, lease=lease.id, closes=closes).written(),
            }
            for closes in later
        ],
    }
