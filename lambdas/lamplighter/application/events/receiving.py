"""Requests on the lab's bus: each becomes the command that a person would give, or is answered with a refusal.

The decision on a command is answered by telling.py, from the ledger. What is refused here leaves the ledger as it is.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from lamplighter.application.events.putting import check_taken, put
from lamplighter.application.events.services import EventServices
from lamplighter.application.logs import logger
from lamplighter.clock import monotonic, sleep
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.events import log_line, orders, request, telling
from lamplighter.domain.events.asked import AskedByEvent
from lamplighter.domain.events.request import EventRequest
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import BadInput, Refused, TryLater
from lamplighter.reasons.reason import Said, reason

DECISION_SECONDS, POLL_SECONDS = 10, 0.5
"""An open is decided within seconds. A request that is handed out again waits for minutes."""
_ID = re.compile(r'"id":\s*"([A-Za-z0-9-]{1,64})"')
_LONGEST_NUMBER = 18
"""Digits of a number in a detail. Python refuses to read thousands of them, and no key takes more."""


def receive(body: str, services: EventServices) -> None:
    """One event, as EventBridge gave it to the queue. Raises TryLater and OutsideFailed where it should come again."""
    try:
        event = _event(body)
        _log(event)
        asked = request.of_any_age(event, services.lab)
        waiting = services.ledger.waiting(asked.pool, asked.event)
        if waiting is None and _answered_before(asked, services):
            logger().info("answered before", extra={"event": asked.event, "entry": asked.entry})
            return
        if waiting is None:
            asked = asked.in_time(services.now())
        command = _command(asked, waiting, services)
        _keep(asked, command, services)
    except (BadInput, Refused) as error:
        _turn_away(body, error.said, services)
        return
    logger().append_keys(command=command.id, pool=command.pool, lease=command.lease_id)
    services.start(command)
    logger().info("command started", extra={"event": asked.event, "entry": asked.entry})
    if services.ledger.command(command.pool, command.id) is not None:
        # Its decision moves no more, so nothing else wakes who answers.
        services.wake(command.pool)


def _answered_before(asked: EventRequest, services: EventServices) -> bool:
    """Whether the queue hands out again an event that was answered: without a token its id is the command's."""
    return asked.token is None and services.ledger.command(asked.pool, asked.command_id()) is not None


def _command(asked: EventRequest, waiting: AskedByEvent | None, services: EventServices) -> Command:
    """The command of a request, about the lease that it means; that of a `waiting` one is known already."""
    if asked.verb is Verb.OPEN:
        return orders.opening(asked, services.lab)
    lease = services.ledger.lease(asked.pool, waiting.lease) if waiting else None
    if lease is None:
        lease = _lease(asked, services)
    if asked.verb is Verb.EXTEND:
        return orders.extending(asked, services.lab, lease)
    return orders.closing(asked, services.lab, lease)


def _lease(asked: EventRequest, services: EventServices) -> Lease:
    """The lease that an extend or a close means."""
    opened = None
    if asked.token:
        opening = asked.command_id(Verb.OPEN)
        if asked.verb is Verb.CLOSE:
            # Noted before the look at what was asked: an open that comes meanwhile sees the note.
            services.ledger.note_close(asked.pool, opening, services.now())
        opened = _decision(asked, opening, services)
    lease = orders.lease_of(asked, services.ledger.leases(asked.pool), opened, services.now())
    return services.ledger.where_moved(lease)


def _decision(asked: EventRequest, opening: str, services: EventServices) -> Decision | None:
    """The decision on the open of the same piece of work; None where nobody asked for it.

    It is waited for. Raises TryLater where it takes longer.
    """
    until = monotonic() + DECISION_SECONDS
    while True:
        waits = any(each.command == opening for each in services.ledger.asked(asked.pool))
        # Read after it: a request that waits no more is decided.
        decision = services.ledger.command(asked.pool, opening)
        if decision is not None or not waits:
            return decision
        if monotonic() > until:
            raise TryLater(reason("command.event.not-decided-yet", token=asked.token or ""))
        sleep(POLL_SECONDS)


def _log(event: Mapping[str, object]) -> None:
    """A request that the queue hands out again is logged again."""
    received = log_line.received(event)
    if received is not None:
        logger().info(log_line.RECEIVED, extra=received.keys())


def _keep(asked: EventRequest, command: Command, services: EventServices) -> None:
    """Keeps the request until it is answered. Raises Refused for an open whose close came before it."""
    kept, ledger, now = AskedByEvent.of(asked, command), services.ledger, services.now()
    if asked.verb is Verb.OPEN and asked.token and not _begun(command, services):
        # Kept before the look at the note: a close that comes meanwhile sees that the open waits.
        ledger.ask(replace(kept, held=True), now)
        if ledger.close_noted(asked.pool, command.id, now):
            ledger.forget(kept)
            raise Refused(reason("command.event.closed-before", token=asked.token))
    ledger.ask(kept, now)


def _begun(command: Command, services: EventServices) -> bool:
    """Whether the workflow of this command may have been started before."""
    waiting = services.ledger.asked(command.pool)
    return (
        any(each.command == command.id and not each.held for each in waiting)
        or services.ledger.command(command.pool, command.id) is not None
    )


def _event(body: str) -> Mapping[str, object]:
    """The event as JSON; BadInput for one that is too large, that Python cannot read, or that is no UTF-8."""
    try:
        event = json.loads(body, parse_int=_number, parse_constant=str)
        # Half a character, which JSON may name, has no UTF-8: no answer could repeat it.
        json.dumps(event, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise BadInput(reason("command.event.no-json")) from None
    if not isinstance(event, Mapping):
        raise BadInput(reason("command.event.no-json"))
    length = len(json.dumps(event.get("detail"), ensure_ascii=False).encode())
    if length > request.MOST_BYTES:
        raise BadInput(reason("command.event.too-large", kib=request.MOST_BYTES // 1024))
    return event


def _number(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else digits


def _turn_away(body: str, why: Said, services: EventServices) -> None:
    """One line in the log and one answer; an event without an id was made by nobody who could hear an answer."""
    found = _ID.search(body)
    logger().info("turned away", extra={"event": found[1] if found else None, "reason": str(why)})
    if found is None:
        return
    try:
        named = request.named(_event(body), services.lab)
    except BadInput:
        named = request.Named()
    answer = telling.refusal(
        why, services.known(), services.now(), event=found[1], pool=named.pool, owner=named.owner
    )
    check_taken([*put([answer], services).values()], services)
