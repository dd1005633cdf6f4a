"""The embedded control plane behaves as the real one does where our code depends on it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local.kubernetes import control_plane
from local.kubernetes.api import ApiError
from local.kubernetes.binaries import PROGRAMS, find_programs
from local.kubernetes.control_plane import ControlPlane
from tests.local.cluster.lab import await_true


def test_it_is_the_version_of_the_lab(kubernetes):
    assert kubernetes.get("/version")["gitVersion"] == "v1.35.4"


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


#: Asks the API server once, and ends where the real one would wait for ten seconds.
IMPATIENT = """#!/bin/sh
exec {python} -c '
import json, os, ssl, sys, urllib.request
config = next(each for each in sys.argv if each.startswith("--kubeconfig=")).partition("=")[2]
server = json.load(open(config))["clusters"][0]["cluster"]["server"]
if urllib.request.urlopen(server + "/healthz", context=ssl._create_unverified_context()).status == 200:
    os.execv(sys.argv[1], sys.argv[1:])
' {program} "$@"
"""


def test_the_controller_manager_starts_when_the_api_server_is_ready_and_no_process_is_left(
    tmp_path, monkeypatch
):
    # given a controller manager without patience
    built = find_programs(print)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(built / name)
    impatient = programs / "kube-controller-manager"
    impatient.unlink()
    impatient.write_text(IMPATIENT.format(python=sys.executable, program=built / impatient.name))
    impatient.chmod(0o755)
    monkeypatch.setattr(control_plane, "find_programs", lambda _progress: programs)

    # then the control plane starts nevertheless
    with ControlPlane(tmp_path / "cluster") as plane:
        assert plane.admin().is_there("/api/v1/namespaces/default/serviceaccounts/default")
        assert len(processes(tmp_path / "cluster")) == len(PROGRAMS)
        assert plane._supervisor is not None
        supervisor = plane._supervisor.pid
    assert processes(tmp_path / "cluster") == []
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
