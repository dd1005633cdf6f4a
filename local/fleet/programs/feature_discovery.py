"""The programs of Node Feature Discovery in the device-plugin chart: worker, master, garbage collector, prune.

A worker writes what it finds on its node into a NodeFeature object. The master makes the labels of the node from it,
so a node without a running worker has none, and without a master no node gets any. The operator's replacement chart
has no such objects; operator.py plays its worker.
"""

from collections.abc import Callable, Generator, Mapping

from local.fleet import timings
from local.fleet.coroutines import Pause, Until
from local.fleet.gpus.gpu_labels import pci_labels
from local.fleet.interfaces import Container
from local.fleet.world import World, labels

Program = Generator[Pause, None, int]
NAME = "node-feature-discovery"
_NAMED = "app.kubernetes.io/name"
_API = "nfd.k8s-sigs.io/v1alpha1"
_NODE_NAME = "nfd.node.kubernetes.io/node-name"
_MANAGER = "nfd-worker"


def find(metadata: Mapping[str, str]) -> Callable[[Container], Program] | None:
    """The program of a container in one of the chart's NFD pods, by the pod's labels; None for any other pod."""
    published = "app.kubernetes.io/instance" in metadata
    return _PROGRAMS.get(metadata.get("role", "")) if published and metadata.get(_NAMED) == NAME else None


def _work(container: Container) -> Program:
    """Reads the PCI bus, and the file of GPU feature discovery, again whenever that file changes."""
    kubelet = container.pod.kubelet
    while True:
        yield kubelet.delay(timings.DISCOVER, "features")
        found = pci_labels(kubelet.hardware) | kubelet.feature_file
        _write(container, found)
        container.say(f"feature discovery completed, {len(found)} labels")
        yield Until(lambda found=found: found != pci_labels(kubelet.hardware) | kubelet.feature_file)  # type: ignore[misc]


def _write(container: Container, found: dict[str, str]) -> None:
    world, node, namespace = container.pod.world, container.pod.kubelet.name, container.pod.namespace
    body = {
        "apiVersion": _API,
        "kind": "NodeFeature",
        "metadata": {"name": node, "namespace": namespace, "labels": {_NODE_NAME: node}},
        "spec": {
            "labels": found,
            "features": {kind: {} for kind in ("flags", "attributes", "instances")},
        },
    }
    world.api.apply(f"{_collection(namespace)}/{node}", body, _MANAGER)
    world.node_features[node] = found
    world.coroutines.look_again()


def _label(container: Container) -> Program:
    """The master: it writes the labels of every node whose NodeFeature has changed."""
    world = container.pod.world
    written: dict[str, Mapping[str, str]] = {}
    while True:
        yield Until(lambda: written != world.node_features)
        yield world.timings.of(timings.DISCOVER, "nfd-master")
        for node in written.keys() - world.node_features.keys():
            del written[node]
        for node, found in list(world.node_features.items()):
            if written.get(node) != found:
                gone = dict.fromkeys(written.get(node, {}).keys() - found.keys())
                world.api.merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": gone | dict(found)}})
                container.say(f'node updated nodeName="{node}"')
                written[node] = found


def _collect(container: Container) -> Program:
    """The garbage collector: it deletes the NodeFeature of a node that is gone."""
    world = container.pod.world
    while True:
        yield Until(lambda: bool(_left_over(world)))
        for node in _left_over(world):
            world.api.delete(f"{_collection(container.pod.namespace)}/{node}")
            del world.node_features[node]
        world.coroutines.look_again()


def _left_over(world: World) -> list[str]:
    return [node for node in list(world.node_features) if world.nodes.find("", node) is None]


def _prune(container: Container) -> Program:
    """The hook at the end of the release: no node keeps a label of discovery."""
    world = container.pod.world
    yield world.timings.of(timings.DISCOVER, "nfd-prune")
    for node in world.nodes.all():
        gone = {
            label: None
            for label in labels(node)
            if label in world.node_features.get(node["metadata"]["name"], {})
        }
        if gone:
            world.api.merge(f"/api/v1/nodes/{node['metadata']['name']}", {"metadata": {"labels": gone}})
    return 0


def _collection(namespace: str) -> str:
    return f"/apis/{_API}/namespaces/{namespace}/nodefeatures"


_PROGRAMS: dict[str, Callable[[Container], Program]] = {
    "worker": _work,
    "master": _label,
    "gc": _collect,
    "prune": _prune,
}
