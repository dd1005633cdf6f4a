"""DCGM's verdict in full: the order of the rules, their reasons, and the results that count for each GPU."""

import json

import pytest

from lamplighter.domain.checks.verdicts.dcgm import dcgm
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.gpu.instance_types import gpu_type
from lamplighter.reasons.reason import Said, reason, several
from tests import gpu_outputs as said

PASSED, FAILED, NOT_PROVEN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_PROVEN
Result = dict[str, object]


def on_gpu(number: object, status: object = "Pass", **more: object) -> Result:
    return {"entity_group": "GPU", "entity_id": number, "status": status, **more}


def document(*tests: object, category: str = "Hardware", **more: object) -> str:
    """A diagnostic of version 4 with one category of these tests."""
    return json.dumps(
        {"DCGM Diagnostic": {"test_categories": [{"category": category, "tests": tests}], **more}}
    )


def memory(*results: object, **more: object) -> Result:
    return {"name": "memory", "results": results, **more}


def judge(text: str, code: int = 0, gpus: int = 1, kind: str = "g5.12xlarge") -> Verdict:
    found = gpu_type(kind)
    assert found is not None
    return dcgm(text, code, gpus, found)


def test_gpus_without_fault_are_told_with_the_results_that_were_counted() -> None:
    results = [on_gpu(0), on_gpu(1, "Warn"), on_gpu(1), on_gpu(2, "skip"), on_gpu(2), {"status": "Skipped"}]

    assert judge(document(memory(*results)), gpus=3) == Verdict(
        PASSED,
        reason("check.dcgm.passed", gpus=3),
        {"exit_code": 0, "gpus": 3, "results": {"pass": 3, "warn": 1, "skip": 2}},
    )


@pytest.mark.parametrize(("text", "code", "reason"), [
    ("", 0, reason("check.dcgm.no-diagnostic")),
    ("", 137, reason("check.tool-killed", code=137)),
    (said.dcgm_v4() * 2, 0, reason("check.dcgm.several-diagnostics")),
    (said.dcgm_v4()[:60], 0, reason("check.dcgm.broken-json")),
    ('{"DCGM Diagnostic": {"version": 1, "version": 2}}', 0, reason("check.dcgm.broken-json")),
    ('{"DCGM Diagnostic": []}', 0, reason("check.dcgm.unknown-version")),
])  # fmt: skip
def test_output_without_a_diagnostic_says_why_and_has_no_counts(text: str, code: int, reason: Said) -> None:
    assert judge(text, code) == Verdict(NOT_PROVEN, reason, {"exit_code": code})


@pytest.mark.parametrize(("text", "reason"), [
    ('{"DCGM Diagnostic": {}}', reason("check.dcgm.no-test")),
    (document(), reason("check.dcgm.empty-category")),
    (document(None), reason("check.dcgm.empty-category")),
    (document(memory()), reason("check.dcgm.no-result", test="memory")),
    (document({"results": []}), reason("check.dcgm.no-result", test=reason("check.dcgm.nameless-test"))),
    (document(memory(test_summary={"status": "Pass"})), reason("check.dcgm.summary-only", test="memory")),
    (document(memory(on_gpu(0, "Running"))), reason("check.dcgm.unknown-status", test="memory", status="Running")),
    (document(memory(on_gpu(0, 7))), reason("check.dcgm.unknown-status", test="memory", status="7")),
    (document(memory(on_gpu(0), test_summary={"status": "odd"})), reason("check.dcgm.unknown-status", test="memory",
     status="odd")),
    (document(memory({"entity_group": "Toaster", "status": "Pass"})), reason("check.dcgm.unknown-group", test="memory",
     group="Toaster")),
    (document(memory(on_gpu(True))), reason("check.dcgm.no-gpu", test="memory")),
    (document(memory(on_gpu("0"))), reason("check.dcgm.no-gpu", test="memory")),
    (document(memory({"status": "Warn"})), reason("check.dcgm.no-gpu", test="memory")),
    (document(memory({"gpu_ids": "x, ", "status": "Pass"})), reason("check.dcgm.no-gpu", test="memory")),
    (document(memory({"gpu_ids": "", "status": "Pass"}), category="Deployment"), reason("check.dcgm.no-gpu",
     test="memory")),
    (document(memory({"gpu_id": "", "status": "Pass"}), category="Deployment"), reason("check.dcgm.no-gpu",
     test="memory")),
    (document(memory(on_gpu(0), on_gpu(1))), reason("check.dcgm.took-part", seen=2, gpus=1)),
    (document(memory(on_gpu(0, "Skip"))), reason("check.dcgm.all-skipped", gpus=("0",))),
    (document(memory(on_gpu(0, "Warn"))), reason("check.dcgm.all-skipped", gpus=("0",))),
    (document(runtime_error="no host engine"), reason("check.dcgm.runtime-error", words="no host engine")),
])  # fmt: skip
def test_what_a_diagnostic_lacks_is_named(text: str, reason: Said) -> None:
    found = judge(text)
    assert (found.outcome, found.reason) == (NOT_PROVEN, reason)


def test_several_things_that_cannot_be_read_are_named_together_the_first_five() -> None:
    unknown = [on_gpu(0, f"odd-{number}") for number in range(7)]
    assert judge(document(memory(*unknown))).reason == several(
        [reason("check.dcgm.unknown-status", test="memory", status=f"odd-{number}") for number in range(7)]
    )


def test_every_gpu_on_which_all_was_skipped_is_named() -> None:
    results = [on_gpu(0), on_gpu(1, "Skip"), on_gpu(3, "Skip")]
    assert judge(document(memory(*results)), gpus=3).reason == (
        reason("check.dcgm.all-skipped", gpus=("1", "3"))
    )


@pytest.mark.parametrize(("gpus", "outcome", "reason"), [
    (3, NOT_PROVEN, reason("check.dcgm.took-part", seen=4, gpus=3)),
    (4, PASSED, reason("check.dcgm.passed", gpus=4)),
    (5, NOT_PROVEN, reason("check.too-many-gpus", type="g5.12xlarge", count=4, gpus=5)),
])  # fmt: skip
def test_as_many_gpus_take_part_as_are_judged(gpus: int, outcome: Outcome, reason: Said) -> None:
    found = judge(document(memory(*(on_gpu(number) for number in range(4)))), gpus=gpus)
    assert (found.outcome, found.reason) == (outcome, reason)


def test_a_gpu_of_the_type_that_took_no_part_is_missed() -> None:
    assert judge(document(memory(*map(on_gpu, range(3)))), gpus=4).reason == reason(
        "check.dcgm.took-part", seen=3, gpus=4
    )


def test_more_gpus_than_the_type_has_prove_nothing_though_all_took_part() -> None:
    found = judge(document(memory(*(on_gpu(number) for number in range(5)))), gpus=5)
    assert found.reason == reason("check.too-many-gpus", type="g5.12xlarge", count=4, gpus=5)


@pytest.mark.parametrize(("severity", "outcome", "reason"), [
    (4, FAILED, reason("check.dcgm.failed-on-gpu", test="memory", gpus=("0",), why="odd")),
    (5, NOT_PROVEN, reason("check.dcgm.settings", faults=reason("check.dcgm.failed-on-gpu", test="memory", gpus=("0",),
     why="odd"))),
    (6, FAILED, reason("check.dcgm.failed-on-gpu", test="memory", gpus=("0",), why="odd")),
])  # fmt: skip
def test_a_fault_of_settings_alone_is_no_failure_of_a_gpu(
    severity: int, outcome: Outcome, reason: Said
) -> None:
    warning = {"error_severity": severity, "warning": " odd "}
    found = judge(document(memory(on_gpu(0, "Fail", warnings=[warning]))))
    assert (found.outcome, found.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("severity", "outcome"), [(0, PASSED), (1, NOT_PROVEN), (5, PASSED), (6, NOT_PROVEN)]
)
def test_a_pass_with_an_error_of_the_gpu_is_no_proof(severity: int, outcome: Outcome) -> None:
    warning = {
        "error_id": 56,
        "error_severity": severity,
        "warning": "Couldn't allocate at least 75.0% of GPU memory",
    }
    found = judge(document(memory(on_gpu(0, "Pass", warnings=[warning]))))
    assert (found.outcome, "Couldn't allocate" in str(found.reason)) == (outcome, outcome is NOT_PROVEN)


@pytest.mark.parametrize("warnings", ["Memory was not tested.", ["Memory was not tested."]])
def test_a_pass_of_version_3_with_a_warning_is_not_proven(warnings: object) -> None:
    found = judge(document(memory(on_gpu(0, "Pass", warnings=warnings))))
    assert found.outcome is NOT_PROVEN
    assert "Memory was not tested." in str(found.reason)
    assert judge(document(memory(on_gpu(0, "Pass", warnings=[])))).passed


@pytest.mark.parametrize(("result", "reason"), [
    (on_gpu(2, "FAIL"), reason("check.dcgm.failed-on-gpu", test="memory", gpus=("2",),
     why=reason("check.dcgm.no-warning"))),
    (on_gpu(2, "fail", warnings="alone"), reason("check.dcgm.failed-on-gpu", test="memory", gpus=("2",), why="alone")),
    (on_gpu(2, "fail", warnings=["first", "second"]), reason("check.dcgm.failed-on-gpu", test="memory", gpus=("2",),
     why="first")),
    (on_gpu(2, "fail", warnings=[{"error_severity": 1}]), reason("check.dcgm.failed-on-gpu", test="memory", gpus=("2",),
     why=reason("check.dcgm.no-warning"))),
    ({"gpu_ids": "1, 3", "status": "fail"}, reason("check.dcgm.failed-on-gpu", test="memory", gpus=("1", "3"),
     why=reason("check.dcgm.no-warning"))),
    ({"gpu_id": 1, "status": "fail"}, reason("check.dcgm.failed-on-gpu", test="memory", gpus=("1",),
     why=reason("check.dcgm.no-warning"))),
    ({"entity_group": "CPU", "entity_id": 0, "status": "fail"}, reason("check.dcgm.failed-on", test="memory",
     part="CPU", why=reason("check.dcgm.no-warning"))),
    ({"status": "fail"}, reason("check.dcgm.failed", test="memory", why=reason("check.dcgm.no-warning"))),
    (on_gpu(True, "fail"), reason("check.dcgm.failed-on", test="memory", part="GPU",
     why=reason("check.dcgm.no-warning"))),
])  # fmt: skip
def test_a_failed_test_is_named_with_its_gpu_and_its_first_warning(result: Result, reason: Said) -> None:
    found = judge(document(memory(result)))
    assert (found.outcome, found.reason) == (FAILED, reason)


def test_the_first_five_failures_are_named() -> None:
    found = judge(document(memory(*(on_gpu(number, "Fail") for number in range(7)))))
    cause = reason("check.dcgm.no-warning")
    assert found.reason == several(
        [
            reason("check.dcgm.failed-on-gpu", test="memory", gpus=(str(number),), why=cause)
            for number in range(7)
        ]
    )


def test_a_failed_summary_counts_where_no_result_beside_it_failed() -> None:
    summary = {"status": "Fail", "warnings": ["odd"]}

    assert judge(document(memory(on_gpu(0), test_summary=summary))).reason == reason(
        "check.dcgm.failed", test="memory", why="odd"
    )
    assert judge(document(memory(test_summary=summary))).reason == reason(
        "check.dcgm.failed", test="memory", why="odd"
    )
    both = judge(document(memory(on_gpu(0, "Fail", warnings=["own"]), test_summary=summary)))
    assert both.reason == reason("check.dcgm.failed-on-gpu", test="memory", gpus=("0",), why="own")


def test_a_test_that_was_skipped_as_a_whole_lacks_nothing() -> None:
    skipped = {"name": "pcie", "results": [], "test_summary": {"status": "Skip"}}
    assert judge(document(memory(on_gpu(0)), skipped)).outcome is PASSED


@pytest.mark.parametrize("group", ["CPU", "Switch", "ConnectX"])
def test_a_result_about_another_part_of_the_node_needs_no_gpu(group: str) -> None:
    other = {"entity_group": group, "entity_id": 0, "status": "Pass"}
    found = judge(document(memory(on_gpu(0), other)))
    assert (found.outcome, found.measurements["gpus"]) == (PASSED, 1)


def test_the_software_of_the_node_needs_no_gpu_in_its_own_category_alone() -> None:
    software = {"name": "software", "results": [{"status": "Pass"}]}

    def both(category: str) -> str:
        categories = [
            {"category": category, "tests": [software]},
            {"category": "Hardware", "tests": [memory(on_gpu(0))]},
        ]
        return json.dumps({"DCGM Diagnostic": {"test_categories": categories}})

    assert judge(both("Deployment")).outcome is PASSED
    assert judge(both("Hardware")).reason == reason("check.dcgm.no-gpu", test="software")


@pytest.mark.parametrize(("first", "reason"), [
    ([on_gpu(0, "Fail", warnings=["odd"])], reason("check.dcgm.failed-on-gpu", test="memory", gpus=("0",), why="odd")),
    ([], reason("check.dcgm.runtime-error", words="ended")),
])  # fmt: skip
def test_a_failure_is_said_before_an_error_of_dcgm_and_that_before_its_exit_code(
    first: list[Result], reason: Said
) -> None:
    assert judge(document(memory(*first), runtime_error="ended"), code=1).reason == reason


def test_settings_are_said_before_the_exit_code_and_that_before_what_cannot_be_read() -> None:
    setting = on_gpu(0, "Fail", warnings=[{"error_severity": 5, "warning": "odd"}])
    assert "only settings are wrong" in str(judge(document(memory(setting)), code=1).reason)
    assert judge(document(memory(on_gpu(0, "odd"))), code=1).reason == reason("check.tool-exit-code", code=1)
