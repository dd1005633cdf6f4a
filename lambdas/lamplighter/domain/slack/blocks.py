"""The few kinds of Block Kit block that the lab uses, typed, and never over Slack's limits.

Owns escaping and cutting, so that no other file has to. The texts come from message.py and its neighbours.
Limits: https://docs.slack.dev/reference/block-kit (read 2026-11-20).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NewType, TypeAlias

Marked = NewType("Marked", str)
"""Text in Slack's markup, in which the words of people and programs are escaped by `plain`."""
Block: TypeAlias = Mapping[str, object]
Style = Literal["primary", "danger"]

MOST_BLOCKS = 50
MOST_ELEMENTS = 25
MOST_IN_CONTEXT = 10
SECTION_LONG = 3000
HEADER_LONG = 150
BUTTON_LONG = 75
VALUE_LONG = 2000
ID_LONG = 255
URL_LONG = 3000
CONFIRM_TITLE_LONG = 100
CONFIRM_TEXT_LONG = 300
CONFIRM_BUTTON_LONG = 30
FALLBACK_LONG = 4000
"""Slack cuts a message's text at 40,000 characters and asks for at most 4,000."""
CUT = "…"
FENCE = "```"


def plain(text: str) -> Marked:
    """Somebody's words, escaped: Slack shows them as they are, without a mention, a link or an open code block."""
    return _escaped(text.replace(FENCE, "'''"))


def written(text: str) -> Marked:
    """Words of the lab's owner for everybody. Code blocks in them stay, as long as each one is closed."""
    return plain(text) if text.count(FENCE) % 2 else _escaped(text)


def _escaped(text: str) -> Marked:
    return Marked(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def bold(text: str) -> Marked:
    return Marked(f"*{plain(text)}*")


def code(text: str) -> Marked:
    """A block of code."""
    return Marked(f"{FENCE}{plain(text)}{FENCE}")


def link(address: str, text: str) -> Marked:
    """A link, or the text alone where the address is too long."""
    if len(address) > URL_LONG:
        return plain(text)
    return Marked(f"<{plain(address).replace('|', '%7C')}|{plain(text).replace('|', '/')}>")


def mention(member: str) -> Marked:
    """A mention of a person or a user group by id, which notifies them; any other text is escaped."""
    if not (member.isalnum() and member.isascii() and member.isupper()):
        return plain(member)
    return Marked(
        {"U": f"<@{member}>", "W": f"<@{member}>", "S": f"<!subteam^{member}>"}.get(member[0], member)
    )


def joined(parts: Sequence[str], between: str = "\n") -> Marked:
    """Marked texts one after the other, without the empty ones."""
    return Marked(between.join(part for part in parts if part))


def cut(text: Marked, long: int) -> Marked:
    """At most so many characters, never in the middle of an entity, a link or an open fence."""
    if len(text) <= long:
        return text
    kept = text[: long - len(CUT) - len(FENCE)]
    for begin, end in (("<", ">"), ("&", ";")):
        opened = kept.rfind(begin)
        if opened > kept.rfind(end):
            kept = kept[:opened]
    closing = FENCE if kept.count(FENCE) % 2 else ""
    return Marked(f"{kept}{CUT}{closing}")


@dataclass(frozen=True, slots=True)
class Confirm:
    """The dialog that Slack shows before it sends a click."""

    title: str
    text: str
    yes: str
    no: str

    def to_json(self) -> dict[str, object]:
        return {
            "title": _plain_text(self.title, CONFIRM_TITLE_LONG),
            "text": _plain_text(self.text, CONFIRM_TEXT_LONG),
            "confirm": _plain_text(self.yes, CONFIRM_BUTTON_LONG),
            "deny": _plain_text(self.no, CONFIRM_BUTTON_LONG),
        }


@dataclass(frozen=True, slots=True)
class Button:
    """A button: its action is a verb, and its value names the object."""

    action: str
    text: str
    value: str
    """Compact JSON from buttons.py. It cannot be cut, so a value that is too long is an error."""
    style: Style | None = None
    confirm: Confirm | None = None
    url: str | None = None

    def to_json(self) -> dict[str, object]:
        if len(self.value) > VALUE_LONG or len(self.action) > ID_LONG:
            raise ValueError(
                f"button {self.action} carries {len(self.value)} characters, Slack takes {VALUE_LONG}"
            )
        said: dict[str, object] = {
            "type": "button",
            "action_id": self.action,
            "text": _plain_text(self.text, BUTTON_LONG),
            "value": self.value,
        }
        if self.style:
            said["style"] = self.style
        if self.confirm:
            said["confirm"] = self.confirm.to_json()
        if self.url and len(self.url) <= URL_LONG:
            said["url"] = self.url
        return said


def header(text: str) -> Block:
    return {"type": "header", "text": _plain_text(text, HEADER_LONG)}


def section(text: Marked) -> Block:
    return {"type": "section", "text": _marked(text)}


def context(*texts: Marked) -> Block:
    """Small print; from the tenth text on, the rest is joined into one."""
    pieces = [text for text in texts if text] or [Marked(CUT)]
    if len(pieces) > MOST_IN_CONTEXT:
        rest = joined(pieces[MOST_IN_CONTEXT - 1 :], " · ")
        pieces = [*pieces[: MOST_IN_CONTEXT - 1], rest]
    return {"type": "context", "elements": [_marked(text) for text in pieces]}


def actions(*buttons: Button) -> list[Block]:
    """Rows of buttons; none where there is no button."""
    return [
        {
            "type": "actions",
            "elements": [button.to_json() for button in buttons[first : first + MOST_ELEMENTS]],
        }
        for first in range(0, len(buttons), MOST_ELEMENTS)
    ]


def divider() -> Block:
    return {"type": "divider"}


def whole(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of one message; where there are too many, the last one that fits shows `…`."""
    if len(blocks) <= MOST_BLOCKS:
        return list(blocks)
    return [*blocks[: MOST_BLOCKS - 1], context(Marked(CUT))]


def fallback(text: Marked) -> Marked:
    """The text for notifications and screen readers."""
    return cut(text, FALLBACK_LONG)


def _marked(text: Marked) -> dict[str, object]:
    # verbatim: Slack turns no words into mentions or channels by itself.
    return {"type": "mrkdwn", "text": cut(text, SECTION_LONG) or CUT, "verbatim": True}


def _plain_text(text: str, long: int) -> dict[str, object]:
    shown = text.strip() or CUT
    shown = shown if len(shown) <= long else f"{shown[: long - 1]}{CUT}"
    return {"type": "plain_text", "text": shown, "emoji": True}
