"""CloudFormation's custom resources: edits, present sizes, the gate, the currency, planning, and the last close.

Answers CloudFormation itself and never leaves it waiting: whatever goes wrong is answered with FAILED and
a one-line reason, which is what the person who deploys reads.
"""

import logging
import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from lamplighter import clock
from lamplighter.application.deploy import mark as deploy_mark
from lamplighter.application.deploy.answer import Answer, answer
from lamplighter.errors import BadInput, LamplighterError

_logger = logging.getLogger(__name__)

Event: TypeAlias = Mapping[str, object]


def handler(event: Event, _context: object) -> dict[str, object]:
    """Entry point: an event of CloudFormation, or `{"step": "Respond", "run"}` from the last close."""
    if "step" in event:
        return _respond(event)
    found: Answer | None
    try:
        found = _kind(event)(event)
    except LamplighterError as error:
        _logger.warning("CloudFormation is refused: %s", error)
        found = Answer(_known_as(event), reason=str(error))
    except Exception as error:  # CloudFormation would wait an hour for an answer that never comes
        _logger.exception("CloudFormation is told of an error of ours")
        found = Answer(_known_as(event), reason=f"{type(error).__name__}: {error}")
    if found is not None:
        answer(event, found)
    return {}


def _kind(event: Event) -> Callable[[Event], Answer | None]:
    kind = _properties(event).get("Kind", "")
    if kind not in KINDS:
        raise BadInput(f"Kind: there is no deploy step {kind!r}, there are {', '.join(KINDS)}")
    return KINDS[kind]


def _desired_size(event: Event) -> Answer:
    """What the node group has now, for CloudFormation to write it back; 0 where there is none yet.

    Nobody raises it from here on. What leases justify counts too: a node may be ordered at this moment.
    """
    from lamplighter.adapters.aws.nodegroups import NodeGroups  # noqa: PLC0415 -- on first use
    from lamplighter.application.deploy.sizes import present_size  # noqa: PLC0415 -- only here

    properties = _properties(event)
    cluster, nodegroup = properties["Cluster"], properties["Nodegroup"]
    name = f"size-of-{cluster}/{nodegroup}"
    if event["RequestType"] == "Delete":
        return Answer(name)
    pool = _pool_of(nodegroup) if event["RequestType"] == "Update" else None
    about_to_come = deploy_mark.justified(pool) if pool else 0
    found = NodeGroups(cluster).read(nodegroup)
    size = max(present_size(found), about_to_come) if found else 0
    return Answer(name, data={"DesiredSize": size})


def _edit(event: Event) -> Answer:
    """Fail an edit that EKS takes in two updates only, before anything is changed."""
    from lamplighter.application.deploy.edit import checked  # noqa: PLC0415 -- only here

    known = _known_as(event)
    if event["RequestType"] == "Delete":
        return Answer(known)
    groups = _properties(event)["Groups"]
    return Answer(checked(groups, (_before(event) or {}).get("Groups"), known))


def _sizes(event: Event) -> Answer:
    """What CloudFormation shall write of a pool's sizes."""
    from lamplighter.application.deploy.sizes import sizes  # noqa: PLC0415 -- only here

    known = _known_as(event)
    return (
        Answer(known)
        if event["RequestType"] == "Delete"
        else sizes(_properties(event), _before(event), known, str(event.get("RequestId", "")))
    )


def _version(event: Event) -> Answer:
    """The version of its launch template that a node group has from here on."""
    from lamplighter.application.deploy.version import version  # noqa: PLC0415 -- only here

    known, given = _known_as(event), event.get("ResourceProperties")
    if event["RequestType"] == "Delete" or not isinstance(given, Mapping):
        return Answer(known)
    return version(given, known)


def _node_role(event: Event) -> Answer:
    """The name of the nodes' role: the one that the group has, which EKS never changes, or a new group's.

    A group of another role would be another group, and its name is taken: roles of older releases keep theirs.
    """
    from lamplighter.adapters.aws.nodegroups import NodeGroups  # noqa: PLC0415 -- on first use

    properties = _properties(event)
    cluster, nodegroup = properties["Cluster"], properties["Nodegroup"]
    name = f"role-of-{cluster}/{nodegroup}"
    if event["RequestType"] == "Delete":
        return Answer(name)
    found = NodeGroups(cluster).read(nodegroup)
    return Answer(name, data={"RoleName": (found.role if found else "") or properties["New"]})


def _pool_of(nodegroup: str) -> str | None:
    from lamplighter.application.environment import lab  # noqa: PLC0415 -- only here

    return next((pool for pool in lab().pools if lab().nodegroup_name(pool) == nodegroup), None)


def _group(event: Event) -> Answer:
    """The Auto Scaling group behind a pool's node group, which only EKS can name."""
    from lamplighter.adapters.aws.autoscaling import AutoScaling  # noqa: PLC0415 -- on first use
    from lamplighter.adapters.aws.nodegroups import NodeGroups  # noqa: PLC0415

    properties = _properties(event)
    pool, cluster, nodegroup = properties["Pool"], properties["Cluster"], properties["Nodegroup"]
    name = f"group-of-{cluster}/{nodegroup}"
    if event["RequestType"] == "Delete":
        return Answer(name)
    found = NodeGroups(cluster).read(nodegroup)
    group = found.group if found and found.group else None
    if group is None:
        tagged = AutoScaling().group_of(cluster, nodegroup)
        group = tagged.name if tagged else None
    if group is None:
        raise BadInput(
            f"pool {pool}: node group {nodegroup} is not in cluster {cluster}, so its curfew has nothing to "
            "bring to zero; deploy when it is there, or leave the curfew out"
        )
    return Answer(name, data={"AutoScalingGroupName": group})


def _gate(event: Event) -> Answer:
    """Fail a change of a pool's own resources while somebody holds it, and keep it empty until they are changed.

    The physical id carries the digest that is deployed, so that a rollback to it is no change; and so that
    the id before, or on the way back the new one, is deleted as the deploy's last act: the pool is let go.
    """
    properties = _properties(event)
    pool = properties["Pool"]
    name = f"gate-{pool}-{properties['Digest']}"
    if event["RequestType"] == "Delete":
        deploy_mark.let_go(pool)
        return Answer(_known_as(event))
    if event["RequestType"] == "Create" or _known_as(event) == name:
        return Answer(name)
    deploy_mark.hold_still(pool, deploy_mark.Write.CHANGE)
    return Answer(name)


def _pools(event: Event) -> Answer:
    """Fail a deploy that takes a pool, or nodes of it, away from who holds them."""
    old = event.get("OldResourceProperties")
    had = str(old.get("Pools", "")) if isinstance(old, Mapping) else ""
    if event["RequestType"] == "Update":
        for pool in sorted(set(filter(None, had.split(","))) - set(_properties(event)["Pools"].split(","))):
            deploy_mark.hold_still(pool, deploy_mark.Write.TAKE_AWAY)
        most = _most(_properties(event))
        for pool, before in _most(old).items():
            if most.get(pool, before) < before:
                deploy_mark.refuse_fewer(pool, most[pool])
    return Answer("pools")


def _most(properties: object) -> dict[str, int]:
    """By pool how many nodes it may have; empty where an older deploy did not say."""
    said = str(properties.get("Most", "")) if isinstance(properties, Mapping) else ""
    return {pool: int(most) for pool, _, most in (each.partition("=") for each in said.split(",") if each)}


def _currency(event: Event) -> Answer:
    """Fail a deploy after which the ledger would have money in two currencies."""
    if event["RequestType"] != "Delete":
        from lamplighter.application.deploy.currency import refuse_another  # noqa: PLC0415 -- only here
        from lamplighter.application.environment import lab  # noqa: PLC0415

        old = event.get("OldResourceProperties")
        before = [{key: str(value) for key, value in old.items()}] if isinstance(old, Mapping) else []
        refuse_another(lab().pools, _properties(event), *before)
    return Answer("currency")


def _plan(event: Event) -> Answer:
    """Let the planner run to its end, so that changed windows are in force when the deploy is done.

    A first deploy fails where a pool's node group is not there or nobody knows its price: the name is wrong.
    """
    from lamplighter.adapters.aws.functions import Functions  # noqa: PLC0415 -- on first use

    known = _known_as(event)
    if event["RequestType"] == "Delete":
        return Answer(known)
    name = f"plan-{_properties(event)['Digest']}"
    # As with the gate: the way back to what is deployed is not refused.
    if known != name:
        _all_groups_are_reached()
    _may_open_again()
    planned = Functions().run(os.environ["PLANNER_FUNCTION_ARN"], {"source": "deploy"})
    unknown = planned.get("unknown")
    if event["RequestType"] == "Create" and isinstance(unknown, list) and unknown:
        raise BadInput("; ".join(map(str, unknown)))
    return Answer(name)


def _all_groups_are_reached() -> None:
    """An adopted pool whose Auto Scaling group our roles and rules do not name would have half a failsafe."""
    from lamplighter.adapters.aws.nodegroups import NodeGroups  # noqa: PLC0415
    from lamplighter.application.environment import lab  # noqa: PLC0415 -- only here

    for pool, settings in lab().pools.items():
        if settings.existing is None:
            continue
        found = NodeGroups(lab().cluster_name).read(settings.existing)
        if found is not None and found.group and not lab().reaches(pool, found.group):
            raise BadInput(
                f"pools.{pool}.auto_scaling_group: is {settings.auto_scaling_group or 'left out'}, and the Auto "
                f"Scaling group behind node group {settings.existing} is {found.group}: write that"
            )


def _swept(event: Event) -> Answer:
    """Let the guard sweep before the alarm on its silence is made."""
    if event["RequestType"] == "Create":
        from lamplighter.application.deploy.first_sweep import await_sweep  # noqa: PLC0415 -- only at a first deploy

        await_sweep()
    return Answer("swept")


def _may_open_again() -> None:
    """A retained ledger remembers the destroy before it: this deploy ends that."""
    from lamplighter.adapters.aws.ledger.ledger import Ledger  # noqa: PLC0415 -- on first use
    from lamplighter.application.environment import ENVIRONMENT  # noqa: PLC0415

    Ledger(ENVIRONMENT.ledger_table).end_last_close()


def _emptied(event: Event) -> Answer:
    """On deletion, empty the bucket of pages, which CloudFormation deletes only empty."""
    bucket = _properties(event)["Bucket"]
    if event["RequestType"] == "Delete":
        from lamplighter.adapters.aws.bucket import Bucket  # noqa: PLC0415 -- only at a destroy

        Bucket(bucket).empty()
    return Answer(f"pages-in-{bucket}")


def _last_closed(event: Event) -> Answer | None:
    """On deletion, hand over to the workflow that closes every pool; it answers, with proof or without."""
    if event["RequestType"] != "Delete":
        return Answer("last-closed")
    from lamplighter.application.deploy.last_close import start  # noqa: PLC0415 -- only at a destroy

    start(event, os.environ["LAST_CLOSE_ARN"])
    return None


def _respond(event: Event) -> dict[str, object]:
    from lamplighter.application.deploy.last_close import unproven  # noqa: PLC0415 -- only at a destroy

    run = event.get("run")
    asked = run.get("event") if isinstance(run, Mapping) else None
    if not isinstance(run, Mapping) or not isinstance(asked, Mapping):
        raise BadInput("run.event: Respond needs the event that CloudFormation sent")
    reason: str | None
    try:
        reason = unproven(run)
    except Exception as error:  # as in handler
        _logger.exception("the proof of the last close failed")
        reason = f"zero could not be proven: {error}"
    if reason is not None:
        _may_be_resumed()
    answer(asked, Answer(_known_as(asked), reason=reason))
    return {"zero": reason is None, "reason": reason}


def _may_be_resumed() -> None:
    """Nothing opens by itself after a destroy that failed, and people may say that it shall."""
    from lamplighter.adapters.aws.ledger.ledger import Ledger  # noqa: PLC0415 -- on first use
    from lamplighter.application.environment import ENVIRONMENT  # noqa: PLC0415

    try:
        Ledger(ENVIRONMENT.ledger_table).last_close_failed("cdk destroy", clock.now())
    except LamplighterError:
        _logger.exception("that the destroy failed is not written down; the answer counts more")


def _properties(event: Event) -> dict[str, str]:
    found = event.get("ResourceProperties")
    return {key: str(value) for key, value in found.items()} if isinstance(found, Mapping) else {}


def _before(event: Event) -> dict[str, str] | None:
    """The properties that are deployed; None where nothing is."""
    found = event.get("OldResourceProperties")
    return {key: str(value) for key, value in found.items()} if isinstance(found, Mapping) else None


def _known_as(event: Event) -> str:
    """The physical id that CloudFormation knows; one of ours for a resource that never came to be."""
    return str(event.get("PhysicalResourceId") or f"{event.get('LogicalResourceId', 'resource')}-not-created")


KINDS: Mapping[str, Callable[[Event], Answer | None]] = {
    "Edit": _edit,
    "DesiredSize": _desired_size,
    "Sizes": _sizes,
    "Version": _version,
    "NodeRole": _node_role,
    "Group": _group,
    "Gate": _gate,
    "Pools": _pools,
    "Currency": _currency,
    "Plan": _plan,
    "Swept": _swept,
    "Emptied": _emptied,
    "LastClosed": _last_closed,
}
