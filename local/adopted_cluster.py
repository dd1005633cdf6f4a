"""The cluster that a lab adopts, as if somebody else had made it.

On AWS it exists already. Here it is our own cluster stack, with their names and without our tag. So it has everything
that a lab may find in a cluster: system nodes, the GPU Operator, Karpenter, EKS Auto Mode. The caller makes its
NodePools.
"""

import json
from pathlib import Path
from typing import Any

from lamplighter.lab.model import Lab
from local.assembly import Assembly, synthesise
from local.stack_template import StackTemplate

#: The resources of a pool's group if the lab leaves them to AWS.
GROUP = {"instance_type": "g5.xlarge", "max_nodes": 2}


def older_groups(lab: Lab) -> dict[str, str]:
    """By adopted node group, its Auto Scaling group, if the lab names it differently from EKS."""
    return {
        pool.existing: pool.auto_scaling_group
        for pool in lab.pools.values()
        if pool.existing and pool.auto_scaling_group
    }


def made_by_others(lab: Lab, work: Path) -> tuple[Assembly, StackTemplate] | None:
    """The assembly and stack of the cluster that a lab adopts; None for a lab that makes its own cluster."""
    cluster = lab.cluster.existing
    if cluster is None:
        return None
    pools: dict[str, dict[str, Any]] = {
        name: {key: getattr(pool, key) or value for key, value in GROUP.items()}
        for name, pool in lab.pools.items()
        if pool.has("group")
    }
    theirs: dict[str, Any] = {"name": cluster, "region": lab.region, "pools": pools or {"group": GROUP}}
    if lab.cluster.karpenter is not None:
        # Karpenter comes with a NodePool, whose class of nodes the caller's NodePools may name.
        theirs |= {"cluster": {"karpenter": {}}, "pools": pools | {"group": {**GROUP, "kind": "karpenter"}}}
    if lab.cluster.has_auto_mode:
        theirs["cluster"] = {"auto_mode": {"enabled": True}}
    path = work / "existing.yaml"
    path.write_text(json.dumps(theirs), "utf-8")
    assembly = synthesise(path)
    ours = next(stack for stack in assembly.stacks() if stack.name.endswith("-cluster"))
    text = ours.text
    for name, pool in lab.pools.items():
        if pool.existing and pool.has("group"):
            text = text.replace(f'"{cluster}-ng-{name}"', json.dumps(pool.existing))
            # Part of the ARNs of policies.
            text = text.replace(f"/{cluster}-ng-{name}/", f"/{pool.existing}/")
    return assembly, StackTemplate(f"{cluster}-of-somebody-else", text, {})
