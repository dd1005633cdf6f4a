"""What is said aloud when a pool opens, opens with less than was asked for, or does not open: whole notices."""

from typing import Any

import pytest

from lamplighter.domain.notices.announcement import DrawnAnnouncement
from lamplighter.domain.notices.opening import is_proven, of_opening, of_replacing
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


def test_whatever_is_not_as_the_lab_wants_it_is_a_sentence_of_its_own() -> None:
    assert opened(
        N1,
        AwaitNodes={"wanted": 2, "shortage": "1 of 2 nodes: no capacity", "cause": "no-capacity"},
        AwaitGpus={"nodes": [N1], "not_ready": [{"name": "n2", "why": "it never joined"}]},
        ApplyGpuSettings={
            "state": "differs",
            "differs": [{"path": "mig.strategy", "cluster": "none", "lab": "single"}],
            "reason": "it belongs to argocd",
        },
        Validate={"verdicts": [{"check": "smi", "node": "n1", "verdict": "passed"}]},
        Diagnose={
            "findings": [
                {"cause": "no-capacity", "summary": "AWS has none", "advice": "ask later"},
                {"cause": "quota", "summary": "it is used up", "advice": "raise it"},
            ]
        },
    ) == said(
        "degraded",
        f"Pool gpu is open with 1 of 2 nodes until {UNTIL}",
        "1 of 2 nodes: no capacity. Node n2 is not ready: it never joined. "
        "The GPU setting mig.strategy is none in the cluster, not single. It belongs to argocd. "
        "What to do: Ask later. The cause is quota: It is used up. Raise it. "
        "The lab tries again every five minutes until the lease ends.",
    )


def test_a_cause_is_told_whole_where_no_shortage_has_told_it() -> None:
    row = {"cause": "None", "summary": "it hangs", "advice": "wait"}
    assert opened(N1, Diagnose={"findings": [row]}).text == "The cause is None: It hangs. Wait."


def test_a_setting_that_differs_is_told_only_while_it_does() -> None:
    row = {"path": "mig.strategy", "cluster": "none", "lab": "single"}
    assert opened(N1, N2, ApplyGpuSettings={"state": "as-lab", "differs": [row]}).text == READY


@pytest.mark.parametrize(
    ("validate", "kind", "subject", "text"),
    [
        (
            {"verdict": "failed", "because": "smi failed", "consequence": "the lab keeps it open"},
            "degraded",
            "Pool gpu is open with 2 of 2 nodes until {}, its GPUs FAILED",
            "Check smi failed on node n1: no GPU. The lab keeps it open.",
        ),
        ({"verdict": "failed"}, "degraded", "Pool gpu is open with 2 of 2 nodes until {}, its GPUs FAILED",
         "Check smi failed on node n1: no GPU."),
        (
            {"verdict": "failed", "because": "smi failed", "consequence": "it is closed", "then": "close"},
            "failed",
            "The GPUs of pool gpu FAILED, so the lab is closing it",
            "Check smi failed on node n1: no GPU. It is closed.",
        ),
        (
            {"verdict": "not-proven", "because": "a pod hangs"},
            "degraded",
            "Pool gpu is open with 2 of 2 nodes until {}, its GPUs are not proven",
            "Check smi on node n1 proved nothing: no GPU.",
        ),
    ],
)  # fmt: skip
def test_the_checks_are_in_the_subject(validate: dict[str, Any], kind: str, subject: str, text: str) -> None:
    row = {"check": "smi", "node": "n1", "verdict": validate["verdict"], "reason": "no GPU"}
    assert opened(N1, N2, Validate={**validate, "verdicts": [row]}) == said(kind, subject.format(UNTIL), text)


def test_nodes_that_go_are_named_with_what_they_failed() -> None:
    text = "What was found: smi failed. Replacing the nodes takes some minutes. The end of the lease does not change."

    assert drawn(
        of_replacing("gpu", {"because": "smi failed", "replace": [{"name": "n1"}, 7, {"name": "n2"}]})
    ) == said("replacing", "The GPUs of n1 and n2 in pool gpu FAILED", text)
    assert drawn(of_replacing("gpu", {"because": "smi failed", "replace": "n1"})).subject == (
        "The GPUs of  in pool gpu FAILED"
    )


def test_only_checks_that_passed_prove_gpus() -> None:
    assert is_proven({"verdict": "passed"})
    assert not is_proven({"verdict": "failed"})
    assert not is_proven({})
