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
from lamplighter.lab.types import Part
from stacks.constructs.nodes.node_group import LaunchTemplate
from stacks.constructs.nodes.spec import NodeGroupSpec

REPLACING = ("disk_gib", "instance_type", "max_pods", "metadata_hop_limit", "packages", "update_packages")
SETTINGS = ("labels", "taints")
SIZES = ("max_nodes", "min_nodes", "nodes")
# With an image of the user's, taints are in the user data (NodeGroupSpec.group_taints).
OF_OWN_IMAGE = ("image", "image_family", "taints")

OF_RESERVATION = ("buy", "reservation", "reservation_type")


def sides(
    lab: Lab,
    spec: NodeGroupSpec,
    template: LaunchTemplate,
    *,
    part: str,
    owner: Part,
    desired: int | None = None,
) -> NodeGroupSides:
    """Both sides of the group that the lab has at `part`. A pool's sizes are not here: another step writes them."""
    given: Mapping[str, object] = owner.model_dump(mode="json")
    cluster = {
        "cluster.kubernetes_version": lab.cluster.kubernetes_version,
        "cluster.workload_identity": lab.cluster.workload_identity,
    }
    replacing = (*REPLACING, *OF_OWN_IMAGE) if spec.custom else REPLACING
    # A lab from before these keys has none of them in its template.
    replacing = (*replacing, "efa") if spec.efa else replacing
    replacing = (*replacing, "instance_types") if spec.instance_types else replacing
    replacing = (*replacing, *OF_RESERVATION) if spec.reservation else replacing
    settings = [name for name in SETTINGS if name not in replacing]
    bounds = [] if desired is None else [spec.min_size, spec.max_size, desired]
    sent = [dict(spec.labels), list(map(asdict, spec.group_taints)), dict(spec.tags), spec.update_strategy]
    return NodeGroupSides(
        replacing=Side(
            _digest([spec.node_version, template.resolved]),
            {**_keys(part, given, replacing), **cluster},
        ),
        settings=Side(
            _digest([bounds, sent, lab.tags]),
            {
                **_keys(part, given, settings if desired is None else (*settings, *SIZES)),
                "tags": _text(lab.tags),
            },
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
