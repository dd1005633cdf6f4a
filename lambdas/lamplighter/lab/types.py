"""The scalar values of lab.yaml: durations, times of the day, dates, money, versions.

Each type reads the text of a person, explains a wrong text, and can write the value back as the same text.
labfile/rules/ checks whether a value fits other values.
"""

import json
import re
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from lamplighter.lab.names import KUBERNETES_VERSION
from lamplighter.values.counted import write_duration

WIDEST_SHOWN = 80
GREATEST_AMOUNT = Decimal(10) ** 9
MOST_PLACES = 40
LONGEST_DURATION = timedelta(days=366)


class Part(BaseModel):
    """A part of the lab. It has no other keys, converts no values, and is frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class Number(Decimal):
    """A number of lab.yaml with its text, because the versions 1.30 and 1.3 differ."""

    written: str

    def __new__(cls, written: str, value: str | None = None) -> Self:
        number = super().__new__(cls, value or written)
        number.written = written
        return number


Change = Literal["in place", "rolled", "replaced"]
"""What a deploy does for a changed key: nodes stay, EKS replaces nodes, or only a new group has the new value."""


def unit(name: str, changed: Change | None = None) -> JsonDict:
    """The unit of a field, beside its description in the schema and the reference."""
    return {"unit": name} | (change(changed) if changed else {})


def change(changed: Change) -> JsonDict:
    """What a change of the field does to the nodes of a group that exists."""
    return {"change": changed}


def shown(value: object) -> str:
    """A value as an error shows it: one line, cut at 80 characters."""
    if isinstance(value, Number):
        text = value.written
    elif value is None or isinstance(value, bool):
        text = json.dumps(value)
    elif isinstance(value, Mapping):
        text = "a mapping"
    elif isinstance(value, list | tuple):
        text = "a list"
    elif isinstance(value, str):
        text = json.dumps(value[: WIDEST_SHOWN + 1], ensure_ascii=False)
        text = "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in text)
    else:
        text = str(value)
    return text if len(text) <= WIDEST_SHOWN else text[: WIDEST_SHOWN - 1] + "…"


# --- durations ---------------------------------------------------------------------------------

_DURATION = re.compile(r"(?:([0-9]{1,5})h)?(?:([0-9]{1,6})m)?")


def read_duration(value: object) -> timedelta:
    """8h, 90m or 1h30m; longer than zero, at most 366 days. Raises ValueError."""
    if isinstance(value, timedelta):
        return value
    match = _DURATION.fullmatch(value) if isinstance(value, str) and value else None
    if match is None:
        raise ValueError(f"is {shown(value)}, write a duration such as 8h, 90m or 1h30m")
    length = timedelta(hours=int(match[1] or 0), minutes=int(match[2] or 0))
    if not timedelta(0) < length <= LONGEST_DURATION:
        raise ValueError(f"is {shown(value)}, a duration is longer than 0m and at most 8784h")
    return length


Duration = Annotated[
    timedelta,
    BeforeValidator(read_duration),
    PlainSerializer(write_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^(?=.)([0-9]{1,5}h)?([0-9]{1,6}m)?$"}),
]

# --- times of the day --------------------------------------------------------------------------

MINUTES_A_DAY = 24 * 60
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


def read_start(value: object) -> int:
    """HH:MM from 00:00 to 23:59 as the minute of the day. Raises ValueError."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MINUTES_A_DAY:
        raise ValueError(f"is {value}, write a time as HH:MM, from 00:00 to 23:59")
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"is {shown(value)}, write a time as HH:MM, from 00:00 to 23:59")
    return int(match[1]) * 60 + int(match[2])


def read_end(value: object) -> int:
    """HH:MM from 00:00 to 24:00 as the minute of the day; 24:00 is 1440. Raises ValueError."""
    if value == "24:00":
        return MINUTES_A_DAY
    try:
        return read_start(value)
    except ValueError:
        raise ValueError(f"is {shown(value)}, write a time as HH:MM, from 00:00 to 24:00") from None


def write_time(minute: int) -> str:
    """A minute of the day as HH:MM."""
    return f"{minute // 60:02}:{minute % 60:02}"


Start = Annotated[
    int,
    BeforeValidator(read_start),
    PlainSerializer(write_time, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}),
]
End = Annotated[
    int,
    BeforeValidator(read_end),
    PlainSerializer(write_time, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"}),
]

# --- dates -------------------------------------------------------------------------------------

DATE_PATTERN = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_date(value: object) -> date:
    """YYYY-MM-DD, a day that exists. Raises ValueError."""
    if type(value) is date:
        return value
    if not isinstance(value, str) or _DATE.fullmatch(value) is None:
        raise ValueError(f"is {shown(value)}, write a date as YYYY-MM-DD")
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"is {shown(value)}, which no calendar has; write a date that exists") from None


Day = Annotated[
    date,
    BeforeValidator(read_date),
    WithJsonSchema({"type": "string", "pattern": DATE_PATTERN}),
]

# --- money -------------------------------------------------------------------------------------

_AMOUNT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")


def read_amount(value: object) -> Decimal:
    """An amount exactly as written, 0 to 1e9, never rounded by a binary float. Raises ValueError."""
    right = "write an amount from 0 to 1000000000 such as 120 or 1.237"
    text = value.written if isinstance(value, Number) else value if isinstance(value, str) else None
    if isinstance(value, Decimal) and text is None:
        amount = value
    elif isinstance(value, int) and not isinstance(value, bool):
        amount = Decimal(value)
    elif text is not None and _AMOUNT.fullmatch(text):
        amount = Decimal(text)
    else:
        raise ValueError(f"is {shown(value)}, {right}")
    if not amount.is_finite() or not 0 <= amount <= GREATEST_AMOUNT:
        raise ValueError(f"is {shown(value)}, {right}")
    exponent = amount.as_tuple().exponent
    if amount and isinstance(exponent, int) and exponent < -MOST_PLACES:
        raise ValueError(f"is {shown(value)}, write at most {MOST_PLACES} decimal places")
    return amount or Decimal(0)


def write_amount(amount: Decimal) -> str:
    """An amount without an exponent."""
    return format(amount, "f")


Amount = Annotated[
    Decimal,
    BeforeValidator(read_amount),
    PlainSerializer(write_amount, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": "^[0-9.]+$"},
                {"type": "number", "minimum": 0, "maximum": 1e9},
            ]
        }
    ),
]

# --- versions and lists ------------------------------------------------------------------------


def read_version(value: object) -> object:
    """The text of a version that YAML read as a number."""
    return value.written if isinstance(value, Number) else value


Version = Annotated[str, BeforeValidator(read_version)]
KubernetesVersion = Annotated[
    Version,
    Field(pattern=KUBERNETES_VERSION),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": KUBERNETES_VERSION}, {"type": "number"}]}),
]


def one_or_more(value: object) -> object:
    """A list as it is; a single value as a list of one."""
    return value if isinstance(value, list) or value is None else [value]


class OneOrMore:
    """Marks a list whose single item may be written without brackets."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(one_or_more, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        several = handler(schema)
        return {"anyOf": [several["items"], several]}
