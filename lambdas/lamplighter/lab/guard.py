"""The guard's settings: the budget, the longest lease, and whether it acts or only reports.

A rule of the guard never reads a lab. It reads a field of `PoolFacts` (domain/guard/facts.py), which
application/guard/facts.py fills for a sweep and application/guard/preview.py for a preview.
"""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from lamplighter.lab.names import CURRENCY
from lamplighter.lab.types import Amount, Duration, OneOrMore, Part, Start, read_duration, shown, unit
from lamplighter.values.counted import write_duration

Owner = Annotated[str, StringConstraints(min_length=1, max_length=80)]


def read_share(value: object) -> int:
    """A share of a budget in per cent, 1 to 100. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100:  # noqa: PLR2004
        raise ValueError(f"is {shown(value)}, write a share from 1 to 100")
    return value


Share = Annotated[
    int, BeforeValidator(read_share), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 100})
]
Mode = Literal["watch", "enforce"]
IdleBy = Literal["pods", "gpu"]
Period = Literal["day", "week", "month"]
OFF = "off"
SHORTEST = timedelta(minutes=10)
"""Two sweeps. The guard checks every five minutes whether a pod holds a GPU."""


def read_idle_after(value: object) -> timedelta:
    """A duration of at least ten minutes; zero for `off`. Raises ValueError."""
    if value in (OFF, timedelta()):
        return timedelta()
    try:
        length = read_duration(value)
    except ValueError as error:
        raise ValueError(f"{error}; or off") from None
    if length < SHORTEST:
        raise ValueError(f"is {write_duration(length)}, the shortest is {write_duration(SHORTEST)}; or off")
    return length


def write_idle_after(length: timedelta) -> str:
    """The text for lab.yaml."""
    return write_duration(length) if length else OFF


IdleAfter = Annotated[
    timedelta,
    BeforeValidator(read_idle_after),
    PlainSerializer(write_idle_after, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^(off|(?=.)([0-9]{1,5}h)?([0-9]{1,6}m)?)$"}),
]


FURTHEST = timedelta(hours=24)
"""The planner writes schedules 36 hours ahead, and runs every hour."""
NEAREST = timedelta(minutes=10)
"""Below it nobody could act on what is found."""


def read_ahead(value: object) -> timedelta:
    """How long before a window: 10 minutes to 24 hours. Raises ValueError."""
    length = read_duration(value)
    if not NEAREST <= length <= FURTHEST:
        raise ValueError(
            f"is {write_duration(length)}, write {write_duration(NEAREST)} to {write_duration(FURTHEST)}"
        )
    return length


Ahead = Annotated[
    timedelta,
    BeforeValidator(read_ahead),
    PlainSerializer(write_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^(?=.)([0-9]{1,5}h)?([0-9]{1,6}m)?$"}),
]


class Budget(Part):
    """What GPU nodes may cost in a period of the lab's time zone; 0 refuses every lease that costs money."""

    amount: Amount = Field(
        Decimal(120),
        description="The most that may be held and spent in a period.",
        json_schema_extra=unit("currency"),
    )
    currency: str = Field(
        "USD",
        pattern=CURRENCY,
        description="The currency of the amount and of all prices.",
        json_schema_extra=unit("ISO 4217 code"),
    )
    period: Period = Field(
        "month", description="The period of the budget, in the lab's time zone; weeks begin on Monday."
    )
    owners: dict[Owner, Amount] = Field(
        default_factory=dict,
        description="The parts of the amount that single owners may have, by name; an owner who is not named"
        " may have all of it.",
        examples=[{"evening-class": "40"}],
        json_schema_extra=unit("currency by owner"),
    )
    warn_at: Annotated[list[Share], Field(max_length=10), OneOrMore()] = Field(
        default_factory=lambda: [50, 80, 100],
        description="The shares of the amount, and of each owner's part, at which people are told once a period how"
        " much is spent and held. They are told as well when what is planned until the period's end is too much."
        " An empty list: never.",
        examples=[[50, 80, 100]],
        json_schema_extra=unit("per cent"),
    )


class MostAhead(Part):
    """What one person may have granted ahead on a pool. The lab's windows do not count."""

    leases: int = Field(
        40,
        ge=1,
        le=200,
        description="How many leases that are not open yet; 40 is one for each student of a class, and some more.",
        examples=[10],
    )
    hours: int | None = Field(
        None, ge=1, description="How many hours these leases last together; left out: any.", examples=[40]
    )


class Guard(Part):
    """The rules that compare leases, money and what really runs."""

    budget: Budget = Field(default_factory=Budget, description="The budget; there is always one.")
    longest_lease: Duration = Field(
        timedelta(hours=8),
        description="The longest lease or window, by the wall clock.",
        json_schema_extra=unit("duration such as 8h, 90m, 1h30m"),
    )
    default_lease: Duration = Field(
        timedelta(hours=1),
        description="The length that `open` grants if no time is given; at most longest_lease.",
        json_schema_extra=unit("duration such as 8h, 90m, 1h30m"),
    )
    most_ahead: MostAhead = Field(
        default_factory=MostAhead, description="What one person may have granted ahead on a pool."
    )
    idle_after: IdleAfter = Field(
        timedelta(hours=1),
        description="The guard closes a lease that a person asked for when no pod has held a GPU of its pool for so"
        " long. It says so 15 minutes before; `lamplighter keep` keeps the lease.",
        examples=["90m", "off"],
        json_schema_extra=unit("duration such as 90m or 2h, or off"),
    )
    idle_by: IdleBy = Field(
        "pods",
        description="What idle_after counts, here and in windows. pods: no pod holds a GPU. gpu: no GPU is busy, by"
        " the DCGM exporter, even while a pod holds one; receipts then show GPU-hours used beside those paid.",
        examples=["gpu"],
    )
    mode: Mode | None = Field(
        None,
        description="enforce: the guard closes nodes without a lease. watch: it only reports them."
        " Left out: enforce for a pool that we create, watch for one that we adopt.",
        examples=["enforce"],
    )
    warnings: Annotated[list[Duration], Field(max_length=3), OneOrMore()] = Field(
        default_factory=lambda: [timedelta(minutes=15), timedelta(minutes=5)],
        description="How long before the end of a lease people are warned, up to three times; an empty list: never.",
        examples=[["15m", "5m"]],
        json_schema_extra=unit("durations such as 15m"),
    )
    look_again: Annotated[list[Ahead], Field(max_length=3), OneOrMore()] = Field(
        default_factory=list,
        description="How long before each window the lab checks again whether it can open, up to three times. People"
        " are told when the result changes; left out: never.",
        examples=[["24h", "2h", "30m"]],
        json_schema_extra=unit("durations from 10m to 24h"),
    )
    curfew: Start | None = Field(
        None,
        description="A time of every day, by the lab's clock, at which AWS's own schedules bring every pool"
        " to zero; no lease runs across it, and none is granted in the ten minutes after it.",
        examples=["04:00"],
        json_schema_extra=unit("HH:MM, 00:00 to 23:59"),
    )

    reserved_concurrency: int | None = Field(
        None,
        ge=3,
        description="How many runs of the guard's function Lambda keeps free for it, so that other functions of the"
        " account never stop it; so many run at once at most. It costs nothing. Lambda refuses it where fewer than 100"
        " functions would be left for the others, and always in a new account, which runs 10.",
        examples=[5],
    )

    @model_validator(mode="after")
    def _default_within_longest(self) -> Self:
        if "default_lease" not in self.model_fields_set and self.default_lease > self.longest_lease:
            object.__setattr__(self, "default_lease", self.longest_lease)
        return self
