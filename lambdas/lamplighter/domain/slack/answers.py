"""Answers to requests from Slack: one short message for the person, with the buttons they can press next.

Every answer to a change shows how the lab understood it. seeing.py shows the lab's state, and message.py the messages
in the channel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from lamplighter.data.texts import Texts
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.granting.free_times import FreeTime
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.asked.buttons import ButtonAction, Carried
from lamplighter.domain.slack.blocks import Block, Button, Marked, plain
from lamplighter.domain.slack.booking import Offer, book
from lamplighter.domain.slack.room import Room
from lamplighter.domain.slack.style import named
from lamplighter.domain.slack.times import Times
from lamplighter.reasons.reason import Reason, Said, as_sentence, draw, reason


@dataclass(frozen=True, slots=True)
class SlackAnswer:
    """One message for the asker alone."""

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
class Speech:
    """The language and the clock that one person reads."""

    texts: Texts
    times: Times
    zone_known: bool = True
    """False where Slack did not give their zone. The clock is the lab's then, and the answer says so."""

    def understood(self, sentence: str) -> str:
        """The line that shows how the lab understood a request."""
        if not sentence:
            return ""
        said = self.texts.say("slack.understood", what=sentence)
        return said if self.zone_known else f"{said} {self.texts.say('slack.zone-unknown')}"

    def drawn(self, said: Said | None) -> str:
        """A reason in the lab's language, by this person's clock."""
        return draw(said, self.texts, self.times.with_zone)

    def sentence(self, said: Said | None) -> str:
        """The same as a sentence of its own; empty where there is none."""
        return as_sentence(self.drawn(said), self.texts)

    def button(
        self, action: ButtonAction, key: str, carried: Carried, style: blocks.Style | None = None
    ) -> Mapping[str, object]:
        """A button of the lab."""
        return Button(action, self.texts.say(key), carried.written(), style).to_json()


def plainly(text: str, understood: str = "") -> SlackAnswer:
    """A sentence, escaped."""
    return SlackAnswer(plain(text), understood)


def decided(
    decision: Decision,
    command: Command,
    lease: Lease | None,
    understood: str,
    speech: Speech,
    *,
    experimental: bool = False,
    free: Sequence[FreeTime] | None = (),
) -> SlackAnswer:
    """The lab's decision; a refusal with [Tell me] and buttons for `free` times, as far as waiting helps.

    `experimental` is said of a pool that opens.
    """
    said = speech.understood(understood)
    if decision.outcome == "granted" and lease is not None and command.verb is Verb.OPEN:
        later = lease.opens > decision.at + timedelta(minutes=2)
        text = speech.texts.say(
            "slack.granted-ahead" if later else "slack.granted",
            pool=lease.pool,
            nodes=lease.nodes,
            opens=speech.times.at(lease.opens),
            until=speech.times.with_zone(lease.closes),
            hold=str(lease.hold),
            id=lease.id,
        )
        told = [text, speech.texts.say("slack.experimental")] if experimental else [text]
        return SlackAnswer(blocks.joined([plain(each) for each in told]), said)
    text = outcome(decision, speech)
    if decision.outcome != "refused" or command.verb is not Verb.OPEN:
        return plainly(text, said)
    lines: list[Marked] = [plain(text)]
    buttons: tuple[Mapping[str, object], ...] = ()
    if decision.earliest is not None:
        earliest = speech.texts.say("slack.earliest", at=speech.times.with_zone(decision.earliest))
        lines, buttons = [*lines, plain(earliest)], (_tell_me(command, decision.earliest, speech),)
    return _offering(free, command, SlackAnswer(blocks.joined(lines), said, buttons), speech)


def _offering(
    free: Sequence[FreeTime] | None, command: Command, answer: SlackAnswer, speech: Speech
) -> SlackAnswer:
    """The same answer with a button for each free time; where waiting helps and there is none soon, it says so."""
    if free is None:
        return answer
    say, times = speech.texts.say, speech.times
    if free:
        offers = say("slack.free.next", zone=times.zone.key)
    elif answer.elements:
        offers = say("slack.free.none", until=times.with_zone(times.now + timedelta(weeks=1)))
    else:
        return answer
    offer = Offer(command.id, command.nodes, words_of(command.because))
    row = (button.to_json() for button in book(free, offer, times, speech.texts))
    text = blocks.joined([answer.text, plain(offers)])
    return replace(answer, text=text, elements=(*answer.elements, *row))


def outcome(decision: Decision, speech: Speech) -> str:
    """The outcome of a decision with its reason, as a sentence."""
    said = reason(
        "slack.outcome", outcome=Reason(f"slack.outcome.{decision.outcome}"), reason=decision.reason
    )
    return speech.sentence(said)


def follows(understood: str, speech: Speech, *, word: str) -> SlackAnswer:
    """Somebody else gave the same command, and is told the decision."""
    return plainly(speech.texts.say("slack.follows", word=word), speech.understood(understood))


def just_use_it(
    running: Sequence[Lease],
    free: int | None,
    command: Command,
    understood: str,
    speech: Speech,
    *,
    room: Room | None = None,
    no_node_yet: bool = False,
) -> SlackAnswer:
    """The pool is open already, so the lab adds no nodes unless the person asks for that.

    `free` counts the free GPUs, where that is known. `room` is what can be granted: only that is offered, and [Tell me]
    where the rest can be granted later. `no_node_yet`: pods bring the nodes, and none has asked for one.
    """
    room = room or Room(command.nodes or 1)
    last, said = max(running, key=lambda lease: lease.closes), speech.understood(understood)
    opening = all(lease.state is not LeaseState.OPEN for lease in running)
    busy = ".opening" if opening else "" if free is None else ".free" if free else ".busy"
    if no_node_yet:
        busy = ".no-node-yet"
    text = speech.texts.say(
        f"slack.open-already{busy}",
        pool=last.pool,
        until=speech.times.with_zone(last.closes),
        whose=last.window or named(last.owner),
        gpus=free or 0,
    )
    buttons = _keep_until(last, speech, room.later)
    if room.earliest is not None:
        full = speech.texts.say("slack.open-full", pool=last.pool, at=speech.times.with_zone(room.earliest))
        buttons += (_tell_me(command, room.earliest, speech),)
        answer = SlackAnswer(blocks.joined([plain(text), plain(full)]), said, buttons)
        return _offering(room.free, command, answer, speech)
    lines = [plain(text)]
    if room.never is not None:
        lines.append(plain(speech.sentence(reason("slack.nothing-changed", reason=room.never))))
    more = Carried(
        pool=last.pool,
        nodes=room.nodes,
        lasting=command.lasting,
        closes=command.closes,
        because=words_of(command.because),
    )
    if room.nodes:
        label = speech.texts.say("slack.button.add", nodes=room.nodes)
        buttons += (Button(ButtonAction.ADD, label, more.written()).to_json(),)
    if room.approvable:
        buttons += (_ask(replace(command, add=True), speech),)
    return SlackAnswer(blocks.joined(lines), said, buttons)


def may_not(why: Reason, command: Command | None, understood: str, speech: Speech) -> SlackAnswer:
    """A refusal by the lab's roles; with [Ask] where an approver can allow it."""
    text = plain(speech.drawn(reason("slack.may-not", reason=why)))
    if command is None or command.verb not in (Verb.OPEN, Verb.EXTEND):
        return SlackAnswer(text, speech.understood(understood))
    return SlackAnswer(text, speech.understood(understood), (_ask(command, speech),))


def _ask(command: Command, speech: Speech) -> Mapping[str, object]:
    carried = Carried(
        pool=command.pool,
        lease=command.lease,
        nodes=command.nodes,
        lasting=command.lasting,
        opens=command.opens,
        closes=command.closes,
        because=words_of(command.because),
        verb=ButtonAction.ADD if command.add else command.verb.value,
    )
    return speech.button(ButtonAction.ASK, "slack.button.ask", carried, "primary")


def sure(lease: Lease, word: str, understood: str, speech: Speech) -> SlackAnswer:
    """Before somebody closes another person's lease, the answer names the owner and asks for a confirmation."""
    text = speech.texts.say(
        "slack.sure",
        owner=lease.owner,
        id=lease.id,
        pool=lease.pool,
        until=speech.times.with_zone(lease.closes),
    )
    typed = speech.texts.say("slack.sure.type", word=f"/{word}", id=lease.id)
    carried = Carried(pool=lease.pool, lease=lease.id)
    button = speech.button(ButtonAction.CONFIRM, "slack.button.confirm", carried, "danger")
    return SlackAnswer(blocks.joined([plain(text), plain(typed)]), speech.understood(understood), (button,))


def help_text(command: str, user: str, nearest: str, speech: Speech) -> SlackAnswer:
    """Every command with an example, and the asker's own id; `nearest` stands before them."""
    lines: Sequence[str] = (
        *([plain(nearest)] if nearest else []),
        plain(speech.texts.say("slack.help.head")),
        *(
            f"`/{command} {example}`  {plain(speech.texts.say(f'slack.help.{word}'))}"
            for word, example in HELP
        ),
        plain(speech.texts.say("slack.help.id", id=user)),
    )
    return SlackAnswer(blocks.joined(lines))


def words_of(because: Said | None) -> str | None:
    """The words that a person gave as their reason; None for a reason of the lab's own."""
    return because if isinstance(because, str) else None


HELP: Sequence[tuple[str, str]] = (
    ("status", "status"),
    ("open", "open 2 for 90m"),
    ("open-at", "open gpu 1 at fri 20:00 until 22:30 because of the exam"),
    ("extend", "extend 1h"),
    ("close", "close"),
    ("skip", "skip evening 2026-12-24"),
    ("windows", "windows"),
    ("free", "free 2 for 3h"),
    ("leases", "leases"),
    ("cost", "cost"),
    ("why", "why"),
    ("keep", "keep"),
    ("pause", "pause until mon 08:00"),
)
"""The commands of help: the key of the explanation, and an example to type."""


def _tell_me(command: Command, earliest: datetime, speech: Speech) -> Mapping[str, object]:
    """The button that puts a command's request on the waiting list."""
    wish = Carried(
        pool=command.pool,
        nodes=command.nodes,
        lasting=command.length,
        closes=earliest,
        because=words_of(command.because),
    )
    return speech.button(ButtonAction.TELL_ME, "slack.button.tell-me", wish)


def _keep_until(lease: Lease, speech: Speech, later: Sequence[datetime]) -> tuple[Mapping[str, object], ...]:
    """A choice of later ends, by the asker's clock; none where the asker can be granted none."""
    if not later:
        return ()
    choice: Mapping[str, object] = {
        "type": "static_select",
        "action_id": ButtonAction.KEEP_UNTIL.value,
        "placeholder": {"type": "plain_text", "text": speech.texts.say("slack.button.keep-until")},
        "options": [
            {
                "text": {"type": "plain_text", "text": speech.times.at(closes)},
                "value": Carried(lease=lease.id, closes=closes).written(),  # at most 150 characters
            }
            for closes in later
        ],
    }
    return (choice,)
