"""One message as a topic carries it: what people read, and by what subscriptions pick it (kind and pool).

What it says is announcement.py's; sending it is the notices adapter's.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

from lamplighter.domain.notices.announcement import Announcement


@dataclass(frozen=True, slots=True)
class Notification:
    """A notice on its way."""

    kind: str
    """One of kinds.py."""
    pool: str
    """The pool it is about, `*` for the whole lab."""
    subject: str
    """One line; what is not ASCII is lost on the way."""
    text: str

    def to_json(self) -> dict[str, object]:
        """For an event that sends it again."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        """Reads what to_json wrote."""
        return cls(**{field.name: str(document.get(field.name) or "") for field in fields(cls)})


def of(lab: str, pool: str, said: Announcement) -> Notification:
    """A notice of a lab about a pool."""
    return Notification(said.kind, pool, f"{lab}: {said.plain}", said.message)
