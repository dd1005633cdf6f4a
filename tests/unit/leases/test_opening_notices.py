"""What is said aloud when a pool opens, or does not: whole notices, from what the steps of the run found."""

from typing import Any

import pytest

from lamplighter.domain.notices.announcement import DrawnAnnouncement
from lamplighter.domain.notices.opening import of_opening
from tests.builders.leases import lease
from tests.unit.notices.drawing import drawn

GRANTED = {"outcome": "granted"}
N1, N2 = {"name": "n1", "gpus": 1, "ready": True}, {"name": "n2", "gpus": 1, "ready": True}
UNTIL = "22:00 (Etc/UTC)"
READY = "2 of 2 nodes are ready and their GPUs are proven, for class."


def opened(*nodes: dict[str, Any], **steps: dict[str, Any]) -> DrawnAnnouncement:
    """A lease of two nodes, opened by a run whose steps found this."""
    results: dict[str, dict[str, Any]] = {"Admit": GRANTED, "AwaitGpus": {"nodes": list(nodes)}, **steps}
    return drawn(of_opening("gpu", lease(), results))


def said(kind: str, subject: str, text: str) -> DrawnAnnouncement:
    return DrawnAnnouncement(kind, subject, text, subject)


def test_what_is_open_already_and_what_is_planned_are_said_with_their_reason() -> None:
    there = {"outcome": "already-open", "reason": "pool gpu is open"}
    ahead = {"outcome": "granted", "later": True, "reason": "2 of 3 nodes"}

    assert drawn(of_opening("gpu", lease(), {"Admit": there})) == said(
        "already-open", "Pool gpu is already open", "Pool gpu is open."
    )
    assert drawn(of_opening("gpu", lease(), {"Admit": ahead})) == said(
        "planned", "Pool gpu opens at 20:00 (Etc/UTC)", "2 of 3 nodes."
    )


def test_a_refusal_is_said_with_the_next_instant_where_one_is_known() -> None:
    no: dict[str, Any] = {"outcome": "refused", "reason": "the pool is full"}
    refused = said("refused", "A lease on pool gpu was refused", "The pool is full.")
    later = said(
        "refused",
        "A lease on pool gpu was refused",
        "The pool is full. It would be granted at 21:30 (Etc/UTC).",
    )

    assert drawn(of_opening("gpu", lease(), {"Admit": no})) == refused
    assert drawn(of_opening("gpu", None, {"Admit": {**no, "earliest": "2026-11-20T21:30:00Z"}})) == later
    assert drawn(of_opening("gpu", None, {"Admit": {**no, "outcome": "granted"}})) == refused
    assert drawn(of_opening("gpu", lease(), {})).kind == "refused"


def test_a_pool_is_open_once_as_many_nodes_are_ready_as_are_wanted() -> None:
    third = {**N2, "name": "n3"}
    one_of_two = said("degraded", f"Pool gpu is open with 1 of 2 nodes until {UNTIL}", "")

    assert opened(N1, N2) == said("open", f"Pool gpu is open until {UNTIL}", READY)
    assert opened(N1, N2, third).text == READY.replace("2 of", "3 of")
    assert opened(N1, {**N2, "ready": False}) == opened(N1) == one_of_two
    assert (
        opened(N1, N2, AwaitNodes={"wanted": 3}).subject
        == f"Pool gpu is open with 2 of 3 nodes until {UNTIL}"
    )
    assert opened(N1, N2, AwaitNodes={"wanted": 1}).kind == "open"


NO_NODE_YET = "no node yet: NodePool x starts nodes when pods ask for them"


def test_a_pool_whose_nodes_come_with_pods_says_that_and_lacks_nothing() -> None:
    none = {"wanted": 0, "instances": [], "with_pods": NO_NODE_YET}
    more = "NodePool x starts more nodes when pods ask for them"
    one = {"wanted": 1, "instances": [{"id": "i-1"}], "with_pods": more}
    unproven = {"verdict": "not-proven", "verdicts": []}

    assert opened(AwaitNodes=none, Validate=unproven) == said(
        "degraded", f"Pool gpu is open until {UNTIL}, no node runs yet", f"N{NO_NODE_YET[1:]}."
    )
    assert opened(N1, AwaitNodes=one, Validate={"verdict": "passed"}) == said(
        "open",
        f"Pool gpu is open until {UNTIL}",
        f"1 of 1 nodes are ready and their GPUs are proven, for class. {more}.",
    )
    assert (
        opened(AwaitNodes=one, Validate=unproven).subject
        == f"Pool gpu is open with 0 of 1 nodes until {UNTIL}, its GPUs are not proven"
    )


def test_a_cause_that_keeps_pods_from_their_nodes_is_told_with_it() -> None:
    none = {"wanted": 0, "instances": [], "with_pods": NO_NODE_YET}
    found = {"findings": [{"cause": "no-capacity", "summary": "none", "advice": "wait"}]}

    text = opened(AwaitNodes=none, Validate={"verdict": "not-proven"}, Diagnose=found).text

    assert text.startswith("No node yet")
    assert "no-capacity" in text


def test_nodes_that_were_changed_and_checks_that_say_nothing_are_told_without_being_a_trouble() -> None:
    assert opened(
        N1,
        N2,
        Replace={"replaced": ["i-1", "i-2"]},
        Validate={"not_judged": [{"check": "a", "why": "alone"}, {"check": "b", "why": "off"}, 7]},
    ) == said(
        "open",
        f"Pool gpu is open until {UNTIL}",
        f"{READY} Not judged: a (alone); b (off). 2 nodes failed a check and were replaced: i-1 and i-2.",
    )
    assert opened(N1, N2, Replace={"replaced": []}, Validate={"not_judged": []}).text == READY


@pytest.mark.parametrize(
    ("offer", "seats"),
    [
        ({}, None),
        ({"replicas": 2, "strategy": "mps"}, "It has 2 seats: each GPU is shared by 2 (mps)."),
        ({"slices": 2, "mig": "all-3g.20gb"}, "It has 2 seats: each GPU is cut into 2 slices (all-3g.20gb)."),
        (
            {"slices": 7, "mig": "all-1g.5gb", "replicas": 3, "strategy": "mps"},
            "It has 2 seats: each GPU is cut into 7 slices (all-1g.5gb) and shared by 3 (mps).",
        ),
    ],
)
def test_seats_are_told_where_they_are_not_simply_the_gpus(offer: dict[str, Any], seats: str | None) -> None:
    """Of a node that says nothing of its GPUs none counts."""
    bare = {"name": "n3", "ready": True}

    assert opened(N1, N2, bare, ApplyGpuSettings={"offer": offer}).text == " ".join(
        filter(None, (READY.replace("2 of", "3 of"), seats))
    )
    assert opened(bare, bare, ApplyGpuSettings={"offer": offer}).text == READY
