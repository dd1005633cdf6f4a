"""The sizes that CloudFormation writes to a pool's node group, where the same deploy replaces its nodes or not.

CloudFormation does not do both in one update of a node group. So where a deploy replaces the nodes as well, the
bounds are written here, and CloudFormation is told the sizes that it was told last: to it, they did not change.
It is told the new ones at the next deploy that changes the pool and replaces nothing.
"""

import re
from collections.abc import Mapping

from handlers.deploy_answer import Answer
from lamplighter import clock
from lamplighter.adapters.aws.autoscaling import AutoScaling
from lamplighter.adapters.aws.nodegroups import NodeGroups
from lamplighter.errors import OutsideFailed

# What replaces nodes, as CloudFormation sees it.
REPLACING = ("LaunchTemplateVersion", "KubernetesVersion")
# An update of sizes takes 10 to 30 s; the function has four minutes.
LOOK_SECONDS = 5.0
LOOKS = 36
_TOLD = re.compile(r".* at (\d+) of (\d+)")

Properties = Mapping[str, str]


def sizes(now: Properties, before: Properties | None, known: str | None) -> Answer:
    """What to tell CloudFormation; the physical id carries it, for the next time.

    `before` are the properties that are deployed, None at a first deploy.
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
        _write(NodeGroups(now["Cluster"]), now["Nodegroup"], wanted[1])
    return _answer(now, answer)


def _answer(now: Properties, told: tuple[int, int]) -> Answer:
    desired, most = told
    name = f"sizes-of-{now['Cluster']}/{now['Nodegroup']} at {desired} of {most}"
    return Answer(name, data={"DesiredSize": desired, "MaxSize": most})


def _write(nodegroups: NodeGroups, name: str, most: int) -> None:
    """Bring the group to its new maximum, and wait for EKS, which replaces no node before that.

    No more and no fewer nodes than are asked for of the group itself: the failsafe's second rail and the curfew write
    to it, and EKS keeps the size from before.
    """
    found = nodegroups.read(name)
    if found is None or found.maximum == most:
        return
    group = AutoScaling().group_of(nodegroups.cluster, name)
    desired = group.desired if group else found.desired
    update = nodegroups.bound(name, max(most, desired), desired)
    for _ in range(LOOKS):
        now = nodegroups.update(name, update)
        if not now.in_progress:
            break
        clock.sleep(LOOK_SECONDS)
    if now.failed or now.in_progress:
        why = "; ".join(now.errors) or f"it is {now.status}"
        raise OutsideFailed(
            f"eks:UpdateNodegroupConfig on {nodegroups.cluster}/{name}, maximum {most}: {why}"
        )
