"""Reads `dcgmi diag -r N -j`: what DCGM's own tests say about each GPU, in its versions 3 and 4.

Any Fail is a failure, but for one of severity CONFIG alone, which is about settings and proves nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lamplighter.domain.checks.verdicts.verdict import (
    Measurement,
    Verdict,
    crashed,
    ended_badly,
    failed,
    not_proven,
    passed,
)
from lamplighter.domain.gpu.instance_types import GpuType

V4_ROOT, V3_ROOT = "DCGM Diagnostic", "DCGM GPU Diagnostic"
DEPLOYMENT = "Deployment"
SEVERITY_CONFIG = 5

# Text may stand before the document and after it; its own first key says where it begins.
_BEGINS = re.compile(r'\{\s*"DCGM (?:GPU )?Diagnostic"\s*:')
# dcgmi (Diag.cpp) writes its own errors as lines of text, before the document or after it.
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
class _Found:
    """What the document says, gathered over all tests."""

    passes: dict[str, int] = field(default_factory=dict)
    """Passed tests of each GPU, 0 for one that took part and passed none."""
    failures: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    tests: dict[str, int] = field(default_factory=dict)
    """How many results of each status."""


def dcgm(text: str, exit_code: int, gpus: int, kind: GpuType) -> Verdict:  # noqa: PLR0911 -- one a rule
    """Judges DCGM's diagnostic for `gpus` GPUs of one node of this type."""
    root = _root(text)
    if isinstance(root, str):
        return not_proven(ended_badly(exit_code) or root, {"exit_code": exit_code})
    found = _Found()
    for test, on_node in _tests(root, found):
        _read_test(test, found, on_node=on_node)
    measured = _measured(found, exit_code)
    if found.failures:
        return failed("; ".join(found.failures[:5]), measured)
    if "runtime_error" in root:
        return not_proven(f"DCGM could not run: {str(root['runtime_error'])[:200]}", measured)
    if found.settings:
        return not_proven(f"only settings are at fault: {'; '.join(found.settings[:5])}", measured)
    if badly := ended_badly(exit_code) or crashed(text) or _error_beside(text):
        return not_proven(badly, measured)
    if found.unread:
        return not_proven("; ".join(found.unread[:5]), measured)
    if len(found.passes) != gpus or gpus > kind.count:
        return not_proven(_other_count(len(found.passes), gpus, kind), measured)
    idle = [gpu for gpu, passes in found.passes.items() if not passes]
    if idle:
        return not_proven(f"no test passed on GPU {', '.join(idle)}: all were skipped", measured)
    return passed(f"DCGM found no fault on {gpus} of {gpus} GPUs", measured)


def _error_beside(text: str) -> str | None:
    """An error of dcgmi's own beside the diagnostic; None where there is none."""
    found = _ERROR.search(text)
    return f"dcgmi says: {found[0].strip()[:200]}" if found else None


def _other_count(seen: int, gpus: int, kind: GpuType) -> str:
    if gpus > kind.count:
        return f"a {kind.instance_type} has {kind.count} GPUs, so {gpus} cannot take part"
    return f"{seen} of {gpus} GPUs took part"


def _root(text: str) -> Mapping[str, Json] | str:
    """The diagnostic, or why there is none."""
    begins = list(_BEGINS.finditer(text))
    if not begins:
        return "there is no DCGM diagnostic of a version that is known in the output"
    if len(begins) > 1:
        return "there is more than one DCGM diagnostic in the output"
    try:
        document, _ = json.JSONDecoder(object_pairs_hook=_unique).raw_decode(text, begins[0].start())
    except (ValueError, RecursionError):
        return "DCGM's diagnostic breaks off or is no JSON"
    roots = [document[key] for key in (V4_ROOT, V3_ROOT) if key in document]
    if len(roots) != 1 or not isinstance(roots[0], dict):
        return "DCGM's diagnostic is not of a version that is known"
    root: Mapping[str, Json] = roots[0]
    return root


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key is there twice")
    return document


def _tests(root: Mapping[str, Json], found: _Found) -> Iterator[tuple[Mapping[str, Json], bool]]:
    """Each test, and whether it is of the node's software rather than of a GPU."""
    categories = _list(root.get("test_categories"))
    if not categories:
        found.unread.append("DCGM ran no test")
    for category in categories:
        # Version 3 leaves null where a test was not asked for.
        tests = [test for test in _list(_map(category).get("tests")) if test is not None]
        if not tests:
            found.unread.append("a category of tests is empty")
        on_node = _map(category).get("category") == DEPLOYMENT
        yield from ((_map(test), on_node) for test in tests)


def _read_test(test: Mapping[str, Json], found: _Found, *, on_node: bool) -> None:
    name = str(test.get("name", "a test without a name"))
    # Version 3 leaves null, too, for a GPU on which the test did not run.
    results = [_map(result) for result in _list(test.get("results")) if result is not None]
    statuses = [_read_result(name, result, found, on_node=on_node) for result in results]
    summary = test.get("test_summary")
    if summary is None:
        if not results:
            found.unread.append(f"{name} has no result")
        return
    status = _status(_map(summary), name, found)
    if status == "fail" and "fail" not in statuses:
        _fault(name, "", _map(summary), found)
    elif not results and status != "skip":
        found.unread.append(f"{name} has a summary and no result")


def _read_result(name: str, result: Mapping[str, Json], found: _Found, *, on_node: bool) -> str:
    status = _status(result, name, found)
    found.tests[status] = found.tests.get(status, 0) + 1
    group = result.get("entity_group")
    gpus = _gpus(result)
    if group not in _GROUPS:
        found.unread.append(f"a result of {name} is about {str(group)[:40]!r}, which is not known")
    elif group in {None, "GPU"} and not gpus and status != "skip" and not (on_node and _of_no_gpu(result)):
        found.unread.append(f"a result of {name} names no GPU")
    for gpu in gpus:
        found.passes[gpu] = found.passes.get(gpu, 0) + (status == "pass")
    if status == "fail":
        on = f" on GPU {', '.join(gpus)}" if gpus else f" on {group}" if group else ""
        _fault(name, on, result, found)
    return status


def _of_no_gpu(result: Mapping[str, Json]) -> bool:
    """Version 3 of dcgmi names no GPU beside what it says of the node's software (HelperJsonAddBasicTests)."""
    return not {"entity_group", "gpu_ids", "gpu_id"} & set(result)


def _gpus(result: Mapping[str, Json]) -> list[str]:
    """Version 4 names one entity, version 3 a list of ids in a string."""
    if "entity_group" in result:
        entity = result.get("entity_id")
        named = isinstance(entity, int) and not isinstance(entity, bool)
        return [str(entity)] if named and result["entity_group"] == "GPU" else []
    ids = str(result.get("gpu_ids", result.get("gpu_id", ""))).split(",")
    return [each.strip() for each in ids if each.strip().isdecimal()]


def _status(holder: Mapping[str, Json], name: str, found: _Found) -> str:
    said = holder.get("status")
    status = _STATUS.get(said.lower(), "") if isinstance(said, str) else ""
    if not status:
        found.unread.append(f"{name} has the status {str(said)[:40]!r}, which is not known")
    return status or "unknown"


def _fault(name: str, on: str, holder: Mapping[str, Json], found: _Found) -> None:
    warnings = _list(holder.get("warnings"))
    severities = {str(_map(warning).get("error_severity")) for warning in warnings}
    said = next((_said(warning) for warning in warnings), "no reason given")
    text = f"{name} failed{on}: {said}"
    if severities == {str(SEVERITY_CONFIG)}:
        found.settings.append(text)
    else:
        found.failures.append(text)


def _said(warning: Json) -> str:
    text = _map(warning).get("warning", "no reason given") if isinstance(warning, Mapping) else warning
    return str(text).strip()[:200]


def _list(found: Json) -> Sequence[Json]:
    """A list as it is; version 3 writes a lone warning as its text."""
    if isinstance(found, str):
        return [found]
    return found if isinstance(found, Sequence) else []


def _map(found: Json) -> Mapping[str, Json]:
    return found if isinstance(found, Mapping) else {}


def _measured(found: _Found, exit_code: int) -> dict[str, Measurement]:
    return {"exit_code": exit_code, "gpus": len(found.passes), "results": dict(found.tests)}
