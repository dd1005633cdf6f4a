"""Which items an event of the ledger's stream names. Their present content is read from the ledger.

So an event may come twice, late, or never: the next event about the same pool covers it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lamplighter.domain.commands.command import WHOLE_LAB

POOL, PROGRESS, LAB, SLACK = "POOL#", "PROGRESS#", "LAB", "SLACK"
STATE, COMMAND, REPLY, ASK, WAIT = "STATE", "COMMAND#", "REPLY#", "ASK#", "WAIT#"
OWN = ("MESSAGE#", "PERSON#", "SEEN#")
"""Items that the conversation itself writes. They need no message."""


@dataclass(slots=True)
class ChangedItems:
    """What to read again, each with the sequence number of its first record, in that order."""

    pools: dict[str, str] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    """Commands with a decision, or with an answer to send."""
    asks: dict[str, str] = field(default_factory=dict)
    swept: bool = False
    """Whether the guard has looked at a pool meanwhile, as it does every few minutes."""


def moved(event: Mapping[str, object]) -> ChangedItems:
    """The items that one batch of the stream names."""
    found = ChangedItems()
    for pk, sk, number in _keys(event.get("Records")):
        if pk.startswith(POOL):
            pool = pk.removeprefix(POOL)
            if sk.startswith(COMMAND):
                found.commands.setdefault(sk.removeprefix(COMMAND), number)
            found.pools.setdefault(pool, number)
            found.swept |= sk == STATE
        elif pk.startswith(PROGRESS):
            found.pools.setdefault(pk.removeprefix(PROGRESS), number)
        elif pk == LAB and sk.startswith(COMMAND):
            found.commands.setdefault(sk.removeprefix(COMMAND), number)
        elif pk.startswith(SLACK) and not sk.startswith(OWN):
            _conversation(pk, sk, number, found)
    found.pools.pop(WHOLE_LAB, None)
    return found


def _conversation(pk: str, sk: str, number: str, found: ChangedItems) -> None:
    if sk.startswith(REPLY):
        found.commands.setdefault(sk.removeprefix(REPLY), number)
    elif sk.startswith(ASK):
        found.asks.setdefault(sk.removeprefix(ASK), number)
    elif sk.startswith(WAIT):
        found.pools.setdefault(pk.removeprefix(f"{SLACK}#"), number)


def _keys(records: object) -> Iterable[tuple[str, str, str]]:
    if not isinstance(records, list):
        return
    for record in records:
        moved = record.get("dynamodb", {}) if isinstance(record, Mapping) else {}
        keys = moved.get("Keys", {})
        pk, sk = keys.get("pk", {}).get("S"), keys.get("sk", {}).get("S")
        if isinstance(pk, str) and isinstance(sk, str):
            yield pk, sk, str(moved.get("SequenceNumber", ""))
