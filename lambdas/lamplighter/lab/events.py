"""Who may open and close pools by an event on the lab's own EventBridge bus, and what for."""

from typing import Annotated, Literal

from pydantic import Field

from lamplighter.lab.names import ADMIN_ARN, ENTRY_NAME, EVENT_SOURCE
from lamplighter.lab.types import Duration, Part, unit

MOST_ENTRIES = 10
MOST_PRINCIPALS = 10
LONGEST_PRINCIPAL = 200
LONGEST_SOURCE = 64
EventVerb = Literal["open", "extend", "close"]
EntryName = Annotated[str, Field(pattern=ENTRY_NAME)]
Principal = Annotated[str, Field(pattern=ADMIN_ARN, max_length=LONGEST_PRINCIPAL)]


class EventEntry(Part):
    """What some roles or users may do by events of one source."""

    source: str = Field(
        pattern=EVENT_SOURCE,
        max_length=LONGEST_SOURCE,
        description="The `source` of their events; each entry has a source of its own.",
        examples=["ci.training"],
    )
    principals: list[Principal] = Field(
        min_length=1,
        max_length=MOST_PRINCIPALS,
        description="The IAM roles and users that may put these events.",
        examples=[["arn:aws:iam::111122223333:role/ci"]],
        json_schema_extra=unit("IAM role or user ARNs"),
    )
    may: list[EventVerb] = Field(
        default=["open", "extend", "close"],
        min_length=1,
        description="What their events may do.",
        examples=[["open", "extend", "close"]],
    )
    pools: list[str] | None = Field(
        None, min_length=1, description="The pools on which they may; left out: all.", examples=[["gpu"]]
    )
    max_nodes: int | None = Field(
        None,
        ge=1,
        le=100,
        description="The most nodes at once on one pool; left out: as many as the pool has.",
        examples=[2],
        json_schema_extra=unit("nodes"),
    )
    longest: Duration | None = Field(
        None,
        description="The longest lease they may have; left out: guard.longest_lease.",
        examples=["3h"],
        json_schema_extra=unit("duration such as 8h, 90m, 1h30m"),
    )
    owner: str | None = Field(
        None,
        min_length=1,
        max_length=80,
        description="Who owns and answers for their leases; left out: the entry's name.",
        examples=["ci-training"],
    )


class Events(Part):
    """The lab's bus: who may put requests on it. The lab tells its own events on the same bus."""

    allow: dict[EntryName, EventEntry] = Field(
        default_factory=dict,
        max_length=MOST_ENTRIES,
        description="Who may open, extend and close by an event; left out: nobody, the lab only tells its events.",
    )

    def owner_of(self, entry: str) -> str:
        """Who owns the leases of an entry."""
        return self.allow[entry].owner or entry

    def entry_of(self, source: str) -> str | None:
        """The entry whose source this is."""
        return next((name for name, entry in self.allow.items() if entry.source == source), None)
