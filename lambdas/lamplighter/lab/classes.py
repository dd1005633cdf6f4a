"""The class of a window: its own namespace in the cluster, the quota of its seats, and its people.

labfile/rules/classes.py says which values fit together; domain/classes/ makes the objects of Kubernetes.
"""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from lamplighter.lab.names import DAYS, NAMESPACE
from lamplighter.lab.types import Number, Part, shown, unit

_QUANTITY = re.compile(r"[0-9]{1,12}(\.[0-9]{1,3})?(m|k|Ki|M|Mi|G|Gi|T|Ti)?")
LONGEST_NAME = 256


def read_quantity(value: object) -> str:
    """A quantity of Kubernetes, such as 3, 500m or 12Gi. Raises ValueError."""
    written = value.written if isinstance(value, Number) else value
    if isinstance(written, int) and not isinstance(written, bool):
        written = str(written)
    if not isinstance(written, str) or _QUANTITY.fullmatch(written) is None:
        raise ValueError(f"is {shown(value)}, write a quantity of Kubernetes such as 3, 500m or 12Gi")
    return written


Quantity = Annotated[
    str,
    BeforeValidator(read_quantity),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": f"^{_QUANTITY.pattern}$"}, {"type": "number"}]}),
]


class ClassPeople(Part):
    """A group or a user, by the name that the cluster knows from an access entry or an OIDC provider."""

    group: str | None = Field(
        None,
        min_length=1,
        max_length=LONGEST_NAME,
        description="A group of Kubernetes, as an access entry or an OIDC provider names it.",
        examples=["gpu-101-students"],
    )
    user: str | None = Field(
        None,
        min_length=1,
        max_length=LONGEST_NAME,
        description="A user name of Kubernetes.",
        examples=["teacher@example.com"],
    )


class WindowClass(Part):
    """A namespace with the quota of a window's seats, in which the class's people may work."""

    namespace: str = Field(
        pattern=NAMESPACE,
        description="The namespace. Windows that name the same one add up their seats there.",
        examples=["gpu-101"],
    )
    people: list[ClassPeople] = Field(
        min_length=1,
        description="Who may work in it, with Kubernetes' role edit: groups and users that the cluster knows. The lab"
        " issues no credential.",
        examples=[[{"group": "gpu-101-students"}]],
    )
    quota_per_seat: dict[str, Quantity] = Field(
        description="What a seat may use: cpu and memory, as requests and as limits, and any other key of a"
        " ResourceQuota such as pods or requests.storage. The seats themselves bound the GPUs.",
        examples=[{"cpu": "3", "memory": "12Gi"}],
        json_schema_extra=unit("Kubernetes quantities"),
    )
    keep: str = Field(
        "7d",
        pattern=DAYS,
        description="So long after its last window or lease, a notice asks whether to delete the namespace. The lab"
        " deletes nothing in it.",
        json_schema_extra=unit("days such as 7d"),
    )

    @property
    def kept(self) -> timedelta:
        """How long after its last lease nobody is asked."""
        return timedelta(days=int(self.keep.removesuffix("d")))
