"""Idle by use: which GPUs are busy by the DCGM exporter's text, and what a sweep makes of it."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.kubernetes.connection import Forbidden, KubernetesResponse
from lamplighter.application.guard.facts import gather
from lamplighter.application.guard.kubernetes import EXPORTER_SECONDS
from lamplighter.application.guard.services import gather_lab
from lamplighter.domain.gpu.gpu_use import LARGEST, any_busy, busy_gpus
from lamplighter.domain.guard.leases import idle
from lamplighter.errors import LamplighterError, OutsideFailed
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.drawn import english
from tests.stopped_clock import stop_at
from tests.unit.guard.test_gathering import facts
from tests.unit.guard.test_kubernetes_reads import work
from tests.unit.lab_on_moto import LabOnMoto

UTIL, ENGINE = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"


def sample(metric: str, gpu: str, value: str, more: str = "") -> str:
    device = f'device="nvidia0",modelName="NVIDIA A10G",Hostname="node"{more}'
    return f'{metric}{{gpu="0",UUID="GPU-{gpu}",pci_bus_id="00000000:31:00.0",{device}}} {value}\n'


POD = ',container="ctr",namespace="class",pod="notebook"'
IDLE = "# HELP x\n" + sample(UTIL, "a", "0", POD) + sample(ENGINE, "a", "0.000000", POD)
BUSY = IDLE + sample(UTIL, "b", "97")


@pytest.mark.parametrize(("text", "busy"), [
    (IDLE, {"GPU-a": False}),
    (BUSY, {"GPU-a": False, "GPU-b": True}),
    # Slices of one GPU have the second metric alone, a line each.
    (sample(ENGINE, "a", "0.000000") + sample(ENGINE, "a", "0.5"), {"GPU-a": True}),
    (sample(UTIL, "a", "0") + sample(ENGINE, "a", "0.000321"), {"GPU-a": True}),
    (sample(UTIL, "a", "0", ',pod="},UUID=\\\\"GPU-x\\\\" 1"') , {"GPU-a": False}),
    (sample(UTIL, "a", "0 1765432100000"), {"GPU-a": False}),
    # Version 4.9.0 of the exporter.
    (sample(f"{UTIL}_RATIO", "a", "0") + sample(f"{UTIL}_RATIO", "b", "0.97"), {"GPU-a": False, "GPU-b": True}),
    (sample("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "a", "0.2"), {"GPU-a": True}),
])  # fmt: skip
def test_a_gpu_is_busy_when_either_metric_is_above_zero(text: str, busy: dict[str, bool]) -> None:
    assert busy_gpus(text) == busy


@pytest.mark.parametrize("text", [
    "", "<html>log in</html>", sample(UTIL, "a", "NaN"), sample(UTIL, "a", "9223372036854775794"),
    sample(UTIL, "a", "-1"), sample(UTIL, "a", "1e999"), sample(UTIL, "a", "0" * 40), sample(UTIL, "a", "1.1.1"),
    sample(UTIL, "a", "0", f',pod="{"x" * 5000}"'), IDLE + "#" * LARGEST,
    "".join(sample(UTIL, str(number), "0") for number in range(65)),
    f"{UTIL} 0", f'{UTIL}{{gpu="0"}} 0',
    # One slice that sleeps says nothing of another one whose line nobody can read.
    sample(ENGINE, "a", "0.0") + sample(ENGINE, "a", "NaN"), sample(ENGINE, "a", "1.000213") + sample(ENGINE, "a", "0"),
    sample(ENGINE, "a", "0.0") + sample(ENGINE, "a", "0.9", f',pod="{"x" * 5000}"'),
])  # fmt: skip
def test_what_no_exporter_says_is_not_known(text: str) -> None:
    assert busy_gpus(text) is None


def test_a_pool_is_idle_only_if_every_gpu_of_every_node_says_so() -> None:
    idle, busy = {"a": False}, {"a": False, "b": True}
    assert any_busy([(1, idle), (1, idle)]) is False
    assert any_busy([(1, idle), (1, None)]) is None
    assert any_busy([(4, idle)]) is None
    assert any_busy([(1, None), (4, busy)]) is True


@pytest.fixture
def by_gpu(lab: LabOnMoto) -> LabOnMoto:
    """A leased node with an exporter and a notebook that holds its GPU."""
    lab.capacity.lab = Lab.model_validate({"name": "lab", "guard": {"idle_by": "gpu"}})
    lab.lease(nodes=1, closes=180)
    lab.scale(1)
    lab.cluster.add_node("i-1")
    work(lab, "nvidia.com/gpu")
    export(lab, "gpu-operator")
    return lab


def export(lab: LabOnMoto, namespace: str, instance: str = "i-1") -> None:
    lab.cluster.add_pod("exporter", instance)
    pod = lab.cluster.pods[-1]
    pod["metadata"] |= {"namespace": namespace, "labels": {"app": "nvidia-dcgm-exporter"}}
    pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]


def serve(lab: LabOnMoto, answer: str | LamplighterError, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(method: str, path: str, **_: Any) -> KubernetesResponse:
        assert (method, path) == (
            "GET", "/api/v1/namespaces/gpu-operator/pods/exporter:9400/proxy/metrics",
        )  # fmt: skip
        if isinstance(answer, LamplighterError):
            raise answer
        return KubernetesResponse(200, answer)

    monkeypatch.setattr(lab.cluster, "ask", ask)


@pytest.mark.parametrize(("answer", "since"), [
    (IDLE, EIGHT), (BUSY, None), ("", None), (Forbidden("pods is forbidden"), None), (OutsideFailed("silent"), None),
])  # fmt: skip
def test_a_held_gpu_may_be_idle_and_a_reading_that_did_not_come_is_not(
    by_gpu: LabOnMoto, monkeypatch: pytest.MonkeyPatch, answer: str | LamplighterError, since: datetime | None
) -> None:
    serve(by_gpu, answer, monkeypatch)

    found = facts(by_gpu)

    assert (found.idle_since, found.idle_by) == (since, "gpu")
    # Nobody has to look for a sweep that says nothing.
    assert bool(by_gpu.guard_services.unread) is isinstance(answer, LamplighterError)


def test_a_sweep_is_well_without_a_reading_that_only_a_receipt_would_show(
    by_gpu: LabOnMoto, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_gpu.capacity.lab = Lab.model_validate(
        {"name": "lab", "guard": {"idle_by": "gpu", "idle_after": "off"}}
    )
    serve(by_gpu, Forbidden("pods is forbidden"), monkeypatch)

    assert (facts(by_gpu).idle_since, by_gpu.guard_services.unread) == (None, [])


def slow(
    lab: LabOnMoto, seconds: int, answer: str | LamplighterError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`monotonic` reads the lab's clock where `sleep` is the lab's too."""
    monkeypatch.setenv("LAMPLIGHTER_SLEEP", "http://127.0.0.1:1")

    def ask(_method: str, _path: str, **_: Any) -> KubernetesResponse:
        stop_at(lab.clock, lab.capacity.now() + timedelta(seconds=seconds))
        if isinstance(answer, LamplighterError):
            raise answer
        return KubernetesResponse(200, answer)

    monkeypatch.setattr(lab.cluster, "ask", ask)


@pytest.mark.parametrize("answer", [OutsideFailed("no answer in 8 s"), IDLE])
def test_exporters_that_are_silent_or_slow_take_no_sweep_its_time(
    by_gpu: LabOnMoto, monkeypatch: pytest.MonkeyPatch, answer: str | LamplighterError
) -> None:
    begun = by_gpu.capacity.now()
    slow(by_gpu, 8, answer, monkeypatch)
    lab_facts = gather_lab(by_gpu.guard_services)
    for _pool in range(9):
        gather(by_gpu.guard_services, "gpu", lab_facts)
    waited = by_gpu.capacity.now() - begun
    assert timedelta(seconds=EXPORTER_SECONDS) <= waited < timedelta(seconds=EXPORTER_SECONDS + 8)
    facts(by_gpu)
    assert by_gpu.capacity.now() - begun == waited + timedelta(seconds=8)


def test_the_count_begins_again_after_readings_that_did_not_come(
    by_gpu: LabOnMoto, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(by_gpu, IDLE, monkeypatch)
    assert facts(by_gpu).idle_since == EIGHT
    by_gpu.at(5)
    serve(by_gpu, "", monkeypatch)
    assert facts(by_gpu).idle_since is None
    by_gpu.at(10)
    serve(by_gpu, IDLE, monkeypatch)
    assert facts(by_gpu).idle_since == EIGHT
    by_gpu.at(20)
    serve(by_gpu, "", monkeypatch)
    assert facts(by_gpu).idle_since is None
    came = by_gpu.at(26)
    serve(by_gpu, IDLE, monkeypatch)
    assert facts(by_gpu).idle_since == came


def test_a_busy_gpu_counts_where_no_time_is_left_for_the_other_nodes(
    by_gpu: LabOnMoto, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(by_gpu, IDLE, monkeypatch)
    assert facts(by_gpu).idle_since == EIGHT
    by_gpu.at(5)
    by_gpu.cluster.add_node("i-2")
    export(by_gpu, "gpu-operator", "i-2")
    slow(by_gpu, 31, BUSY, monkeypatch)
    assert facts(by_gpu).idle_since is None

    came = by_gpu.at(10)
    serve(by_gpu, IDLE, monkeypatch)
    by_gpu.cluster.nodes.pop()
    assert facts(by_gpu).idle_since == came


def test_people_hear_that_no_gpu_was_busy_before_their_lease_ends(
    by_gpu: LabOnMoto, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(by_gpu, IDLE, monkeypatch)
    for minutes in range(0, 60, 10):
        by_gpu.at(minutes)
        assert list(idle(facts(by_gpu))) == []
    by_gpu.at(60)
    [warning] = idle(facts(by_gpu))

    assert english(warning.reason).startswith("no GPU of pool gpu has been busy since 20:00")
    assert "and so does work on a GPU" in english(warning.reason)


def test_an_exporter_of_somebody_else_is_not_asked(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.capacity.lab = Lab.model_validate({"name": "lab", "guard": {"idle_by": "gpu"}})
    lab.lease(nodes=1)
    lab.scale(1)
    lab.cluster.add_node("i-1")
    export(lab, "class")
    serve(lab, IDLE, monkeypatch)

    assert facts(lab).idle_since is None
    assert lab.guard_services.unread == []
