"""The frame of every page: head, style, header and footer, in one self-contained file.

Its policy allows no script and no request, whatever a text on the page contains.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from lamplighter.pages.html import Child, Html, el, joined
from lamplighter.pages.wording import Wording


@cache
def style() -> str:
    """The style sheet, as it stands in the page."""
    return files("lamplighter.pages").joinpath("page.css").read_text("utf-8").strip()


@cache
def policy() -> str:
    """Nothing but this very style sheet."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def sheet(words: Wording, title: str, header: Child, sections: Sequence[Child], footer: Child) -> str:
    """The whole document."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy()),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="robots", content="noindex"),
        el("title", title),
        # Our own file, unescaped: a style sheet knows no entities.
        el("style", Html(style())),
    )
    body = el(
        "body",
        el("a", words("skip"), class_="skip", href="#main"),
        el("header", header, class_="top"),
        el("main", *sections, id="main", tabindex=-1),
        el("footer", footer, class_="foot"),
    )
    return joined(Html("<!doctype html>\n"), el("html", head, body, lang=words.language)) + "\n"


def section(name: str, title: str, *children: Child, class_: str = "") -> Html:
    """A part of a page with its heading."""
    heading = f"{name}-title"
    return el(
        "section",
        el("h2", title, id=heading),
        *children,
        aria_labelledby=heading,
        class_=f"part {class_}".strip(),
        id=name,
    )


def lamp() -> Html:
    """Our mark: a lamp that is lit."""
    return el(
        "svg",
        el("path", d="M9 27h14M16 27V14M11 14h10l2-7H9z", class_="lamp-post"),
        el("path", d="M12 12h8l1-4H11z", class_="lamp-light"),
        el("path", d="M16 3v2M5 5l2 2M27 5l-2 2", class_="lamp-rays"),
        viewBox="0 0 32 32",
        class_="lamp",
        aria_hidden="true",
    )


def badge(kind: str, said: str) -> Html:
    """A state in words, with a sign that needs no colour."""
    return el(
        "span",
        el("span", SIGNS.get(kind, "•"), class_="sign", aria_hidden="true"),
        said,
        class_=f"badge {kind}",
    )


SIGNS = {
    "passed": "✓",
    "failed": "✕",
    "not-proven": "?",
    "late": "!",
    "going": "→",
    "quiet": "·",
    "open": "●",
}


def facts(rows: Sequence[tuple[str, Child]]) -> Html:
    """Names with what they are."""
    return el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in rows], class_="facts")


def figures(rows: Sequence[tuple[str, str, str]]) -> Html:
    """The few numbers that matter, large: what, how much, and a line below it."""
    return el(
        "dl",
        [
            el("div", el("dt", name), el("dd", value), el("dd", below, class_="below") if below else None)
            for name, value, below in rows
        ],
        class_="figures",
    )
