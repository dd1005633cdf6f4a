"""Judges a Slack message by Slack's published limits, written here independent of the product.

https://docs.slack.dev/reference/block-kit/blocks and …/block-elements, …/composition-objects, and chat.postMessage;
read 2026-11-20. `faults` returns every broken limit, as sentences.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FIELDS = {
    "section": {"type", "block_id", "text", "fields", "accessory", "expand"},
    "context": {"type", "block_id", "elements"},
    "actions": {"type", "block_id", "elements"},
    "header": {"type", "block_id", "text", "level"},
    "divider": {"type", "block_id"},
}
MESSAGE = {"channel", "user", "ts", "thread_ts", "text", "blocks", "response_type", "replace_original"}
MESSAGE |= {"delete_original", "unfurl_links", "unfurl_media", "token"}
SELECT = {"type", "action_id", "placeholder", "options", "initial_option", "confirm", "focus_on_load"}
BUTTON = {"type", "text", "action_id", "url", "value", "style", "confirm", "accessibility_label"}
CONFIRM = {"title": 100, "text": 300, "confirm": 30, "deny": 30}
ENTITY = re.compile(r"&(?!amp;|lt;|gt;)")
ANGLE = re.compile(r"<(?:@[UW][A-Z0-9]+|!subteam\^[A-Z0-9]+|#C[A-Z0-9]+|https?://[^<>|]+(?:\|[^<>|]*)?)>")


def faults(message: Mapping[str, Any]) -> list[str]:
    """What Slack would refuse or change in a message, as sent to chat.postMessage or to a response_url."""
    return [*_message(message)]


def _message(message: Mapping[str, Any]) -> Iterator[str]:
    if extra := set(message) - MESSAGE:
        yield f"unknown fields of a message {sorted(extra)}"
    if message.get("response_type", "ephemeral") not in {"ephemeral", "in_channel"}:
        yield f"response_type is {message['response_type']}"
    yield from _said(message.get("text"))
    if len(json.dumps(message)) > 500_000:
        yield "the message is larger than any request Slack takes"
    blocks = message.get("blocks")
    if blocks is None:
        return
    if not isinstance(blocks, Sequence) or not 1 <= len(blocks) <= 50:
        yield f"a message has 1 to 50 blocks, not {len(blocks)}"
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    if len(set(ids)) != len(ids):
        yield "two blocks have one block_id"
    for at, block in enumerate(blocks):
        for fault in _block(block):
            yield f"block {at} ({block.get('type')}): {fault}"


def _said(text: str | None) -> Iterator[str]:
    if not text:
        yield "a message needs a text: it is what notifications and screen readers say"
        return
    if len(text) > 4000:
        yield f"the text has {len(text)} characters, Slack asks for at most 4000"
    yield from _markup(text, "the message's text")


def _block(block: Mapping[str, Any]) -> Iterator[str]:
    known = FIELDS.get(block.get("type", ""))
    if known is None:
        yield "no such kind of block is known here"
        return
    if extra := set(block) - known:
        yield f"unknown fields {sorted(extra)}"
    if len(block.get("block_id", "")) > 255:
        yield "block_id is over 255 characters"
    match block["type"]:
        case "section":
            yield from _section(block)
        case "header":
            yield from _text(block["text"], 150, only_plain=True)
        case "context":
            yield from _context(block["elements"])
        case "actions":
            yield from _actions(block["elements"])


def _section(block: Mapping[str, Any]) -> Iterator[str]:
    fields = block.get("fields", [])
    if not block.get("text") and not fields:
        yield "needs text or fields"
    if block.get("text"):
        yield from _text(block["text"], 3000)
    if len(fields) > 10:
        yield f"{len(fields)} fields, 10 are allowed"
    for field in fields:
        yield from _text(field, 2000)


def _context(elements: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not 1 <= len(elements) <= 10:
        yield f"1 to 10 elements, not {len(elements)}"
    for element in elements:
        yield from _text(element, 3000)


def _actions(elements: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not 1 <= len(elements) <= 25:
        yield f"1 to 25 elements, not {len(elements)}"
    ids = [element.get("action_id") for element in elements]
    if len(set(ids)) != len(ids):
        yield f"an action_id stands twice in one block: {ids}"
    for element in elements:
        match element.get("type"):
            case "button":
                yield from _button(element)
            case "static_select":
                yield from _select(element)
            case other:
                yield f"no such element is known here: {other}"


def _select(select: Mapping[str, Any]) -> Iterator[str]:
    if extra := set(select) - SELECT:
        yield f"unknown fields of a select {sorted(extra)}"
    yield from _text(select["placeholder"], 150, only_plain=True)
    if len(select["action_id"]) > 255:
        yield "a select's action_id is over 255 characters"
    if not 1 <= len(select["options"]) <= 100:
        yield f"a select has 1 to 100 options, not {len(select['options'])}"
    for option in select["options"]:
        yield from _text(option["text"], 75, only_plain=True)
        if not 1 <= len(option["value"]) <= 150:
            yield f"an option's value has 1 to 150 characters, not {len(option['value'])}"


def _button(button: Mapping[str, Any]) -> Iterator[str]:
    if extra := set(button) - BUTTON:
        yield f"unknown fields of a button {sorted(extra)}"
    yield from _text(button["text"], 75, only_plain=True)
    for name, most in (("action_id", 255), ("value", 2000), ("url", 3000), ("accessibility_label", 75)):
        if len(button.get(name, "")) > most:
            yield f"a button's {name} is over {most} characters"
    if button.get("style", "primary") not in {"primary", "danger"}:
        yield f"a button's style is {button['style']}"
    if confirm := button.get("confirm"):
        if set(confirm) - {*CONFIRM, "style"} or set(CONFIRM) - set(confirm):
            yield f"a confirmation has title, text, confirm and deny, not {sorted(confirm)}"
        for name, most in CONFIRM.items():
            yield from _text(confirm[name], most, only_plain=True)


def _text(text: Mapping[str, Any], most: int, *, only_plain: bool = False) -> Iterator[str]:
    kind, said = text.get("type"), text.get("text")
    if kind not in ({"plain_text"} if only_plain else {"plain_text", "mrkdwn"}):
        yield f"a text of type {kind} may not stand here"
    allowed = {"type", "text", "emoji"} if kind == "plain_text" else {"type", "text", "verbatim"}
    if extra := set(text) - allowed:
        yield f"unknown fields of a {kind} {sorted(extra)}"
    if not isinstance(said, str) or not 1 <= len(said) <= most:
        yield f"a text has 1 to {most} characters, not {len(said or '')}"
    elif kind == "mrkdwn":
        yield from _markup(said, "a text")


def _markup(said: str, where: str) -> Iterator[str]:
    """Text of a person must not have become markup: every remaining bracket belongs to a form of Slack's own."""
    if ENTITY.search(said):
        yield f"{where} has an & that is no entity"
    if re.search("[<>]", ANGLE.sub("", said)):
        yield f"{where} has < or > that is no mention and no link: {said[:120]!r}"
    if said.count("```") % 2:
        yield f"{where} opens a block of code that it does not close"
