"""The deploy step that tries the launch bar: the API server must refuse a claim of each pool, as a dry run."""

from aws_cdk import CustomResource
from constructs import Construct

from lamplighter.domain.capacity.node_pool import launch_bar
from lamplighter.lab.model import Lab
from stacks.constructs.deploy_steps import deploy_step
from stacks.constructs.functions.functions import Function
from stacks.constructs.pool.node_pool.digest import digest


def launch_bar_step(scope: Construct, lab: Lab, *, cluster_name: str, function: Function) -> CustomResource:
    """The step; a deploy that changes the lab asks it again."""
    return deploy_step(
        scope,
        "BarTried",
        kind="LaunchBar",
        function=function,
        properties={
            "Cluster": cluster_name,
            "Pools": ",".join(lab.pools_with("launch bar")),
            "Digest": digest(scope, launch_bar.documents(lab), lab.to_json()),
        },
    )
