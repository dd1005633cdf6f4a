"""The stand-in chart installs as NVIDIA's does under Helm 4. test_lending.py has its conflicts."""

import io
import tarfile

import requests
import yaml

from local.kubernetes.charts.repository import package
from tests.local.cluster.lab import POLICY, await_true
from tests.steady.hang import HANG_SECONDS


def test_the_repository_serves_what_its_index_names(charts):
    (entry,) = yaml.safe_load(requests.get(f"{charts.url}/index.yaml", timeout=HANG_SECONDS).text)["entries"][
        "gpu-operator"
    ]
    assert entry["version"] == "v26.3.1"
    served = requests.get(f"{charts.url}/{entry['urls'][0]}", timeout=HANG_SECONDS).content
    with tarfile.open(fileobj=io.BytesIO(served)) as archive:
        assert "gpu-operator/Chart.yaml" in archive.getnames()


def test_a_package_is_the_same_for_the_same_files(tmp_path):
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "Chart.yaml").write_text("name: chart\nversion: 1.0.0\n")
    assert package(chart) == package(chart)


def test_values_of_the_chart_become_the_policy(lab):
    spec = lab.kubernetes.get(POLICY)["spec"]
    assert not spec["driver"]["enabled"]
    assert not spec["toolkit"]["enabled"]
    assert spec["dcgmExporter"]["enabled"]
    assert spec["validator"]["plugin"]["env"] == [{"name": "WITH_WORKLOAD", "value": "true"}]
    assert spec["cdi"]["enabled"]
    assert spec["mig"]["strategy"] == "single"
    assert "data" not in spec["devicePlugin"]["config"]


def test_the_runtime_class_and_the_operator_are_there(lab):
    await_true(
        lambda: lab.kubernetes.find("/apis/node.k8s.io/v1/runtimeclasses/nvidia"), "the runtime class exists"
    )
    deployment = "/apis/apps/v1/namespaces/gpu-operator/deployments/gpu-operator"
    await_true(
        lambda: lab.kubernetes.get(deployment)["status"].get("availableReplicas") == 1,
        "the operator is there",
    )
