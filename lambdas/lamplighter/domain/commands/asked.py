"""Reads the body that a person sends to the lab's HTTP address into a command.

The body says what the person wants, and never who the person is: AWS says that. The address says whose leases the
person may change: `own` or `lab`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime

from lamplighter.domain.commands import body_keys, orders
from lamplighter.domain.commands.caller import Caller
from lamplighter.domain.commands.command import CHANGES_TO_THE_CALENDAR, WHOLE_LAB, Command, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.people.person import who
from lamplighter.errors import BadInput, Refused
from lamplighter.reasons.reason import reason

OWN, LAB = "own", "lab"
MOST_BYTES = 16 * 1024

_EXAMPLE = '{"verb": "open", "pool": "gpu", "token": "…"}'
_UNTIL = ("closes", "for_seconds")
#: The keys that each verb takes, beside `verb`, `pool` and `token`.
_TAKES: Mapping[Verb, tuple[str, ...]] = {
    Verb.OPEN: ("nodes", "opens", *_UNTIL, "because", "add", "owner"),
    Verb.EXTEND: ("lease", *_UNTIL, "because"),
    Verb.CLOSE: ("lease",),
    Verb.KEEP: ("lease", "because"),
    Verb.SKIP: ("window", "date", "because"),
    Verb.UNSKIP: ("window", "date", "because"),
    Verb.PAUSE: (*_UNTIL, "because"),
    Verb.RESUME: ("because",),
    Verb.ARM: ("because",),
    Verb.WATCH: ("because",),
    Verb.ACK: ("because",),
    Verb.EXPERIMENT: ("experiment", "lease", "because"),
    Verb.RESTORE: ("experiment", "lease"),
}
_OF_A_LEASE = frozenset({Verb.EXTEND, Verb.CLOSE, Verb.KEEP})
_ROUTES = {
    "OpenLab": "open",
    "ExtendLease": "extend",
    "CloseLab": "close",
    "Experiment": "experiment",
    orders.CHANGES: "change",
}
PATHS = tuple(f"{authority}/{way}" for authority in (OWN, LAB) for way in _ROUTES.values())


def route(verb: Verb) -> str:
    """The last part of the address that takes the verb."""
    return _ROUTES[orders.workflow(verb)]


def document(command: Command, token: str) -> dict[str, object]:
    """The body for a command. The same token means the same command, however often it is sent."""
    said = command.to_json()
    keys = ["verb", "pool", *_TAKES[command.verb]]
    return {key: said[key] for key in keys if said[key] not in (None, False)} | {"token": token}


def read(body: object, path: str, caller: Caller, now: datetime) -> Command:
    """The command of a body, in the caller's name.

    `path` is `own` or `lab` and a route, as `own/open`. Raises BadInput naming the key that is wrong, and
    Refused where only the lab's own people may ask for it.
    """
    if not isinstance(body, Mapping):
        raise BadInput(reason("command.body-no-object", example=_EXAMPLE))
    authority, _, way = path.partition("/")
    verb = _verb(body, way)
    _only_known(body, verb)
    token = body_keys.text(body, "token")
    pool = body_keys.text(body, "pool")
    if token is None or pool is None:
        raise BadInput(reason("command.body-key-missing", key="pool" if token else "token"))
    if (pool == WHOLE_LAB) != (verb in CHANGES_TO_THE_CALENDAR):
        if pool == WHOLE_LAB:
            raise BadInput(reason("command.pool-needed", verb=verb.value, lab=WHOLE_LAB))
        raise BadInput(reason("command.lab-needed", verb=verb.value, lab=WHOLE_LAB, pool=repr(pool[:80])))
    given = replace(
        orders.order(verb, pool, command_id=_id(verb, token, caller), by=caller.name, source="cli", now=now),
        nodes=body_keys.nodes(body),
        opens=body_keys.instant_of(body, "opens"),
        closes=body_keys.instant_of(body, "closes"),
        lasting=body_keys.lasting(body),
        lease=body_keys.text(body, "lease"),
        window=body_keys.text(body, "window"),
        date=_date(body),
        because=body_keys.text(body, "because", body_keys.LONGEST_TEXT),
        experiment=body_keys.text(body, "experiment"),
        add=body_keys.flag(body, "add"),
        for_lab=authority == LAB,
    )
    owner = body_keys.text(body, "owner")
    if authority != LAB:
        _of_ones_own(given, owner)
    if verb is Verb.CLOSE:
        whole = reason("lease.all-closed-by", by=given.by, pool=pool)
        given = replace(given, because=reason("lease.closed-by", by=given.by) if given.lease else whole)
    return replace(given, owner=owner or given.owner)


def about(command: Command, lease: Lease | None, experimenter: str | None = None) -> Command:
    """The command with the owner of the lease that it names. Raises Refused if the lease is another person's.

    `experimenter` is the person who runs the experiment that the command restores; without one it is refused.
    """
    if command.verb in _OF_A_LEASE and command.lease is not None:
        if lease is None:
            raise BadInput(reason("command.no-such-lease", pool=command.pool, lease=command.lease[:80]))
        if not command.for_lab and not lease.is_of(command.by):
            raise Refused(
                reason(
                    "command.lease-of-another",
                    lease=lease.called(),
                    owner=lease.owner,
                    verb=command.verb.value,
                )
            )
        return replace(command, owner=lease.owner)
    if command.verb is Verb.RESTORE and not command.for_lab:
        of_lease = lease is not None and lease.is_of(command.by)
        if experimenter is None or not (who(experimenter) == who(command.by) or of_lease):
            raise Refused(reason("command.restore-of-another"))
    return command


def _of_ones_own(command: Command, owner: str | None) -> None:
    if owner not in {None, command.by}:
        raise Refused(reason("command.owner-of-another", owner=owner or ""))
    if command.verb is Verb.KEEP:
        return
    if route(command.verb) == "change":
        raise Refused(reason("command.for-lab-only", verb=command.verb.value))
    if command.verb is Verb.CLOSE and command.lease is None:
        raise Refused(reason("command.whole-pool", pool=command.pool))


def _id(verb: Verb, token: str, caller: Caller) -> str:
    """The id contains the caller, so two people's commands never have the same id."""
    return f"cli-{verb.value}-{hashlib.sha256(f'{caller.arn} {token}'.encode()).hexdigest()[:16]}"


def _verb(body: Mapping[str, object], way: str) -> Verb:
    found = body.get("verb")
    known = [verb.value for verb in Verb if route(verb) == way]
    if not isinstance(found, str) or found not in known:
        raise BadInput(
            reason("command.not-one-of", key="verb", value=repr(str(found)[:80]), known=", ".join(known))
        )
    return Verb(found)


def _only_known(body: Mapping[str, object], verb: Verb) -> None:
    takes = ("verb", "pool", "token", *_TAKES[verb])
    unknown = [key for key in body if key not in takes]
    if unknown:
        raise BadInput(
            reason(
                "command.unknown-key", key=body_keys.shown(unknown[0]), verb=verb.value, keys=", ".join(takes)
            )
        )
    if verb in _OF_A_LEASE - {Verb.CLOSE} and body.get("lease") is None:
        raise BadInput(reason("command.lease-needed", verb=verb.value))


def _date(body: Mapping[str, object]) -> str | None:
    text = body_keys.text(body, "date")
    if text is None:
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise BadInput(reason("command.date-needed", value=repr(text[:80]))) from error
