"""A lab's launch bar and rights, applied by kubectl as a deploy applies them, and claims as one of its functions."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.capacity.node_pool import access, launch_bar
from lamplighter.lab.model import Lab
from local.clock import VirtualClock
from local.kubernetes.api import ApiError, KubernetesApi
from local.kubernetes.control_plane import ControlPlane
from local.kubernetes.token_webhook import User
from stacks.manifests import RBAC, documents
from tests.local.cluster.functions import Functions
from tests.local.cluster.node_pool_port.stage import PATHS
from tests.steady.hang import await_value

VERSION = "1.14.3"
LAB = Lab.model_validate(
    {
        "name": "demo",
        "cluster": {"existing": "theirs", "karpenter": {"existing": True}},
        "guard": {"mode": "enforce"},
        "pools": {
            "gpu": {"kind": "karpenter", "existing": "demo-gpu", "price_per_hour": "1"},
            "big": {"kind": "karpenter", "existing": "their-big", "price_per_hour": "1"},
        },
    }
)
WATCHED = LAB.model_copy(update={"guard": LAB.guard.model_copy(update={"mode": "watch"})})

Done = subprocess.CompletedProcess[str]
MERGE = "application/merge-patch+json"


LATE = "2999-01-01T00:00:00Z"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"


class Members:
    """A token is a group, and whoever brings it is its member."""

    def user(self, token: str) -> User:
        return User(f"one-of-{token}", (token,))


@dataclass
class Cluster:
    """The API server for its administrator and for members of groups, and kubectl as the administrator."""

    kubectl: Path
    kubeconfig: Path
    control_plane: ControlPlane
    clock: VirtualClock

    def run(self, *arguments: str, sent: object = None) -> Done:
        """Runs kubectl with a document on its standard input."""
        command = [str(self.kubectl), "--kubeconfig", str(self.kubeconfig), *arguments]
        # kubectl keeps the definitions of resources in its cache in the home folder.
        environment = os.environ | {"HOME": str(self.kubeconfig.parent)}
        text = None if sent is None else json.dumps(sent)
        with self.clock.program():
            return subprocess.run(
                command, env=environment, input=text, capture_output=True, text=True, check=False
            )

    def apply(self, objects: list[dict[str, Any]]) -> Done:
        """As CDK's handler does."""
        return self.run("apply", "-f", "-", sent={"apiVersion": "v1", "kind": "List", "items": objects})

    @cached_property
    def kubernetes(self) -> KubernetesApi:
        return self.control_plane.admin()

    def member(self, group: str) -> KubernetesApi:
        return KubernetesApi(self.control_plane.endpoint, self.control_plane.ca_pem, token=group)

    def refusal(self, claim: dict[str, Any], *, group: str | None = None, dry: bool = True) -> str:
        """What the API server says against a claim that somebody asks for; nothing if it takes the claim."""
        client = self.member(group) if group else self.kubernetes
        return refusal_of(client, "POST", f"{CLAIMS}?dryRun=All" if dry else CLAIMS, claim)

    def await_admitted(self, claim: dict[str, Any], *, group: str | None = None) -> None:
        """The API server sees a change of a policy or of its parameter a moment later."""
        await_value(f"admitted: {claim['metadata']}", lambda: not self.refusal(claim, group=group))

    def await_refused(self, claim: dict[str, Any], why: str) -> None:
        await_value(f"refused, {why}: {claim['metadata']}", lambda: why in self.refusal(claim))

    def until(self, pool: str, instant: str | None) -> None:
        change = {"data": {"notAfter": instant} if instant is not None else None}
        assert self.kubernetes.merge(f"{PATHS['ConfigMap']}/{pool}", change)


def refusal_of(client: KubernetesApi, method: str, path: str, body: dict[str, Any] | None = None) -> str:
    """What the API server says against a request; nothing if it is done."""
    try:
        client.request(method, path, body, MERGE if method == "PATCH" else "application/json")
    except ApiError as error:
        return str(error)
    return ""


def claim(node_pool: str = "demo-gpu", name: str = "one", **spec: object) -> dict[str, Any]:
    """A claim as Karpenter makes it for a NodePool."""
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": node_pool}},
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "any"},
            "terminationGracePeriod": "10m",
            "requirements": [
                {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]}
            ],
            **spec,
        },
    }


@pytest.fixture(scope="package")
def cluster(tools, control_plane, seen_from_outside, clock, tmp_path_factory) -> Cluster:
    home = tmp_path_factory.mktemp("kubectl")
    kubeconfig = control_plane.admin_kubeconfig(home / "kubeconfig", seen_from_outside.endpoint)
    return Cluster(tools / "kubectl" / "kubectl", kubeconfig, control_plane, clock)


@pytest.fixture(scope="package")
def installed(cluster: Cluster, definitions: None) -> Cluster:
    """The lab's bar and rights are in force: the API server needs a moment to know a policy's parameters."""
    for objects in (documents(RBAC), access.documents(LAB), launch_bar.documents(LAB)):
        done = cluster.apply(objects)
        assert done.returncode == 0, done.stderr
    for pool, node_pool in (("demo-gpu", "demo-gpu"), ("demo-big", "their-big")):
        cluster.await_refused(claim(node_pool), "no lease")
        cluster.until(pool, LATE)
        cluster.await_admitted(claim(node_pool))
    return cluster


@pytest.fixture
def barred(installed: Cluster) -> Iterator[Cluster]:
    """No pool has a lease, and there is no claim."""
    installed.control_plane.authenticate_through(Members())
    for each in launch_bar.documents(LAB):
        if each["kind"] == "ConfigMap":
            name = str(each["metadata"]["name"])  # type: ignore[index]
            installed.kubernetes.create(PATHS["ConfigMap"], each)
            installed.until(name, None)
    for node_pool in ("demo-gpu", "their-big"):
        installed.await_refused(claim(node_pool), "no lease")
    yield installed
    installed.kubernetes.request("DELETE", CLAIMS)
    installed.control_plane.authenticate_through(Functions())
