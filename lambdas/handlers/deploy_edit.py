"""The first step of a deploy of the cluster: refuse what EKS would refuse halfway, before anything is changed."""

import hashlib
import json

from lamplighter.domain.node_group_edit import NodeGroupSides, Side, two_deploys
from lamplighter.errors import Refused


def checked(groups: str, before: str | None, known: str | None) -> str:
    """The physical id of node groups that a deploy may bring; Refused where it takes two deploys.

    `groups` and `before` are JSON, by group its two sides; `known` is the id that CloudFormation has. An edit that
    was refused keeps the id it had, so that the way back from it is no edit.
    """
    name = f"edit-{hashlib.sha256(groups.encode()).hexdigest()[:16]}"
    if before is None or known == name:
        return name
    found = two_deploys(read(before), read(groups))
    if found is not None:
        kept = f" and leave {_listed(found.then)} as before" if found.then else ""
        raise Refused(
            "EKS does not replace the nodes of a group and change its other settings in one update: "
            f"deploy {_listed(found.first)} first{kept}, then deploy the rest"
        )
    return name


def read(groups: str) -> dict[str, NodeGroupSides]:
    """The property of the step, by node group."""
    return {
        name: NodeGroupSides(Side(**group["replacing"]), Side(**group["settings"]))
        for name, group in json.loads(groups).items()
    }


def _listed(names: tuple[str, ...]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last
