"""The rails of each kind of capacity: what a figure of each is called, from when on it acts, and by when it has ended.

docs/reference/performance.md explains the figures. `make bench` takes them from the scenarios beside this file.
"""

from collections.abc import Callable
from dataclasses import dataclass

#: Writes a figure down: pytest's record_property.
Record = Callable[[str, object], None]


@dataclass(frozen=True)
class Rail:
    """In minutes after the end of a lease: when its first call comes, and until when EC2 must be at zero.

    A schedule fires within its minute, and an instance takes some minutes to end. The nodes have no pods to drain.
    """

    begins: float
    at_most: float


RAILS: dict[str, dict[str, Rail]] = {
    "node-group": {
        "close": Rail(0, 10),
        "guard": Rail(7, 20),
        "eks": Rail(10, 30),
        "group": Rail(30, 46),
        "curfew": Rail(0, 20),
        "curfew-group": Rail(5, 21),
    },
    "auto-mode": {
        "close": Rail(0, 10),
        "guard": Rail(7, 20),
        "kubernetes": Rail(10, 20),
        "switch-off": Rail(40, 50),
        "life": Rail(100, 130),
        "curfew": Rail(0, 10),
    },
    "karpenter": {
        "close": Rail(0, 10),
        "guard": Rail(7, 20),
        "kubernetes": Rail(10, 20),
        "ec2": Rail(30, 40),
        "life": Rail(100, 130),
        "curfew": Rail(0, 10),
        "curfew-ec2": Rail(5, 15),
    },
}


def figures(kind: str) -> list[str]:
    """The names of a kind's figures."""
    return [f"rail-{kind}-{rail}" for rail in RAILS[kind]]


def held(record: Record, kind: str, rail: str, minutes: float) -> None:
    """Writes a figure down. The rail was no other one, and it was in time."""
    wanted = RAILS[kind][rail]
    record(f"rail-{kind}-{rail}", minutes)
    assert wanted.begins <= minutes <= wanted.at_most, f"{kind} {rail}: {minutes} minutes"
