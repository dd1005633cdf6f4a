"""What a deploy makes of a pool is what Karpenter's own definitions take: they have rules beside their schema."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamplighter.lab.model import Lab
from stacks.assembly import synth
from tests.local.cluster.node_pools.conftest import Cluster

pytestmark = pytest.mark.long

POOLS: dict[str, object] = {
    "plain": {"kind": "karpenter"},
    "rocket": {"kind": "karpenter", "image": "bottlerocket@v1.42.0", "packages": [], "zone_index": 2},
    "bare": {"kind": "karpenter", "taints": [{"key": "a"}], "packages": [], "metadata_hop_limit": 1},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The NodePools and node classes of a lab, with values of a deploy where a template has references."""
    lab = Lab.model_validate({"name": "demo", "cluster": {"karpenter": {}}, "pools": POOLS})
    folder: Path = synth(lab, tmp_path_factory.mktemp("assembly") / "out")
    template = json.loads((folder / "demo-cluster.template.json").read_text("utf-8"))
    return [
        each
        for resource in template["Resources"].values()
        if resource["Type"] == "Custom::AWSCDK-EKS-KubernetesResource"
        for each in json.loads("".join(_deployed(resource["Properties"]["Manifest"])))
        if each["kind"] in {"NodePool", "EC2NodeClass"}
    ]


def _deployed(manifest: object) -> Iterator[str]:
    for part in [manifest] if isinstance(manifest, str) else manifest["Fn::Join"][1]:  # type: ignore[index]
        if isinstance(part, str):
            yield part
        elif "Replicas" in str(part):
            yield "1"
        else:
            kind = re.sub(r"[^a-z]", "", str(part).lower())
            yield {"subnet": "subnet-0a", "security": "sg-0a"}.get(
                next((word for word in ("subnet", "security") if word in kind), ""), "any"
            )


def test_the_definitions_take_every_object(
    cluster: Cluster, definitions: None, made: list[dict[str, Any]]
) -> None:
    assert {(each["kind"], each["metadata"]["name"]) for each in made} == {
        (kind, f"demo-{pool}") for kind in ("NodePool", "EC2NodeClass") for pool in POOLS
    }

    for each in made:
        done = cluster.run("create", "--dry-run=server", "--validate=strict", "-f", "-", sent=each)
        assert done.returncode == 0, done.stderr
