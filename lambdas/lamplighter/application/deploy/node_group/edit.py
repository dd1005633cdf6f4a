"""The first step of a deploy of the cluster: refuses a deploy that would fail halfway, before anything changes.

Halfway is too late: a control plane with a newer version cannot go back.
"""

import hashlib
import json
from collections.abc import Collection, Iterator

from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups
from lamplighter.application.deploy import mark as deploy_mark
from lamplighter.application.environment import lab
from lamplighter.domain.capacity.node_group.edit import NodeGroupSides, Side, two_deploys
from lamplighter.errors import Refused
from lamplighter.reasons.reason import reason


def checked(groups: str, before: str | None, known: str) -> str:
    """The physical id of the node groups that a deploy would make. Raises Refused if EKS or a lease forbids it.

    `groups` and `before` are JSON, by group its two sides; `known` is the id that CloudFormation has. The id says what
    is deployed and what was before: on its way back CloudFormation asks for that again, and leases that came since do
    not keep it from going.
    """
    now, then = _digest(groups), _digest(before) if before else "nothing"
    if before is None or known.startswith(f"edit-{now}-"):
        return known if known.startswith("edit-") else f"edit-{now}-after-{then}"
    old, new = read(before), read(groups)
    found = two_deploys(old, new)
    if found is not None:
        if found.then:
            raise Refused(reason("deploy.two-deploys", first=found.first, then=found.then))
        raise Refused(reason("deploy.one-group-twice", groups=found.first))
    if known.endswith(f"-after-{now}"):
        return f"edit-{now}-after-nothing"
    _refuse_other_images(old.keys() & new.keys())
    for pool in lab().pools:
        group = lab().nodegroup_name(pool)
        if group in old and group in new and old[group] != new[group]:
            deploy_mark.refuse_change(pool)
    return f"edit-{now}-after-{then}"


def _refuse_other_images(staying: Collection[str]) -> None:
    """Raises Refused for a group whose image type the lab changes: it would be a new group, and its name is taken.

    CloudFormation finds that out only after the control plane has its new version.
    """
    nodegroups = NodeGroups(lab().cluster_name)
    for name, wanted in _images():
        found = nodegroups.read(name) if name in staying else None
        if found is not None and found.ami_type not in {"", wanted}:
            raise Refused(reason("deploy.other-image", group=name, image=found.ami_type, wanted=wanted))


def _images() -> Iterator[tuple[str, str]]:
    """The image type of each group that the lab creates."""
    cluster = lab().cluster
    yield f"{lab().name}-ng-1", cluster.system_nodes.ami_type
    for name, group in cluster.node_groups.items():
        yield lab().always_on_name(name), group.ami_type
    for name, pool in lab().pools.items():
        if pool.existing is None:
            yield lab().nodegroup_name(name), pool.ami_type


def read(groups: str) -> dict[str, NodeGroupSides]:
    """Reads the property of the step, by node group."""
    return {
        name: NodeGroupSides(Side(**group["replacing"]), Side(**group["settings"]))
        for name, group in json.loads(groups).items()
    }


def _digest(groups: str) -> str:
    return hashlib.sha256(groups.encode()).hexdigest()[:16]
