"""Pool views with the sizes that EKS has now. A caller without rights in EKS shows the ledger alone."""

from collections.abc import Iterable
from dataclasses import replace

from lamplighter.adapters.aws.capacity.nodegroups import NodeGroups
from lamplighter.adapters.aws.view_reading import ViewReading
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.lab.model import Lab


def with_sizes(lab: Lab, reading: ViewReading, pools: Iterable[str]) -> list[PoolView]:
    """The named pools; a pool whose node group does not exist has size 0."""
    node_groups = NodeGroups(lab.cluster_name)
    views = []
    for name in pools:
        node_group = node_groups.read(lab.nodegroup_name(name))
        views.append(replace(reading.pool(name), desired=node_group.desired if node_group else 0))
    return views
