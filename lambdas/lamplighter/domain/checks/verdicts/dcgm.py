"""Judges the output of `dcgmi diag -r N -j`, of DCGM's versions 3 and 4.

Any Fail is a failure. Only a Fail of severity CONFIG is about settings, and makes the verdict not proven. So does a
Pass that carries an error of another severity.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lamplighter.domain.checks.verdicts.verdict import (
    QUOTED,
    Measurement,
    Verdict,
    crashed,
    ended_badly,
    failed,
    not_proven,
    passed,
    too_many_gpus,
    tool_says,
)
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.reasons.reason import Reason, Said, reason, several

V4_ROOT, V3_ROOT = "DCGM Diagnostic", "DCGM GPU Diagnostic"
DEPLOYMENT = "Deployment"
SEVERITY_CONFIG = 5

# Other text may stand before and after the document, which begins with this key.
_BEGINS = re.compile(r'\{\s*"DCGM (?:GPU )?Diagnostic"\s*:')
# dcgmi (Diag.cpp) prints its own errors as lines of text before or after the document.
_ERROR = re.compile(r"^Error(?::| when).*", re.MULTILINE)
_STATUS = {"pass": "pass", "fail": "fail", "warn": "warn", "skip": "skip", "skipped": "skip"}

_GROUPS = (
    None,
    "GPU",
    "CPU",
    "Switch",
    "Link",
    "GPU_I",
    "GPU_CI",
    "CPU_CORE",
    "CPU Core",
    "NVSWITCH",
    "ConnectX",
)

Json = str | int | float | Sequence["Json"] | Mapping[str, "Json"] | None


@dataclass
class _Results:
    """What the diagnostic says, over all its tests."""

    passes: dict[str, int] = field(default_factory=dict)
    """Passed tests by GPU; 0 for a GPU that took part and passed none."""
    failures: list[Said] = field(default_factory=list)
    settings: list[Said] = field(default_factory=list)
    unread: list[Said] = field(default_factory=list)
    tests: dict[str, int] = field(default_factory=dict)
    """Number of results by status."""


def dcgm(text: str, exit_code: int, gpus: int, kind: GpuType) -> Verdict:  # noqa: PLR0911 -- one a rule
    """Judges DCGM's diagnostic of `gpus` GPUs of one node of this type."""
    root = _root(text)
    if isinstance(root, Reason):
        return not_proven(ended_badly(exit_code) or root, {"exit_code": exit_code})
    results = _Results()
    for test, on_node in _tests(root, results):
        _read_test(test, results, on_node=on_node)
    measurements = _measurements(results, exit_code)
    if results.failures:
        return failed(several(results.failures), measurements)
    if "runtime_error" in root:
        error = str(root["runtime_error"])[:QUOTED]
        return not_proven(reason("check.dcgm.runtime-error", words=error), measurements)
    if results.settings:
        return not_proven(reason("check.dcgm.settings", faults=several(results.settings)), measurements)
    if ending := ended_badly(exit_code) or crashed(text) or _error_beside(text):
        return not_proven(ending, measurements)
    if results.unread:
        return not_proven(several(results.unread), measurements)
    if missing := _missing(results, gpus, kind):
        return not_proven(missing, measurements)
    return passed(reason("check.dcgm.passed", gpus=gpus), measurements)


def _missing(results: _Results, gpus: int, kind: GpuType) -> Reason | None:
    """Which GPU has no evidence; None where a test passed on each of them."""
    if gpus > kind.count:
        return too_many_gpus(gpus, kind.instance_type, kind.count)
    if len(results.passes) != gpus:
        return reason("check.dcgm.took-part", seen=len(results.passes), gpus=gpus)
    skipped = tuple(gpu for gpu, passes in results.passes.items() if not passes)
    return reason("check.dcgm.all-skipped", gpus=skipped) if skipped else None


def _error_beside(text: str) -> Reason | None:
    """An error of dcgmi's own beside the diagnostic; None where there is none."""
    error = _ERROR.search(text)
    return tool_says("dcgmi", error[0]) if error else None


def _root(text: str) -> Mapping[str, Json] | Reason:
    """The diagnostic, or why there is none."""
    begins = list(_BEGINS.finditer(text))
    if not begins:
        return reason("check.dcgm.no-diagnostic")
    if len(begins) > 1:
        return reason("check.dcgm.several-diagnostics")
    try:
        document, _ = json.JSONDecoder(object_pairs_hook=_unique).raw_decode(text, begins[0].start())
    except (ValueError, RecursionError):
        return reason("check.dcgm.broken-json")
    roots = [document[key] for key in (V4_ROOT, V3_ROOT) if key in document]
    if len(roots) != 1 or not isinstance(roots[0], dict):
        return reason("check.dcgm.unknown-version")
    root: Mapping[str, Json] = roots[0]
    return root


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key is there twice")
    return document


def _tests(root: Mapping[str, Json], results: _Results) -> Iterator[tuple[Mapping[str, Json], bool]]:
    """Each test, and whether it tests the node's software rather than a GPU."""
    categories = _list(root.get("test_categories"))
    if not categories:
        results.unread.append(reason("check.dcgm.no-test"))
    for category in categories:
        # Version 3 has null for a test that was not asked for.
        tests = [test for test in _list(_map(category).get("tests")) if test is not None]
        if not tests:
            results.unread.append(reason("check.dcgm.empty-category"))
        on_node = _map(category).get("category") == DEPLOYMENT
        yield from ((_map(test), on_node) for test in tests)


def _read_test(test: Mapping[str, Json], results: _Results, *, on_node: bool) -> None:
    name = str(test["name"])[:QUOTED] if "name" in test else reason("check.dcgm.nameless-test")
    # Version 3 has null, too, for a GPU on which the test did not run.
    of_gpus = [_map(result) for result in _list(test.get("results")) if result is not None]
    statuses = [_read_result(name, result, results, on_node=on_node) for result in of_gpus]
    summary = test.get("test_summary")
    if summary is None:
        if not of_gpus:
            results.unread.append(reason("check.dcgm.no-result", test=name))
        return
    status = _status(_map(summary), name, results)
    if status == "fail" and "fail" not in statuses:
        _add_failure(
            _map(summary), reason("check.dcgm.failed", test=name, why=_warning(_map(summary))), results
        )
    elif not of_gpus and status != "skip":
        results.unread.append(reason("check.dcgm.summary-only", test=name))


def _read_result(name: Said, result: Mapping[str, Json], results: _Results, *, on_node: bool) -> str:
    status = _status(result, name, results)
    results.tests[status] = results.tests.get(status, 0) + 1
    group = result.get("entity_group")
    gpus = _gpus(result)
    if group not in _GROUPS:
        unknown = reason("check.dcgm.unknown-group", test=name, group=str(group)[:40])
        results.unread.append(unknown)
    elif group in {None, "GPU"} and not gpus and status != "skip" and not (on_node and _of_no_gpu(result)):
        results.unread.append(reason("check.dcgm.no-gpu", test=name))
    for gpu in gpus:
        results.passes[gpu] = results.passes.get(gpu, 0) + (status == "pass")
    if status == "pass" and _severities(result) - {"0", str(SEVERITY_CONFIG)}:
        # Such as DCGM_FR_MEMORY_ALLOC (DCGM's issue 284): the test ends well and has tested nothing.
        results.unread.append(reason("check.dcgm.passed-with-error", test=name, why=_warning(result)))
    if status == "fail":
        _add_failure(result, _failure(name, gpus, group, _warning(result)), results)
    return status


def _failure(name: Said, gpus: Sequence[str], group: Json, why: Said) -> Reason:
    """A failed test, and on what it failed."""
    if gpus:
        return reason("check.dcgm.failed-on-gpu", test=name, gpus=tuple(gpus), why=why)
    if group:
        return reason("check.dcgm.failed-on", test=name, part=str(group), why=why)
    return reason("check.dcgm.failed", test=name, why=why)


def _of_no_gpu(result: Mapping[str, Json]) -> bool:
    """Version 3 of dcgmi names no GPU in its results on the node's software (HelperJsonAddBasicTests)."""
    return not {"entity_group", "gpu_ids", "gpu_id"} & set(result)


def _gpus(result: Mapping[str, Json]) -> list[str]:
    """Version 4 names one entity, version 3 a list of ids in a string."""
    if "entity_group" in result:
        entity = result.get("entity_id")
        numbered = isinstance(entity, int) and not isinstance(entity, bool)
        return [str(entity)] if numbered and result["entity_group"] == "GPU" else []
    ids = str(result.get("gpu_ids", result.get("gpu_id", ""))).split(",")
    return [gpu.strip() for gpu in ids if gpu.strip().isdecimal()]


def _status(holder: Mapping[str, Json], name: Said, results: _Results) -> str:
    written = holder.get("status")
    status = _STATUS.get(written.lower(), "") if isinstance(written, str) else ""
    if not status:
        results.unread.append(reason("check.dcgm.unknown-status", test=name, status=str(written)[:40]))
    return status or "unknown"


def _add_failure(holder: Mapping[str, Json], failure: Reason, results: _Results) -> None:
    """Among the settings where every warning is of severity CONFIG."""
    settings = _severities(holder) == {str(SEVERITY_CONFIG)}
    (results.settings if settings else results.failures).append(failure)


def _severities(holder: Mapping[str, Json]) -> set[str]:
    """Of its warnings, as written; "None" of one that has none, as in version 3, where each warning is an error."""
    return {str(_map(warning).get("error_severity")) for warning in _list(holder.get("warnings"))}


def _warning(holder: Mapping[str, Json]) -> Said:
    """The first warning, in DCGM's words."""
    warnings = _list(holder.get("warnings"))
    first = warnings[0] if warnings else {}
    words = _map(first).get("warning") if isinstance(first, Mapping) else first
    if isinstance(first, Mapping) and "warning" not in first:
        return reason("check.dcgm.no-warning")
    return str(words).strip()[:QUOTED]


def _list(value: Json) -> Sequence[Json]:
    """A list as it is; version 3 writes a single warning as its text."""
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, Sequence) else []


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _measurements(results: _Results, exit_code: int) -> dict[str, Measurement]:
    return {"exit_code": exit_code, "gpus": len(results.passes), "results": dict(results.tests)}
