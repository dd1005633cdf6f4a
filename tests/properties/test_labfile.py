"""Lab files of any kind: what is written is what is read, and nothing a file may hold is more than a problem."""

import json
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.lab.model import Lab
from lamplighter.lab.types import read_duration, write_time
from lamplighter.labfile.file import Problem, parse
from lamplighter.values.counted import write_duration
from tests.lengths import examples

dates = st.dates().map(lambda day: day.isoformat())
windows = st.fixed_dictionaries(
    {
        "start": st.integers(0, 600).map(write_time),
        "end": st.integers(601, 1080).map(write_time),
        "days": st.sampled_from(["daily", ["mon", "mon"], ["weekends"]]),
    },
    optional={
        "nodes": st.integers(1, 4),
        "from": dates,
        "until": dates,
        "except": st.lists(dates, max_size=3),
        "time_zone": st.sampled_from(["Asia/Seoul", "America/New_York", "Etc/GMT+5"]),
        "owner": st.text(
            st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20
        ),
    },
)
labs = st.fixed_dictionaries(
    {"name": st.from_regex(r"[a-z][a-z0-9-]{0,39}", fullmatch=True)},
    optional={
        "time_zone": st.sampled_from(["Asia/Seoul", "UTC"]),
        "windows": st.lists(windows, max_size=4),
        "pools": st.just({"gpu": {"max_nodes": 4}}),
        "except": st.lists(dates, max_size=3),
        "tags": st.dictionaries(st.text("abc", min_size=1), st.text("xyz: @"), max_size=3),
        "guard": st.just({"longest_lease": "24h"}),
        "kind": st.sampled_from(["karpenter", "auto-mode"]),
    },
)


def complete(drawn: Mapping[str, object]) -> dict[str, object]:
    """Names its windows, and gives them a pool that has their nodes."""
    lab = dict(drawn)
    asked = lab.get("windows")
    if isinstance(asked, list):
        lab["windows"] = [{**_in_order(window), "name": f"w{number}"} for number, window in enumerate(asked)]
        lab["pools"] = {"gpu": {"max_nodes": 4}}
        lab["guard"] = {"longest_lease": "24h"}
    return _of_kind(lab)


def _of_kind(lab: dict[str, object]) -> dict[str, object]:
    """The lab with a NodePool, and with what its cluster must have."""
    match lab.pop("kind", None):
        case "karpenter":
            pool = {"kind": "karpenter", "max_nodes": 4, "image": "bottlerocket@v1.62.0"}
            return {**lab, "pools": {"gpu": pool}, "cluster": {"karpenter": {}}}
        case "auto-mode":
            pool = {"kind": "auto-mode", "max_nodes": 4, "drain": "5m"}
            cluster = {"auto_mode": {"switch_off": True}}
            return {**lab, "pools": {"gpu": pool}, "cluster": cluster, "gpu_operator": {"enabled": False}}
        case _:
            return lab


def _in_order(window: dict[str, object]) -> dict[str, object]:
    """From before until."""
    if {"from", "until"} <= window.keys():
        first, last = sorted(str(window[key]) for key in ("from", "until"))
        return {**window, "from": first, "until": last}
    return window


@settings(max_examples=examples(50, 400))
@given(labs.map(complete))
def test_what_is_written_is_what_is_read(lab: dict[str, object]) -> None:
    # JSON is YAML 1.2.
    read = parse(json.dumps(lab, ensure_ascii=False, indent=1))
    assert isinstance(read, Lab), read
    assert read == Lab.model_validate(lab)
    assert Lab.from_json(read.to_json()) == read


WORDS = "name pools gpu windows days nodes start guard amount existing cluster values 20:00 -1 1e9 .nan 0x1f true null"
MARKS = [
    ": ", ":", "\n", "\n  ", "- ", "[", "]", "{", "}", ", ", "&a ", "*a", "!t ", "'", '"', "|\n", "#", "\t",
    "%",
]  # fmt: skip
RARE = ["<<", "? ", "\x00", "\u2028", "\ud7ff", "2026-02-30", "---\n"]
pieces = st.sampled_from([*WORDS.split(), *MARKS, *RARE])


@settings(max_examples=examples(100, 1200))
@given(st.lists(pieces, max_size=30).map("".join) | st.text(max_size=60))
def test_whatever_a_file_holds_is_a_lab_or_problems_of_one_line_each(text: str) -> None:
    found = parse(text, "f")
    if isinstance(found, Lab):
        return
    assert found
    for problem in found:
        assert isinstance(problem, Problem)
        assert (
            1
            <= problem.line
            <= text.count("\n") + text.count("\r") + text.count("\u2028") + text.count("\x85") + 2
        )
        assert len(str(problem).splitlines()) == 1


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["gpu", "20:00", "8h"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [("name",), ("pools",), ("pools", "gpu"), ("pools", "gpu", "taints"), ("windows",), ("windows", 0),
     ("windows", 0, "days"), ("windows", 0, "nodes"), ("windows", 0, "start"), ("guard",), ("guard", "budget"),
     ("cluster",), ("cluster", "zones"), ("cluster", "vpc"), ("cluster", "vpc", "public_subnets"), ("slack",),
     ("slack", "roles"), ("gpu_operator",), ("gpu_operator", "values"), ("except",), ("tags",), ("admins",)]
)  # fmt: skip


@settings(max_examples=examples(100, 1200))
@given(st.lists(st.tuples(KEYS, JUNK), min_size=1, max_size=3))
def test_no_value_is_more_than_a_problem(changes: list[tuple[tuple[str | int, ...], object]]) -> None:
    lab: dict[str, object] = {
        "name": "x",
        "pools": {"gpu": {}},
        "windows": [{"name": "w", "days": "mon", "start": "10:00", "end": "11:00"}],
        "guard": {"budget": {}},
        "cluster": {"vpc": {}},
        "slack": {"roles": {}},
        "gpu_operator": {"values": {}},
    }
    for path, junk in changes:
        place: object = lab
        for step in path[:-1]:
            place = (
                place.get(step)
                if isinstance(place, dict)
                else place[0]
                if isinstance(place, list) and place
                else None
            )
        if isinstance(place, dict):
            place[path[-1]] = junk
    found = parse(json.dumps(lab), "f")
    assert isinstance(found, Lab) or all(len(str(problem).splitlines()) == 1 for problem in found)


@given(st.integers(1, 366 * 24 * 60))
def test_durations_read_back(minutes: int) -> None:
    length = read_duration(f"{minutes}m")
    assert read_duration(write_duration(length)) == length
