"""The reference page of notifications: every kind, when it is sent, whether Slack mentions people, and who gets it.

The table is in lamplighter/lab/notice_kinds.py. Routes and messages use it too.
"""

from collections.abc import Iterator

from lamplighter.lab.notice_kinds import KINDS, NoticeKind, Ping

HEAD = """# What the lab says aloud

Generated from the table of kinds by `make docs`. [Route notices](../how-to/run/route-notices.md) shows how to send
notifications to an address.

Every message of the topics `<lab>-notices` and `<lab>-pages` has two attributes: `kind`, one of these, and `pool`, the
pool's name or `*` for the whole lab. Its subject is an English line of ASCII characters, because SNS accepts no other.
In a lab with another `notify.language`, the text begins with the subject in that language. The ledger keeps reasons and
findings as codes with values, so they are in the lab's language too.

*New in Slack* says when the channel gets a new message. A message that *pings* mentions people, and a *plain* message
mentions nobody. Every other notification updates the lease's message in place or goes to its thread. *By default* marks
the kinds that a route of `notify.notices` without kinds gets.
"""

PAGES = """
## Pages

A notification that needs a person goes to the topic `<lab>-pages`. `notify.email` and `notify.pages` each get all of
them. The alarms also page there, without a kind: [what pages, and what to do](operation/alarms.md).
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
    yield f"| kind | when | new in Slack |{' by default |' if unasked else ''}"
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

No workflow waits for a notification. If a topic refuses a message, the workflow's step gives it to the function
`<lab>-notices` with the step `Tell`. The function tries asynchronously: at once, after a minute and after two more.
Then the message goes to the dead-letter queue. If an address does not accept a message from SNS, SNS retries by its
own rules. Then this message goes to the dead-letter queue too. The guard pages for both.

The audit has `sent` for what the function `<lab>-notices` sends: `yes`, `later` (given to the function again) or `no`
(its log has it). It has `paged` for the guard's pages: `yes`, or `no` if neither the topic nor that function took one.
Then the next sweep sends it again. What the planner has to say comes again with its next runs, for three hours. For
other notifications of the guard, and those of the doctor, only the function's log says that a topic refused one.
"""
