"""What an event of the ledger's stream says: only which items moved. What they say now is read from the ledger.

So an event may come twice, late, or never: the next one about the same pool makes up for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lamplighter.domain.commands.command import WHOLE_LAB

POOL, PROGRESS, LAB, SLACK = "POOL#", "PROGRESS#", "LAB", "SLACK"
COMMAND, REPLY, ASK, WAIT = "COMMAND#", "REPLY#", "ASK#", "WAIT#"
OWN = ("MESSAGE#", "PERSON#", "SEEN#")
"""What the conversation itself writes: nobody has to be told of it."""


@dataclass(slots=True)
class ChangedItems:
    """What to look at again; dictionaries keep the order in which things moved."""

    pools: dict[str, None] = field(default_factory=dict)
    commands: dict[str, None] = field(default_factory=dict)
    """Decided on, or an answer to them is owed."""
    asks: dict[str, None] = field(default_factory=dict)


def moved(event: Mapping[str, object]) -> ChangedItems:
    """What one batch of the stream is about."""
    found = ChangedItems()
    for pk, sk in _keys(event.get("Records")):
        if pk.startswith(POOL):
            pool = pk.removeprefix(POOL)
            if sk.startswith(COMMAND):
                found.commands[sk.removeprefix(COMMAND)] = None
            found.pools[pool] = None
        elif pk.startswith(PROGRESS):
            found.pools[pk.removeprefix(PROGRESS)] = None
        elif pk == LAB and sk.startswith(COMMAND):
            found.commands[sk.removeprefix(COMMAND)] = None
        elif pk.startswith(SLACK) and not sk.startswith(OWN):
            _conversation(pk, sk, found)
    found.pools.pop(WHOLE_LAB, None)
    return found


def _conversation(pk: str, sk: str, found: ChangedItems) -> None:
    if sk.startswith(REPLY):
        found.commands[sk.removeprefix(REPLY)] = None
    elif sk.startswith(ASK):
        found.asks[sk.removeprefix(ASK)] = None
    elif sk.startswith(WAIT):
        found.pools[pk.removeprefix(f"{SLACK}#")] = None


def _keys(records: object) -> Iterable[tuple[str, str]]:
    if not isinstance(records, list):
        return
    for record in records:
        keys = record.get("dynamodb", {}).get("Keys", {}) if isinstance(record, Mapping) else {}
        pk, sk = keys.get("pk", {}).get("S"), keys.get("sk", {}).get("S")
        if isinstance(pk, str) and isinstance(sk, str):
            yield pk, sk
