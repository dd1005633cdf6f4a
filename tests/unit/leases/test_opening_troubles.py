"""What is said aloud when a pool opens with less than was asked for: each trouble is a sentence of its own."""

from typing import Any

import pytest

from lamplighter.domain.notices.opening import is_proven, of_replacing
from tests.unit.leases.test_opening_notices import N1, N2, READY, UNTIL, opened, said
from tests.unit.notices.drawing import drawn


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
