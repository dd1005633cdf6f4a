"""A lab's launch bar and rights, applied as a deploy applies them, and kubectl as one of the lab's functions."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.capacity.node_pool import access, launch_bar
from lamplighter.lab.model import Lab
from local.clock import VirtualClock
from stacks.manifests import RBAC, documents
from tests.local.cluster.lab import await_true

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


@dataclass
class Cluster:
    """kubectl as the cluster's administrator, or as a member of a group of ours."""

    kubectl: Path
    kubeconfig: Path
    clock: VirtualClock

    def run(self, *arguments: str, sent: object = None, group: str | None = None) -> Done:
        """Runs kubectl with a document on its standard input."""
        whom = ["--as", f"one-of-{group.partition(':')[2]}", "--as-group", group] if group else []
        command = [str(self.kubectl), "--kubeconfig", str(self.kubeconfig), *whom, *arguments]
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

    def create(self, claim: dict[str, Any], *, group: str | None = None, dry: bool = True) -> Done:
        """Asks for a claim."""
        return self.run("create", "-f", "-", *(["--dry-run=server"] if dry else []), sent=claim, group=group)

    def until(self, pool: str, instant: str | None) -> None:
        """Moves a pool's bar."""
        patch = json.dumps({"data": {"notAfter": instant} if instant else None})
        done = self.run(*("patch", "configmap", pool, "-n", "lamplighter", "--type=merge", "-p", patch))
        assert done.returncode == 0, done.stderr


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
    return Cluster(tools / "kubectl" / "kubectl", kubeconfig, clock)


@pytest.fixture(scope="package")
def installed(cluster: Cluster, definitions: None) -> Cluster:
    """The lab's bar and rights are in force: the API server needs a moment to know a policy's parameters."""
    for objects in (documents(RBAC), access.documents(LAB), launch_bar.documents(LAB)):
        done = cluster.apply(objects)
        assert done.returncode == 0, done.stderr
    for pool, node_pool in (("demo-gpu", "demo-gpu"), ("demo-big", "their-big")):
        asked = claim(node_pool)
        await_true(lambda: cluster.create(asked).returncode != 0, "the launch bar acts")  # noqa: B023
        cluster.until(pool, "2999-01-01T00:00:00Z")
        await_true(lambda: cluster.create(asked).returncode == 0, "the launch bar reads its parameter")  # noqa: B023
    return cluster


@pytest.fixture
def barred(installed: Cluster):
    """No pool has a lease, and there is no claim."""
    for pool in ("demo-gpu", "demo-big"):
        installed.apply([one for one in launch_bar.documents(LAB) if one["kind"] == "ConfigMap"])
        installed.until(pool, None)
    await_true(lambda: "no lease" in installed.create(claim()).stderr, "the launch bar is shut")
    yield installed
    installed.run("delete", "nodeclaims", "--all", "--wait=false")
