"""The embedded control plane behaves as the real one does where our code depends on it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local.kubernetes.api import ApiError, KubernetesApi
from local.kubernetes.binaries import PROGRAMS
from local.kubernetes.control_plane import ControlPlane
from tests.local.cluster.lab import await_true

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, **data: str):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_it_is_the_version_of_the_lab(kubernetes):
    assert kubernetes.get("/version")["gitVersion"] == "v1.35.4"


def test_a_field_that_another_manager_applied_is_a_conflict(kubernetes):
    # given a setting that Helm owns
    kubernetes.apply(f"{CONFIG_MAPS}/owned", config_map("owned", strategy="single"), "helm")

    # when somebody else applies another value without force, then the API server names the owner
    with pytest.raises(ApiError, match="helm") as refused:
        kubernetes.request(
            "PATCH",
            f"{CONFIG_MAPS}/owned?fieldManager=lamplighter",
            config_map("owned", strategy="mixed"),
            "application/apply-patch+yaml",
        )
    assert refused.value.status == 409


@pytest.mark.usefixtures("lab")
def test_a_cluster_policy_is_held_against_its_schema(kubernetes):
    with pytest.raises(ApiError, match="Unsupported value"):
        kubernetes.merge(
            "/apis/nvidia.com/v1/clusterpolicies/cluster-policy", {"spec": {"mig": {"strategy": "triple"}}}
        )


@pytest.mark.usefixtures("lab")
def test_a_status_is_written_only_through_its_subresource(kubernetes):
    policy = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"
    kubernetes.merge(policy, {"status": {"state": "ignored"}})
    assert kubernetes.get(policy).get("status", {}).get("state") != "ignored"


def test_a_budget_holds_an_eviction_up(kubernetes, lab):
    # given a pod of which one must always be there
    path = lab.run("guarded", "sleep", "infinity", labels={"app": "guarded"})
    lab.await_phase(path, "Running")
    budget = {
        "metadata": {"name": "guarded"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
    }
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    kubernetes.create(budgets, budget)
    await_true(
        lambda: kubernetes.get(f"{budgets}/guarded").get("status", {}).get("currentHealthy"),
        "the budget counts",
    )

    # when it is to be evicted, then the API server says not now
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "guarded"}}
    with pytest.raises(ApiError) as refused:
        kubernetes.request("POST", f"{path}/eviction", eviction)
    assert refused.value.status == 429

    # and without the budget it goes
    kubernetes.delete(f"{budgets}/guarded")
    await_true(lambda: _evicted(kubernetes, path, eviction), "the pod is evicted")
    await_true(lambda: kubernetes.find(path) is None, "the pod is gone")


def _evicted(kubernetes, path, eviction) -> bool:
    try:
        kubernetes.request("POST", f"{path}/eviction", eviction)
    except ApiError as error:
        return error.status == 404
    return True


def test_nobody_enters_without_a_known_identity(control_plane, tmp_path):
    authority = tmp_path / "ca.crt"
    authority.write_text(control_plane.ca_pem)
    for token in (None, "junk", "k8s-aws-v1.bm90LWEtdXJs"):
        with pytest.raises(ApiError) as refused:
            KubernetesApi(control_plane.endpoint, authority, token=token).get("/api/v1/nodes")
        # the API server knows an anonymous caller, who may do nothing
        assert refused.value.status == (401 if token else 403)


def processes(folder) -> list[str]:
    """The programs that run with a folder in their command: a port that is free again may be anybody's."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in command:
            found.append(command.replace(b"\0", b" ").decode(errors="replace")[:200])
    return found


def test_it_leaves_no_process(tmp_path):
    with ControlPlane(tmp_path / "second") as second:
        assert len(processes(tmp_path / "second")) == len(PROGRAMS)
        assert second._supervisor is not None
        supervisor = second._supervisor.pid
    assert processes(tmp_path / "second") == []
    with pytest.raises(ProcessLookupError):
        os.kill(supervisor, 0)


def test_it_dies_with_whoever_started_it(tmp_path):
    # given a control plane in another process
    script = (
        "import sys, time; from pathlib import Path;"
        "from local.kubernetes.control_plane import ControlPlane;"
        "plane = ControlPlane(Path(sys.argv[1])); plane.start();"
        "print(plane.endpoint, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "orphan")], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    assert parent.stdout.readline().startswith("https://")

    # when that process is killed without a chance to clean up
    parent.send_signal(signal.SIGKILL)
    parent.wait()

    # then the control plane goes as well
    await_true(lambda: not processes(tmp_path / "orphan"), "nothing of it runs any more")
