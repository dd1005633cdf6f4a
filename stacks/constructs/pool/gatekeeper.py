"""The function behind the cluster stack's own deploy steps: edits, present sizes, and the gate before a change.

It is the controller's deploy code with permissions of its own: it reads node groups and leases, and writes
nothing but the marks of deploys and a pool's new bounds. The ledger is named, not referred to: at a first deploy
there is none yet.
"""

from aws_cdk import Duration
from constructs import Construct

from lamplighter.lab.model import Lab
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
            *permissions.bounding(),
            permissions.reading_system_nodes(),
            permissions.seeing_groups(),
            permissions.reading_the_ledger(),
            permissions.marking_deploys(),
        ],
        description="At a deploy: the size a pool has, and whether its leases let it be changed",
        memory_mib=256,
        timeout=Duration.minutes(4),
        # CloudFormation has given up by then, and says so itself: there is no queue in its stack.
        events_good_for=Duration.minutes(5),
    )
