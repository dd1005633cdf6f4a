"""What a controller sees of its pod, and which pods have none on this machine."""

import pytest

from lamplighter.errors import OutsideFailed
from local.kubernetes.api import KubernetesApi
from local.kubernetes.certificates import Authority
from local.kubernetes.karpenter.controller import VERSION
from local.kubernetes.karpenter.controllers import IMAGE, Controllers
from local.kubernetes.karpenter.surroundings import environment_of

POD = {"metadata": {"name": "karpenter-1", "namespace": "kube-system", "uid": "1"}, "spec": {"nodeName": "n"}}


def of_resource(resource: str, divisor: str = "0") -> dict:
    return {
        "resourceFieldRef": {"containerName": "controller", "resource": resource, "divisor": divisor},
    }


def test_the_environment_is_that_of_the_pod():
    container = {
        "resources": {"requests": {"cpu": "250m"}, "limits": {"memory": "1Gi"}},
        "env": [
            {"name": "CLUSTER_NAME", "value": "lab"},
            {"name": "EMPTY"},
            {"name": "SYSTEM_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "CPU_REQUESTS", "valueFrom": of_resource("requests.cpu", "1m")},
            {"name": "MEMORY_LIMIT", "valueFrom": of_resource("limits.memory")},
            {"name": "CPU_LIMIT", "valueFrom": of_resource("limits.cpu")},
        ],
    }

    assert environment_of(POD, container) == {
        "CLUSTER_NAME": "lab",
        "EMPTY": "",
        "SYSTEM_NAMESPACE": "kube-system",
        "NODE": "n",
        "CPU_REQUESTS": "250",
        "MEMORY_LIMIT": str(2**30),
    }


@pytest.mark.parametrize(("quantity", "whole"), [("2", "2"), ("1500m", "2"), ("0.5", "1")])
def test_a_quantity_is_rounded_up_to_its_unit(quantity, whole):
    env = [{"name": "CPU", "valueFrom": of_resource("requests.cpu", "1")}]
    assert environment_of(POD, {"resources": {"requests": {"cpu": quantity}}, "env": env}) == {"CPU": whole}


def test_a_pod_of_another_version_has_no_program(tmp_path, monkeypatch):
    monkeypatch.setattr("local.kubernetes.karpenter.controllers.built_controller", lambda: tmp_path)

    with pytest.raises(OutsideFailed, match=rf"no Karpenter 1\.9\.3: the embedded cloud has {VERSION}"):
        started(tmp_path, f"{IMAGE}:1.9.3@sha256:abc")


def test_without_a_build_a_pod_has_no_program(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    with pytest.raises(OutsideFailed, match="no Karpenter: `make karpenter` builds its controller"):
        started(tmp_path, f"{IMAGE}:{VERSION}")


def started(folder, image: str):
    authority = Authority("nobody").pem.decode()
    kubernetes = KubernetesApi("https://127.0.0.1:1", authority)
    made = Controllers(kubernetes, authority, folder, machine={}, credentials=lambda *_: {})
    return made.start(POD, {"image": image}, print, lambda: None)
