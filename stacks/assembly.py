"""Makes the cloud assembly of one lab: its stacks, their order and their tags.

app.py, the embedded cloud and the tests all build stacks here.
"""

import json
import os
from pathlib import Path

from aws_cdk import App, Aspects, Stack, Tags

from lamplighter.lab.model import Lab
from lamplighter.values.lab_tag import LAB_TAG
from stacks.cluster_stack import ClusterStack
from stacks.constructs.bound_roles import BoundRoles
from stacks.constructs.functions.log_retention import KeepLogsShort
from stacks.controller_stack import ControllerStack
from stacks.layer import CHECKOUT
from stacks.names import Names

DEFAULT_LAB = "lab.yaml"
REPLACES_BOUNDARIES = "@aws-cdk/core:permissionsBoundary"
"""The CDK's key for a boundary: it has no regard for one that a role has."""


def lab_path(named: str | None) -> str:
    """The lab file that was named, or the one of the CDK's `-c lab=FILE`, or lab.yaml."""
    if named is not None:
        return named
    context: dict[str, str] = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))
    return context.get("lab", DEFAULT_LAB)


def refused_context() -> str | None:
    """Why the CDK's context cannot be used; None if it can."""
    settings = json.loads((CHECKOUT / "cdk.json").read_text("utf-8"))
    given = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))
    if REPLACES_BOUNDARIES not in {**settings["context"], **given}:
        return None
    return (
        f"context: {REPLACES_BOUNDARIES} replaces the boundaries that the failsafe needs;"
        " remove it, and write permissions_boundary in the lab file"
    )


def synth(lab: Lab, out: Path) -> Path:
    """Write the cloud assembly of a lab into a folder and return the folder. No network, no credentials."""
    build(lab, out).synth()
    return out


def build(lab: Lab, out: Path) -> App:
    """The app of a lab, not yet synthesised."""
    settings = json.loads((CHECKOUT / "cdk.json").read_text("utf-8"))
    app = App(outdir=str(out), context=settings["context"], analytics_reporting=False)
    names = Names(lab=lab.name, region=lab.region, cluster=lab.cluster_name)
    stacks: list[Stack] = []
    if lab.cluster.existing is None:
        stacks.append(ClusterStack(app, f"{lab.name}-cluster", lab=lab, names=names))
    controller = ControllerStack(app, f"{lab.name}-controller", lab=lab, names=names)
    for cluster in stacks:
        controller.add_stack_dependency(cluster)
    stacks.append(controller)
    for stack in stacks:
        # The stack's own tag finds the lab; CloudFormation puts it on what the stack makes.
        stack.tags.set_tag(LAB_TAG, lab.name)
    for key, value in lab.tags.items():
        Tags.of(app).add(key, value)
    Aspects.of(app).add(KeepLogsShort())
    if lab.permissions_boundary is not None:
        Aspects.of(app).add(BoundRoles(lab.permissions_boundary))
    return app
