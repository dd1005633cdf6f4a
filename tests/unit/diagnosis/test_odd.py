"""Odd but legal snapshots: lists as the CLIs print them, absent or empty keys, and texts in every spelling."""

from copy import deepcopy

import pytest

from lamplighter.domain.diagnosis.rules.symptoms import symptom
from tests.diagnosis_cases import Case, aws, leave, nvidia
from tests.snapshots import SINCE, Document, at, healthy, no_gpus, pod
from tests.unit.diagnosis.table import UNREAD, given, table

CLI_FRAMES = {
    "scaling_activities": "Activities",
    "security_groups": "SecurityGroups",
    "subnets": "Subnets",
    "quotas": "Quotas",
}


def framed(document: Document) -> Document:
    """The same document as kubectl -o json and the AWS CLI print it."""
    changed = deepcopy(document)
    for name, items in changed["kubernetes"].items():
        changed["kubernetes"][name] = {"apiVersion": "v1", "kind": "List", "items": items, "metadata": {}}
    for name, frame in CLI_FRAMES.items():
        changed["aws"][name] = {frame: changed["aws"][name]}
    changed["aws"]["instances"] = {"Reservations": [{"Instances": changed["aws"]["instances"]}]}
    changed["aws"]["nodegroup"] = {"nodegroup": changed["aws"]["nodegroup"]}
    return changed


def shown(case: Case) -> Document:
    document = healthy()
    case.shows(document, 0)
    return document


def empty() -> Document:
    """Everything that AWS and Kubernetes were asked for beside nodes and pods is null."""
    document = healthy()
    document["aws"] |= dict.fromkeys(document["aws"])
    document["kubernetes"] |= {name: None for name in document["kubernetes"] if name not in {"nodes", "pods"}}
    return document


def nodes_alone() -> Document:
    nodes = healthy()["kubernetes"]["nodes"]
    return given(healthy(), kubernetes={"nodes": nodes}, aws=UNREAD, logs=UNREAD, logs_previous=UNREAD)


def of_the_newer_api() -> Document:
    document = healthy()
    leave(document, 1)
    no_gpus(document, 0)
    plugin = f"{nvidia.PLUGIN}-0"
    sandbox = {
        "regarding": {"kind": "Pod", "namespace": "gpu-operator", "name": plugin},
        "reason": "FailedCreatePodSandBox",
        "note": 'Failed to create pod sandbox: no runtime for "nvidia" is configured',
        "eventTime": at(10).replace("Z", ".123456Z"),
        "series": {"count": 9, "lastObservedTime": at(19).replace("Z", ".654321Z")},
    }
    instances = document["aws"]["instances"][:1]
    return given(document, pod(plugin, phase="Pending"), expected={"nodes": 1}, more={"events": [sandbox]},
     instances=instances)  # fmt: skip


def without_any(name: str) -> Document:
    document = healthy()
    document["kubernetes"][name] = []
    return document


LISTS = ("daemonsets", "clusterpolicies", "events", "pods", "deployments", "jobs")


test_an_odd_snapshot_is_read = table(
    ("a healthy one", healthy(), []),
    ("a healthy one as the CLIs print it", framed(healthy()), []),
    *((f"{case.cause} as the CLIs print it", framed(shown(case)), [case.cause]) for case in (*aws.CASES,
     *nvidia.CASES)),
    ("null is as good as absent", empty(), []),
    ("nodes that are there and whole need nothing else to be read", nodes_alone(), []),
    *((f"{gone} that were not read invent nothing", given(healthy(), **{gone: UNREAD}), []) for gone in LISTS),
    *((f"nor do none of the {gone}", without_any(gone), []) for gone in LISTS),
    ("events of the newer API are read as well", of_the_newer_api(), ["runtime-missing"]),
)  # fmt: skip


@pytest.mark.parametrize("change", [str, str.upper])
@pytest.mark.parametrize("text", [
    *(nvidia.MISMATCH, nvidia.BROKEN, nvidia.TOO_OLD, nvidia.CDI),
    "CUDA driver version is insufficient for CUDA runtime version",
    "nvml error: driver not loaded",
    "could not load NVML library: libnvidia-ml.so.1",
    "Incompatible platform detected",
    "Incompatible strategy detected auto",
    'no runtime for "nvidia" is configured',
    'RuntimeClass "nvidia" not found',
    "failed to assign an IP address to container",
    "InsufficientCidrBlocks: no blocks",
])  # fmt: skip
def test_no_text_that_names_a_cause_is_passed_over_for_want_of_its_words(
    text: str, change: type[str]
) -> None:
    assert symptom([change(text)], SINCE, SINCE) is not None
