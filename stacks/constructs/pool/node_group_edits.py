"""The properties of each node group, which the first step of a deploy compares with the deployed ones.

EKS changes them by two calls (lamplighter.domain.capacity.node_group.edit). For each call there is a digest of what
CloudFormation would send, and the keys of lab.yaml that it comes from.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from lamplighter.domain.capacity.node_group.edit import Keys, NodeGroupSides, Side
from lamplighter.lab.model import Lab
from stacks.constructs.pool.node_group import LaunchTemplate, NodeGroupSpec

REPLACING = ("disk_gib", "instance_type", "max_pods", "metadata_hop_limit", "packages", "update_packages")
SETTINGS = ("labels", "taints")
SIZES = ("max_nodes", "min_nodes", "nodes")


def sides(
    lab: Lab, spec: NodeGroupSpec, template: LaunchTemplate, *, pool: str | None = None, desired: int = 0
) -> NodeGroupSides:
    """Both sides of one group. A pool has no sizes here, because another step writes them."""
    part = f"pools.{pool}" if pool else "cluster.system_nodes"
    owner = lab.pools[pool] if pool else lab.cluster.system_nodes
    given: Mapping[str, object] = owner.model_dump(mode="json")
    cluster = {
        "cluster.kubernetes_version": lab.cluster.kubernetes_version,
        "cluster.workload_identity": lab.cluster.workload_identity,
    }
    bounds = [] if pool else [spec.min_size, spec.max_size, desired]
    sent = [dict(spec.labels), list(map(asdict, spec.taints)), dict(spec.tags), spec.update_strategy]
    return NodeGroupSides(
        replacing=Side(
            _digest([spec.kubernetes_version, template.resolved]),
            {**_keys(part, given, REPLACING), **cluster},
        ),
        settings=Side(
            _digest([bounds, sent, lab.tags]),
            {**_keys(part, given, SETTINGS if pool else (*SETTINGS, *SIZES)), "tags": _text(lab.tags)},
        ),
    )


def written(groups: Mapping[str, NodeGroupSides]) -> str:
    """All sides as one text, the property of the step."""
    return json.dumps({name: asdict(group) for name, group in groups.items()}, sort_keys=True)


def _keys(part: str, given: Mapping[str, object], names: Sequence[str]) -> Keys:
    return {f"{part}.{name}": _text(given[name]) for name in names if name in given}


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _digest(value: object) -> str:
    return hashlib.sha256(_text(value).encode()).hexdigest()[:16]
