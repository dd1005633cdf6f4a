"""The function that keeps the namespaces of classes. Only a lab with a class has it.

Its rights in the cluster are in lamplighter.domain.classes.access; in AWS it reads the ledger.
"""

from aws_cdk import Duration
from constructs import Construct

from lamplighter.domain.classes.target import classes
from lamplighter.lab.model import Lab
from stacks.constructs.functions.functions import Function, FunctionCode
from stacks.constructs.functions.permissions import Permissions
from stacks.names import Names

MIB = 512
"""It works while nodes boot or before they are drained: nobody waits for it."""


def class_function(
    scope: Construct, *, lab: Lab, names: Names, code: FunctionCode, permissions: Permissions
) -> Function | None:
    """The function; None for a lab without a class."""
    if not classes(lab):
        return None
    return Function(
        scope,
        "Classes",
        name="classes",
        handler="classes",
        names=names,
        code=code,
        environment={},
        permissions=[permissions.reading_the_ledger(), permissions.reaching_the_cluster()],
        description="Classes: namespaces with the quota of their seats, for the people of a class",
        memory_mib=MIB,
        timeout=Duration.minutes(2),
    )
