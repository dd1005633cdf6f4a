"""Markup by functions: everything that is no `Html` is text and is escaped. There is no other way to add text.

Owns escaping alone. The sections have the content, and page.css has the layout.
"""

import html
import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

#: What a page must not carry, whoever wrote it: control characters that HTML forbids, and the marks that turn
#: the direction of what stands after them (Unicode TR 36, 3.1).
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_CODE = re.compile(r"`([^`\s](?:[^`]*[^`\s])?)`")
_VOID = frozenset({"meta", "br", "link", "hr"})


class Html(str):
    """Markup that this module made."""

    __slots__ = ()


Child: TypeAlias = "Html | str | Iterable[Child] | None"
Value: TypeAlias = str | int | float | bool | None


def escaped(text: str) -> Html:
    """A text as it is to be read, in an element or in a quoted attribute."""
    return Html(html.escape(_UNSEEN.sub("\ufffd", text), quote=True))


def el(tag: str, /, *children: Child, **attributes: Value) -> Html:
    """An element: `el("td", owner, class_="name")`. Underscores in an attribute's name are hyphens."""
    said = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Html(f"<{tag}{said}>")
    return Html(f"<{tag}{said}>{joined(*children)}</{tag}>")


def joined(*children: Child) -> Html:
    """Several, one after another."""
    return Html("".join(_child(each) for each in children))


def with_code(text: str, drawn: Callable[[str], Child] = lambda part: part) -> Html:
    """A text in which words between backticks are code, as in Slack, and the others are drawn in their own way."""
    return joined(
        *(el("code", part) if odd % 2 else drawn(part) for odd, part in enumerate(_CODE.split(text)))
    )


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return str(child)
    return escaped(child) if isinstance(child, str) else "".join(map(_child, child))


def _attribute(name: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    called = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {called}"
    # A coordinate needs no more than a hundredth of a pixel.
    text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return f' {called}="{escaped(text)}"'
