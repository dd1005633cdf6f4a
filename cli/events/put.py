"""`lamplighter events put`: puts a request on the lab's bus with the caller's own credentials, as a program would.

The lab decides by the same rules as for everybody, and answers on the bus.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer

from cli import deployment, known_names, printing
from cli.deployment import Deployment
from cli.endings import DENIED
from cli.events import answers, entries, reading, tail
from cli.options import AsJson, LabName, Yes
from cli.use import agreed, meant, orders
from cli.use.wait import ForClosing, ForExtending, ForOpening, Wait
from cli.waiting import WaitingCommand
from lamplighter.adapters.aws.calls import error_code
from lamplighter.adapters.aws.event_bus import EventBus
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.words import OpenWords, open_words
from lamplighter.domain.events import request
from lamplighter.domain.events.orders import lease_of
from lamplighter.errors import BadInput, OutsideFailed, Refused
from lamplighter.values import instant

HELP = """Put a request on the lab's bus: open, extend or close, as an entry of events.allow.

\b
Examples:
  lamplighter events put open --pool gpu --for 3h --token run-17 --wait
  lamplighter events put extend --for 30m --token run-17
  lamplighter events put close --token run-17 --yes
"""
app = typer.Typer(help=HELP, no_args_is_help=True)

NOT_YET = "00000000-0000-0000-0000-000000000000"
"""In the place of the id that EventBridge gives an event."""

Pool = Annotated[
    str | None,
    typer.Option(
        "--pool",
        metavar="POOL",
        help="The pool; left out: the entry's only one.",
        autocompletion=known_names.pools,
    ),
]
For = Annotated[str | None, typer.Option("--for", metavar="D", help="How long, such as 3h or 90m.")]
Until = Annotated[
    str | None, typer.Option("--until", metavar="T", help="Until when: 22:30, fri 20:00, or RFC 3339.")
]
Because = Annotated[str | None, typer.Option("--because", metavar="TEXT", help="Why, for people.")]
Token = Annotated[
    str | None,
    typer.Option(
        "--token", metavar="T", help="The name of this piece of work; open, extend and close have the same."
    ),
]
Entry = Annotated[
    str | None,
    typer.Option(
        "--entry", metavar="NAME", help="The entry of events.allow; left out: the only one, or yours."
    ),
]


@app.command("open", cls=WaitingCommand)
def put_open(
    pool: Pool = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", metavar="N", help="How many nodes; left out: 1.")
    ] = None,
    lasting: For = None,
    until: Until = None,
    because: Because = None,
    token: Token = None,
    entry: Entry = None,
    wait: ForOpening = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Ask for nodes on a pool.

    Exit code 0: put, with --wait granted granted, and with --wait open with proven GPUs. 1: not allowed, refused, or
    the GPUs are not proven. --wait needs logs:FilterLogEvents for the lab's answer.

    \b
    Examples:
      lamplighter events put open --pool gpu --for 3h
      lamplighter events put open --nodes 2 --until 22:30 --token run-17 --wait
    """
    wanted = Wanted(pool, nodes, lasting, until, because, token)
    _put(Verb.OPEN, wanted, entry, wait=wait, as_json=as_json, lab_name=lab_name)


@app.command("extend", cls=WaitingCommand)
def put_extend(
    pool: Pool = None,
    lasting: For = None,
    until: Until = None,
    because: Because = None,
    token: Token = None,
    entry: Entry = None,
    wait: ForExtending = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Ask for more time on a lease that the entry opened: that of the token, or the only one that runs.

    Exit code 0: put, and with --wait extended. 1: not allowed, or refused. --wait needs logs:FilterLogEvents.

    \b
    Examples:
      lamplighter events put extend --for 1h --token run-17
      lamplighter events put extend --until 23:00 --wait
    """
    wanted = Wanted(pool, None, lasting, until, because, token)
    _put(Verb.EXTEND, wanted, entry, wait=wait, as_json=as_json, lab_name=lab_name)


@app.command("close", cls=WaitingCommand)
def put_close(
    pool: Pool = None,
    because: Because = None,
    token: Token = None,
    entry: Entry = None,
    wait: ForClosing = None,
    yes: Yes = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """End a lease that the entry opened before its time: that of the token, or the only one that runs.

    A close whose open has not come yet makes that open refused.

    Exit code 0: put, with --wait granted closing, and with --wait zero is proven. 1: not allowed, refused, or the
    pool is leaked. --wait needs logs:FilterLogEvents for the lab's answer.

    \b
    Examples:
      lamplighter events put close --token run-17
      lamplighter events put close --pool gpu --yes --wait
    """
    wanted = Wanted(pool, because=because, token=token)
    _put(Verb.CLOSE, wanted, entry, wait=wait, as_json=as_json, lab_name=lab_name, yes=yes)


@dataclass(frozen=True)
class Wanted:
    """The words of a person."""

    pool: str | None
    nodes: int | None = None
    lasting: str | None = None
    until: str | None = None
    because: str | None = None
    token: str | None = None

    def detail(self, deployed: Deployment) -> dict[str, object]:
        """The detail of the event; what is left out is left to the lab."""
        keys = {
            "pool": self.pool,
            "nodes": self.nodes,
            "for_seconds": _seconds(self.lasting, deployed) if self.lasting else None,
            "until": instant.written(_until(self.until, deployed)) if self.until else None,
            "because": self.because,
            "token": self.token,
        }
        return {key: value for key, value in keys.items() if value is not None}


def _put(
    verb: Verb,
    wanted: Wanted,
    named: str | None,
    *,
    wait: Wait | None,
    as_json: bool,
    lab_name: str | None,
    yes: bool = True,
) -> None:
    deployed = deployment.find(lab_name)
    bus, events = reading.bus(deployed), deployed.lab.events
    assert events is not None  # noqa: S101 -- a lab with a bus has them
    entry = entries.meant(events, named, lambda: orders.caller().arn)
    sender, detail = events.allow[entry].source, wanted.detail(deployed)
    asked = _checked(deployed, sender, events.allow[entry].principals[0], verb, detail)
    if not yes:
        agreed.agree(
            [_ending(asked, deployed)], "Put this close?", "nothing was put on the bus", as_json=as_json
        )
    event = _event(deployed, entry, verb, detail)
    put: dict[str, object] = {
        "event": event,
        "bus": bus,
        "source": sender,
        "detail-type": verb.value,
        "detail": detail,
    }
    if not as_json:
        printing.say(f"event {event}: {verb.value} is on the bus {bus}, as {sender}")
    answer = answers.answer(deployed, event) if wait else None
    if answer and not as_json:
        printing.say(tail.line(answer, deployed.zone))
    done = answers.is_done(deployed, answer, wait) if answer else True
    if as_json:
        printing.as_json({**put, **({"answer": tail.document(answer)} if answer else {})})
    raise typer.Exit(0 if done else 1)


def _checked(
    deployed: Deployment, sender: str, principal: str, verb: Verb, detail: Mapping[str, object]
) -> request.EventRequest:
    """The request as the lab would read it. Raises what the lab would answer; the bus's policy is AWS's to judge."""
    event = {
        "id": NOT_YET,
        "source": sender,
        "account": principal.split(":")[4],
        "time": instant.written(deployed.now),
        "detail-type": verb.value,
        "detail": detail,
    }
    return request.read(event, deployed.lab, deployed.now)


def _ending(asked: request.EventRequest, deployed: Deployment) -> str:
    """A line about the lease that would end."""
    opened = None
    if asked.token is not None:
        opened = deployed.ledger.command(asked.pool, asked.command_id(Verb.OPEN))
        if opened is None:
            return (
                f"no open with token {asked.token} is decided on {asked.pool}: one that comes within the hour would "
                "be refused"
            )
    try:
        lease = lease_of(asked, deployed.ledger.leases(asked.pool), opened, deployed.now)
    except (BadInput, Refused) as error:
        return f"would end nothing as things are: {printing.drawn_error(error)}"
    return agreed.ending(lease, deployed)


def _event(deployed: Deployment, entry: str, verb: Verb, detail: Mapping[str, object]) -> str:
    """Puts the event and gives its id. Refused where the bus's policy, or the caller's own, denies it."""
    bus, events = deployed.name, deployed.lab.events
    assert events is not None  # noqa: S101 -- a lab with a bus has them
    allowed = events.allow[entry]
    try:
        asked = EventBus(bus).ask(allowed.source, verb.value, detail)
    except OutsideFailed as error:
        if isinstance(error.__cause__, Exception) and error_code(error.__cause__) in DENIED:
            raise Refused(entries.denied(allowed, verb.value, bus, orders.caller().arn)) from error
        raise
    if asked.event is not None:
        return asked.event
    if asked.error in DENIED or (asked.error or "").startswith("NotAuthorizedFor"):
        raise Refused(entries.denied(allowed, verb.value, bus, orders.caller().arn))
    raise OutsideFailed(
        f"events:PutEvents on {bus} did not take the event: {asked.error}", "events:PutEvents", bus
    )


def _until(text: str, deployed: Deployment) -> datetime:
    """An instant with its offset, or a day and a time by the lab's clock."""
    if text[:1].isdecimal() and "T" in text.upper():
        try:
            return instant.read(text)
        except BadInput as error:
            raise BadInput(f"--until: {printing.drawn_error(error)}") from error
    closes = _clause("until", text, deployed).closes
    assert closes is not None  # noqa: S101 -- the clause has a value, or is bad input
    return closes


def _seconds(text: str, deployed: Deployment) -> int:
    lasting = _clause("for", text, deployed).duration
    assert lasting is not None  # noqa: S101 -- the clause has a value, or is bad input
    return int(lasting.total_seconds())


def _clause(word: str, text: str, deployed: Deployment) -> OpenWords:
    """What the words of `open` say, in the spellings that Slack reads."""
    return open_words(meant.spelled(deployed, [word, *text.split()]), [], deployed.now, deployed.zone)
