"""The labs of the histories: pools, windows around the played hours, and their variants."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.world.chat import SLACK
from tests.world.programs import EVENTS

Json = dict[str, Any]
FIRST_SWEEP = timedelta(minutes=6)
START = datetime(2026, 11, 20, 16, 54, tzinfo=UTC)
LAB: Json = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {
        "gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 3, "price_per_hour": "1.5"},
        "big": {"instance_type": "g4dn.xlarge", "max_nodes": 1, "price_per_hour": "4"},
    },
    "windows": [
        {"name": "evening", "pool": "gpu", "days": "daily", "start": "20:00", "end": "22:00", "nodes": 2},
        {"name": "late", "pool": "gpu", "days": "daily", "start": "22:00", "end": "23:30", "nodes": 1},
        {"name": "proof", "pool": "big", "days": "daily", "start": "19:00", "end": "20:30", "nodes": 1},
    ],
    "guard": {"budget": {"amount": "30", "period": "day"}, "longest_lease": "3h30m"},
    "slack": SLACK,
    "events": EVENTS,
}
AROUND_NINE: list[Json] = [
    {"name": "evening", "pool": "gpu", "days": "daily", "start": "20:00", "end": "21:00", "nodes": 2},
    {"name": "late", "pool": "gpu", "days": "daily", "start": "21:10", "end": "23:30", "nodes": 1},
]
SETTINGS: list[Json] = [
    {"name": "evening", "pool": "gpu", "days": "daily", "start": "20:00", "end": "22:00", "nodes": 2,
     "gpu": {"share": 4, "cluster_policy": {"dcgmExporter": {"enabled": False}}}},
    {"name": "late", "pool": "gpu", "days": "daily", "start": "21:30", "end": "23:30", "nodes": 1,
     "gpu": {"cluster_policy": {"dcgmExporter": {"enabled": False}}}},
    {"name": "proof", "pool": "big", "days": "daily", "start": "19:00", "end": "20:30", "nodes": 1,
     "gpu": {"cluster_policy": {"mig": {"strategy": "none"}}}},
]  # fmt: skip
FALLING_BACK: Json = {
    "gpu": {**LAB["pools"]["gpu"], "fallback": "big"},
    "big": {**LAB["pools"]["big"], "max_nodes": 3, "price_per_hour": "2"},
}
NIGHT: list[Json] = [
    {"name": "early", "pool": "gpu", "days": "daily", "start": "00:30", "end": "01:30", "nodes": 2},
    {"name": "gap", "pool": "gpu", "days": "daily", "start": "02:30", "end": "03:30", "nodes": 1},
    {"name": "short", "pool": "gpu", "days": "daily", "start": "01:35", "end": "01:55", "nodes": 1},
    {"name": "twice", "pool": "big", "days": "daily", "start": "01:30", "end": "02:30", "nodes": 1},
]

GROUPS: tuple[str, ...] = ("node-group", "node-group")


def of_kinds(lab: Json, kinds: tuple[str, ...]) -> Json:
    """The lab with pools of these kinds, in the order of its pools."""
    pools = {
        name: {**pool, "kind": kind} for (name, pool), kind in zip(lab["pools"].items(), kinds, strict=True)
    }
    return {**lab, "pools": pools, "cluster": {"karpenter": {}, "auto_mode": {}}}


# All windows lie around these hours: a night with a clock change, and one without.
VARIANTS: dict[str, tuple[Json, datetime]] = {
    "plain": ({}, START),
    "settings": ({"windows": SETTINGS}, START),
    "watch": ({"guard": {**LAB["guard"], "mode": "watch"}}, START),
    "fallback": ({"pools": FALLING_BACK}, START),
    "curfew": ({"guard": {**LAB["guard"], "curfew": "21:00"}, "windows": AROUND_NINE}, START),
    "autumn": ({"time_zone": "America/New_York", "windows": NIGHT}, datetime(2026, 11, 1, 3, 40, tzinfo=UTC)),
    "spring": ({"time_zone": "Europe/Berlin", "windows": NIGHT}, datetime(2027, 3, 27, 23, 10, tzinfo=UTC)),
}
