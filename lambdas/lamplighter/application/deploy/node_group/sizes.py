"""The sizes that CloudFormation writes to a pool's node group, where the same deploy replaces its nodes or not.

CloudFormation does not do both in one update of a node group. So where a deploy replaces the nodes as well, the
bounds are written here, and CloudFormation is told the sizes that it was told last: to it, they did not change.
It is told the new ones at the next deploy that changes the pool and replaces nothing.

How many nodes a pool has is asked of the group itself: the failsafe's second rail and the curfew write to it, and EKS
keeps the size from before.
"""

import re
from collections.abc import Mapping

from lamplighter import clock
from lamplighter.adapters.capacity.node_group.autoscaling import AutoScaling
from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups
from lamplighter.application.deploy.response import CloudFormationResponse
from lamplighter.domain.capacity.node_group.evidence import NodeGroup
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.reason import Said, Sentences, reason

# A change of these properties replaces nodes.
REPLACING = ("LaunchTemplateVersion", "KubernetesVersion")
# An update of sizes takes 10 to 30 s; the function has four minutes.
LOOK_SECONDS = 5.0
LOOKS = 36
_TOLD = re.compile(r".* at (\d+) of (\d+)")

Properties = Mapping[str, str]


def present_size(found: NodeGroup) -> int:
    """The number of nodes that the node group asks for now."""
    group = AutoScaling().group_of(found.cluster, found.name)
    return group.size if group else found.desired


def sizes(
    now: Properties, before: Properties | None, known: str | None, request: str
) -> CloudFormationResponse:
    """The sizes for CloudFormation; the physical id contains them, for the next deploy.

    `before` are the properties that are deployed, None at a first deploy. `request` is CloudFormation's id of it: the
    same where it is delivered twice.
    """
    wanted = (int(now["DesiredSize"]), int(now["MaxSize"]))
    told = _TOLD.fullmatch(known or "")
    replaces = before is not None and any(before.get(key) != now.get(key) for key in REPLACING)
    if not told:
        return _answer(now, wanted)
    before_that = (int(told[1]), int(told[2]))
    answer = before_that if replaces else wanted
    if answer == before_that:
        # CloudFormation sends EKS no sizes.
        changes = before is None or before.get("MaxSize") != now["MaxSize"]
        _write(NodeGroups(now["Cluster"]), now["Nodegroup"], wanted[1], token=request if changes else None)
    return _answer(now, answer)


def _answer(now: Properties, told: tuple[int, int]) -> CloudFormationResponse:
    desired, most = told
    name = f"sizes-of-{now['Cluster']}/{now['Nodegroup']} at {desired} of {most}"
    return CloudFormationResponse(name, data={"DesiredSize": str(desired), "MaxSize": str(most)})


def _write(nodegroups: NodeGroups, name: str, most: int, *, token: str | None) -> None:
    """Brings the group to its new maximum, and waits for EKS, which replaces no node before that.

    No more and no fewer nodes than are asked for now. With a token the group may have the maximum from this request,
    delivered before: EKS names that update again, and it is waited for.
    """
    found = nodegroups.read(name)
    if found is None or (found.maximum == most and token is None):
        return
    update: str = ""
    why: Said = reason("deploy.update-not-begun")
    for _ in range(LOOKS):
        try:
            # It is read anew each time: the update that keeps EKS busy may bring the group to zero.
            update = update or _bound(nodegroups, found, most, token)
        except TryLater as busy:
            why = busy.said
        else:
            now = nodegroups.update(name, update)
            why = (
                Sentences(tuple(now.errors)) if now.errors else reason("deploy.update-is", status=now.status)
            )
            if not now.in_progress:
                break
        clock.sleep(LOOK_SECONDS)
    if not update or now.failed or now.in_progress:
        call, subject = "eks:UpdateNodegroupConfig", f"{nodegroups.cluster}/{name}"
        raise OutsideFailed(
            reason("deploy.update-failed", call=call, subject=subject, most=most, reason=why), call, subject
        )


def _bound(nodegroups: NodeGroups, found: NodeGroup, most: int, token: str | None) -> str:
    desired = present_size(found)
    return nodegroups.bound(found.name, max(most, desired), desired, token)
