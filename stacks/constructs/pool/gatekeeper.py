"""The function of the cluster stack's deploy steps: edits, present sizes, and the gate before a change.

It runs the controller's deploy code with permissions of its own. It reads node groups and leases, and writes only
deploy marks and a pool's new bounds; where a NodePool goes, it takes the failsafe's lock off. It has the ledger's name
and no reference: at a first deploy there is no ledger.
"""

from aws_cdk import Duration
from constructs import Construct

from lamplighter.lab.model import Lab
from stacks.constructs.cluster.control_plane import cluster_log_group
from stacks.constructs.functions.functions import Function, FunctionCode
from stacks.constructs.functions.permissions import Permissions
from stacks.names import Names


def gatekeeper(
    scope: Construct, construct_id: str, *, lab: Lab, names: Names, code: FunctionCode
) -> Function:
    """The function, named `<lab>-gatekeeper`."""
    permissions = Permissions(lab, names)
    return Function(
        scope,
        construct_id,
        name="gatekeeper",
        handler="deploy",
        names=names,
        code=code,
        environment={},
        permissions=[
            *permissions.capacity.bounding(),
            permissions.reading_node_groups(),
            *permissions.seeing_groups(),
            permissions.reading_the_ledger(),
            permissions.marking_deploys(),
            permissions.reading_zones(),
            *permissions.seeing_reservations(),
            *permissions.removing_logs(cluster_log_group(lab.cluster_name)),
            permissions.reaching_the_cluster(),
        ],
        description="At a deploy: the size a pool has, and whether its leases let it be changed",
        memory_mib=256,
        timeout=Duration.minutes(4),
        # CloudFormation gives up before that and reports it, so the stack needs no queue.
        events_good_for=Duration.minutes(5),
    )
