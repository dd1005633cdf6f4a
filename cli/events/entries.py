"""Which entry of `events.allow` a person puts events for, and who may put events for it."""

from collections.abc import Callable, Iterable

from cli.nearest import did_you_mean
from lamplighter.errors import BadInput
from lamplighter.lab.events import EventEntry, Events

_PARTS = 6
"""Of an ARN: arn, partition, service, region, account, resource."""


def meant(events: Events, named: str | None, arn: Callable[[], str]) -> str:
    """The named entry, else the only one, else the one that has the caller among its principals.

    `arn` asks AWS who calls. Raises BadInput where no entry is meant, or several are.
    """
    names = list(events.allow)
    if not names:
        raise BadInput(
            "nobody may put requests on this bus: add an entry to events.allow in the lab's file and deploy"
        )
    if named is not None and named not in names:
        raise BadInput(
            f"--entry: there is no entry '{named[:80]}', there are {', '.join(names)}{did_you_mean(named, names)}"
        )
    if named is not None or len(names) == 1:
        return named or names[0]
    caller = arn()
    theirs = [name for name, entry in events.allow.items() if is_principal(caller, entry.principals)]
    if len(theirs) == 1:
        return theirs[0]
    why = f"{caller} is in several entries" if theirs else f"{caller} is in no entry"
    raise BadInput(f"--entry: {why}, name one of {', '.join(theirs or names)}")


def is_principal(caller: str, principals: Iterable[str]) -> bool:
    """Whether a caller, as STS names it, is one of these roles and users.

    STS names a session by its role without the role's path.
    """
    account, kind, name = _identity(caller)
    return (account, kind, name) in {_identity(principal) for principal in principals}


def _identity(arn: str) -> tuple[str, str, str]:
    parts = arn.split(":", _PARTS - 1)
    account, resource = (parts[4], parts[5]) if len(parts) == _PARTS else ("", arn)
    kind, _, path = resource.partition("/")
    if kind == "assumed-role":
        return account, "role", path.partition("/")[0]
    return account, kind, path.rpartition("/")[2]


def denied(entry: EventEntry, verb: str, bus: str, caller: str) -> str:
    """What a person reads whom the bus's policy does not let in."""
    if verb not in entry.may:
        return f"events of source {entry.source} may {', '.join(entry.may)} on the bus {bus}, not {verb}"
    if is_principal(caller, entry.principals):
        return (
            f"AWS denied events:PutEvents on the bus {bus} to {caller}, which the lab lets in: allow the action in "
            "the caller's own policy"
        )
    return (
        f"the bus {bus} takes events of source {entry.source} from {', '.join(entry.principals)} only; "
        f"you are {caller}"
    )
