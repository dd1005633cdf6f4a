"""DCGM's verdict in full: which rule speaks first, what it says, and which results count for which GPU."""

import json

import pytest

from lamplighter.domain.checks.verdicts.dcgm import dcgm
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.gpu.instance_types import gpu_type
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
        "DCGM found no fault on 3 of 3 GPUs",
        {"exit_code": 0, "gpus": 3, "results": {"pass": 3, "warn": 1, "skip": 2}},
    )


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("", 0, "there is no DCGM diagnostic of a version that is known in the output"),
        ("", 137, "the tool was killed (exit code 137)"),
        (said.dcgm_v4() * 2, 0, "there is more than one DCGM diagnostic in the output"),
        (said.dcgm_v4()[:60], 0, "DCGM's diagnostic breaks off or is no JSON"),
        (
            '{"DCGM Diagnostic": {"version": 1, "version": 2}}',
            0,
            "DCGM's diagnostic breaks off or is no JSON",
        ),
        ('{"DCGM Diagnostic": []}', 0, "DCGM's diagnostic is not of a version that is known"),
    ],
)
def test_output_without_a_diagnostic_says_why_and_has_no_counts(text: str, code: int, reason: str) -> None:
    assert judge(text, code) == Verdict(NOT_PROVEN, reason, {"exit_code": code})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"DCGM Diagnostic": {}}', "DCGM ran no test"),
        (document(), "a category of tests is empty"),
        (document(None), "a category of tests is empty"),
        (document(memory()), "memory has no result"),
        (document({"results": []}), "a test without a name has no result"),
        (
            document(memory(test_summary={"status": "Pass"})),
            "memory has a summary and no result",
        ),
        (
            document(memory(on_gpu(0, "Running"))),
            "memory has the status 'Running', which is not known",
        ),
        (document(memory(on_gpu(0, 7))), "memory has the status '7', which is not known"),
        (
            document(memory(on_gpu(0), test_summary={"status": "odd"})),
            "memory has the status 'odd', which is not known",
        ),
        (
            document(memory({"entity_group": "Toaster", "status": "Pass"})),
            "a result of memory is about 'Toaster', which is not known",
        ),
        (document(memory(on_gpu(True))), "a result of memory names no GPU"),
        (document(memory(on_gpu("0"))), "a result of memory names no GPU"),
        (document(memory({"status": "Warn"})), "a result of memory names no GPU"),
        (document(memory({"gpu_ids": "x, ", "status": "Pass"})), "a result of memory names no GPU"),
        (
            document(memory({"gpu_ids": "", "status": "Pass"}), category="Deployment"),
            "a result of memory names no GPU",
        ),
        (
            document(memory({"gpu_id": "", "status": "Pass"}), category="Deployment"),
            "a result of memory names no GPU",
        ),
        (document(memory(on_gpu(0), on_gpu(1))), "2 of 1 GPUs took part"),
        (
            document(memory(on_gpu(0, "Skip"))),
            "no test passed on GPU 0: all were skipped",
        ),
        (document(memory(on_gpu(0, "Warn"))), "no test passed on GPU 0: all were skipped"),
        (
            document(runtime_error="no host engine"),
            "DCGM could not run: no host engine",
        ),
    ],
)
def test_what_a_diagnostic_lacks_is_named(text: str, reason: str) -> None:
    found = judge(text)
    assert (found.outcome, found.reason) == (NOT_PROVEN, reason)


def test_several_things_that_cannot_be_read_are_named_together_the_first_five() -> None:
    unknown = [on_gpu(0, f"odd-{number}") for number in range(7)]

    assert judge(document(memory(*unknown))).reason == "; ".join(
        f"memory has the status 'odd-{number}', which is not known" for number in range(5)
    )


def test_every_gpu_on_which_all_was_skipped_is_named() -> None:
    results = [on_gpu(0), on_gpu(1, "Skip"), on_gpu(3, "Skip")]
    assert judge(document(memory(*results)), gpus=3).reason == (
        "no test passed on GPU 1, 3: all were skipped"
    )


@pytest.mark.parametrize(
    ("gpus", "outcome", "reason"),
    [
        (3, NOT_PROVEN, "4 of 3 GPUs took part"),
        (4, PASSED, "DCGM found no fault on 4 of 4 GPUs"),
        (5, NOT_PROVEN, "a g5.12xlarge has 4 GPUs, so 5 cannot take part"),
    ],
)
def test_as_many_gpus_take_part_as_are_judged(gpus: int, outcome: Outcome, reason: str) -> None:
    found = judge(document(memory(*(on_gpu(number) for number in range(4)))), gpus=gpus)
    assert (found.outcome, found.reason) == (outcome, reason)


def test_a_gpu_of_the_type_that_took_no_part_is_missed() -> None:
    assert judge(document(memory(*map(on_gpu, range(3)))), gpus=4).reason == "3 of 4 GPUs took part"


def test_more_gpus_than_the_type_has_prove_nothing_though_all_took_part() -> None:
    found = judge(document(memory(*(on_gpu(number) for number in range(5)))), gpus=5)
    assert found.reason == "a g5.12xlarge has 4 GPUs, so 5 cannot take part"


@pytest.mark.parametrize(
    ("severity", "outcome", "reason"),
    [
        (4, FAILED, "memory failed on GPU 0: odd"),
        (5, NOT_PROVEN, "only settings are at fault: memory failed on GPU 0: odd"),
        (6, FAILED, "memory failed on GPU 0: odd"),
    ],
)
def test_a_fault_of_settings_alone_is_no_failure_of_a_gpu(
    severity: int, outcome: Outcome, reason: str
) -> None:
    warning = {"error_severity": severity, "warning": " odd "}
    found = judge(document(memory(on_gpu(0, "Fail", warnings=[warning]))))
    assert (found.outcome, found.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (on_gpu(2, "FAIL"), "memory failed on GPU 2: no reason given"),
        (on_gpu(2, "fail", warnings="alone"), "memory failed on GPU 2: alone"),
        (on_gpu(2, "fail", warnings=["first", "second"]), "memory failed on GPU 2: first"),
        (on_gpu(2, "fail", warnings=[{"error_severity": 1}]), "memory failed on GPU 2: no reason given"),
        ({"gpu_ids": "1, 3", "status": "fail"}, "memory failed on GPU 1, 3: no reason given"),
        ({"gpu_id": 1, "status": "fail"}, "memory failed on GPU 1: no reason given"),
        ({"entity_group": "CPU", "entity_id": 0, "status": "fail"}, "memory failed on CPU: no reason given"),
        ({"status": "fail"}, "memory failed: no reason given"),
        (on_gpu(True, "fail"), "memory failed on GPU: no reason given"),
    ],
)
def test_a_failed_test_is_named_with_its_gpu_and_its_first_warning(result: Result, reason: str) -> None:
    found = judge(document(memory(result)))
    assert (found.outcome, found.reason) == (FAILED, reason)


def test_the_first_five_failures_are_named() -> None:
    found = judge(document(memory(*(on_gpu(number, "Fail") for number in range(7)))))
    assert found.reason == "; ".join(f"memory failed on GPU {number}: no reason given" for number in range(5))


def test_a_failed_summary_counts_where_no_result_beside_it_failed() -> None:
    summary = {"status": "Fail", "warnings": ["odd"]}

    assert judge(document(memory(on_gpu(0), test_summary=summary))).reason == "memory failed: odd"
    assert judge(document(memory(test_summary=summary))).reason == "memory failed: odd"
    both = judge(document(memory(on_gpu(0, "Fail", warnings=["own"]), test_summary=summary)))
    assert both.reason == "memory failed on GPU 0: own"


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
    assert judge(both("Hardware")).reason == "a result of software names no GPU"


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ([on_gpu(0, "Fail", warnings=["odd"])], "memory failed on GPU 0: odd"),
        ([], "DCGM could not run: ended"),
    ],
)
def test_a_failure_is_said_before_an_error_of_dcgm_and_that_before_its_exit_code(
    first: list[Result], reason: str
) -> None:
    assert judge(document(memory(*first), runtime_error="ended"), code=1).reason == reason


def test_settings_are_said_before_the_exit_code_and_that_before_what_cannot_be_read() -> None:
    setting = on_gpu(0, "Fail", warnings=[{"error_severity": 5, "warning": "odd"}])

    assert judge(document(memory(setting)), code=1).reason.startswith("only settings are at fault")
    assert judge(document(memory(on_gpu(0, "odd"))), code=1).reason == "the tool ended with exit code 1"
