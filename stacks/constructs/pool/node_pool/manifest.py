"""The NodePool of a pool: a static one, whose `replicas` are the pool's size.

In a lease its controller replaces no healthy node: no consolidation, a budget of no disruption at all, and a life that
is longer than any lease. Karpenter's defaults would replace a node under a lease
(https://karpenter.sh/v1.14/concepts/disruption/). No setting here prevents what EC2 takes away, or node repair, which
reads no budget. Node repair is on in EKS Auto Mode (https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html),
and off in the Karpenter that the lab installs.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from lamplighter.lab.model import Lab
from lamplighter.lab.pools import Taint
from stacks.constructs.pool.node_pool import auto_mode_node_class, ec2_node_class

NODE_CLASSES = {
    "karpenter": (ec2_node_class.GROUP, ec2_node_class.KIND),
    "auto-mode": (auto_mode_node_class.GROUP, auto_mode_node_class.KIND),
}
HAS_GPU = {"nvidia.com/gpu.present": "true"}
"""NVIDIA's device-plugin chart runs where a node has this label, or one of Node Feature Discovery."""


def node_pool(lab: Lab, pool: str, *, replicas: object) -> Mapping[str, object]:
    """The manifest; `replicas` is the size that the NodePool has at a deploy."""
    of_pool = lab.pools[pool]
    group, kind = NODE_CLASSES[of_pool.kind]
    name = lab.node_pool_name(pool)
    labels = {
        **of_pool.labels,
        **(HAS_GPU if lab.gpu_stack(pool) == "device-plugin" else {}),
        "lamplighter.pool": pool,
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/part-of": "lamplighter"}},
        "spec": {
            "replicas": replicas,
            "limits": {"nodes": str(of_pool.max_nodes)},
            "disruption": {"consolidateAfter": "Never", "budgets": [{"nodes": "0"}]},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeClassRef": {"group": group, "kind": kind, "name": name},
                    "requirements": _requirements(lab, pool),
                    "taints": [_taint(taint) for taint in of_pool.taints],
                    "expireAfter": _text(lab.node_life(pool)),
                    "terminationGracePeriod": _text(of_pool.last_grace),
                },
            },
        },
    }


def _requirements(lab: Lab, pool: str) -> list[Mapping[str, object]]:
    """Its types and zones: a static NodePool never gets another kind of node than the lab has a price for."""
    of_pool = lab.pools[pool]
    wanted: dict[str, Sequence[str]] = {
        "node.kubernetes.io/instance-type": of_pool.types,
        "karpenter.sh/capacity-type": ["on-demand"],
        "topology.kubernetes.io/zone": [lab.cluster.zones[index] for index in of_pool.zone_indexes],
        "kubernetes.io/arch": ["arm64" if "_ARM_" in of_pool.ami_type else "amd64"],
        "kubernetes.io/os": ["linux"],
    }
    return [{"key": key, "operator": "In", "values": [*values]} for key, values in wanted.items()]


def _taint(taint: Taint) -> Mapping[str, str]:
    """Karpenter's definition takes no empty value."""
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


def _text(duration: timedelta) -> str:
    """A duration as Karpenter reads it."""
    hours, seconds = divmod(int(duration.total_seconds()), 3600)
    minutes, seconds = divmod(seconds, 60)
    parts = {"h": hours, "m": minutes, "s": seconds}
    return "".join(f"{number}{unit}" for unit, number in parts.items() if number)
