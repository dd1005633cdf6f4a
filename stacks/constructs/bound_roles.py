"""Gives roles the permissions boundary that an organisation demands.

A role has one boundary. The roles to which the failsafe writes, and its own, keep that of the lab: without it the lock
could say anything. The CDK's PermissionsBoundary would replace it.
"""

import jsii
from aws_cdk import CfnResource, IAspect
from aws_cdk import aws_iam as iam
from constructs import IConstruct


@jsii.implements(IAspect)
class BoundRoles:
    """Visits every role of the app, also those that the CDK makes for functions of its own."""

    def __init__(self, arn: str) -> None:
        self._arn = arn

    def visit(self, node: IConstruct) -> None:
        """Called by the CDK for each construct."""
        if not isinstance(node, CfnResource) or node.cfn_resource_type != iam.CfnRole.CFN_RESOURCE_TYPE_NAME:
            return
        if not isinstance(node, iam.CfnRole) or node.permissions_boundary is None:
            node.add_property_override("PermissionsBoundary", self._arn)
