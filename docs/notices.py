"""The reference page of notices: every kind, when it is said, whether Slack pings for it, and who gets it unasked.

The table is lamplighter/lab/notice_kinds.py's, which routes and messages go by as well.
"""

from collections.abc import Iterator

from lamplighter.lab.notice_kinds import KINDS, NoticeKind, Ping

HEAD = """# What the lab says aloud

Generated from the table of kinds by `make docs`. How to send them somewhere:
[route notices](../how-to/run/route-notices.md).

Every message of the topics `<lab>-notices` and `<lab>-pages` carries the attributes `kind`, one of these, and `pool`,
the pool's name or `*` for the whole lab. Its subject is an English line of ASCII characters, since SNS takes no other;
in a lab with another `notify.language` the text begins with the subject in that language. The ledger keeps reasons and
findings as codes with values, so they are in the lab's language as well.

*New in Slack* says when the channel gets a new message: one that *pings* mentions people, a *plain* one nobody;
everything else changes the window's message in place or is told in its thread. *Unasked* marks what a route of
`notify.notices` gets that names no kinds.
"""

PAGES = """
## Pages

What needs a person goes to the topic `<lab>-pages`, that is to `notify.email` and `notify.pages`, all of it to each.
The alarms page there as well, without a kind: [what pages, and what to do](operation/alarms.md).
"""


def page() -> str:
    """The page as text."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    yield "## Notices\n"
    yield from _table([kind for kind in KINDS if not kind.page], unasked=True)
    yield PAGES
    yield from _table([kind for kind in KINDS if kind.page], unasked=False)
    yield TAIL.rstrip()


def _table(kinds: list[NoticeKind], *, unasked: bool) -> Iterator[str]:
    yield f"| kind | when | new in Slack |{' unasked |' if unasked else ''}"
    yield f"|---|---|---|{'---|' if unasked else ''}"
    for kind in kinds:
        cells = [
            f"`{kind.name}`",
            kind.when,
            _in_slack(kind),
            *(["yes" if kind.routed else ""] if unasked else []),
        ]
        yield f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def _in_slack(kind: NoticeKind) -> str:
    if kind.ping is Ping.NEVER:
        return "plain" if kind.in_channel else ""
    return f"pings {kind.ping.value}{', else plain' if kind.in_channel else ''}"


TAIL = """
## A notice that is not taken

No workflow waits for people to be told. Where a topic refuses a message, the function `<lab>-notices` is given it with
the step `Tell` and goes on trying behind the workflow's back: at once, after a minute and after two more. Then it is a
dead letter. Where SNS has the message and an address does not take it, SNS tries again by its own rules, and then it
is a dead letter too. The alarm `<lab>-dead-letters` pages for both. The trail says of every notice whether it was
sent: `yes`, `later` (handed over) or `no` (nobody took it; the function's log has it).
"""
