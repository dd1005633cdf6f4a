"""`lamplighter adopt`: reads a running cluster and node group, and prints the lab file that adopts them."""

import json
import re
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from cli import printing
from cli.options import AsJson
from cli.plan.kubernetes_rights import manifest
from cli.printing import say
from lamplighter.data import prices
from lamplighter.domain.gpu import device_plugin
from lamplighter.domain.gpu import sharing as gpu_sharing
from lamplighter.domain.pool import image as images
from lamplighter.domain.pool.adoption import (
    Autoscalers,
    ExistingCluster,
    ExistingPool,
    Obstacle,
    obstacles,
)
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.labfile import file as labfile
from lamplighter.reasons.reason import in_english

POOL = "gpu"
CURRENCY = "USD"
AT_A_PROMPT_SECONDS = 4.0


def command(
    cluster: Annotated[str | None, typer.Argument(metavar="CLUSTER", help="The EKS cluster.")] = None,
    nodegroup: Annotated[
        str | None, typer.Argument(metavar="NODEGROUP", help="Its GPU node group, a managed one.")
    ] = None,
    rbac: Annotated[
        bool, typer.Option("--rbac", help="Print the Kubernetes rights that the functions need, and stop.")
    ] = False,
    lab: Annotated[
        str | None,
        typer.Option(
            "--lab",
            metavar="FILE",
            help="With --rbac: a lab with NodePools, which needs rights about them and a launch bar.",
        ),
    ] = None,
    gpu_values: Annotated[
        str | None,
        typer.Option(
            "--gpu-values",
            metavar="LAB",
            help="Print the Helm values of the GPU Operator that a lab's sharing needs, as JSON, and stop.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a lab.yaml for an existing cluster and node group, and the problems in the way.

    Changes nothing. Problems go to stderr, one a line. The exit code is 1 while one of them must be solved before the
    lab can be deployed, and 3 where Kubernetes does not answer.

    \b
    Examples:
      lamplighter adopt my-cluster my-gpu-nodes > lab.yaml
      lamplighter adopt my-cluster my-gpu-nodes --json
      lamplighter adopt --rbac | kubectl apply -f -
      lamplighter adopt --rbac --lab lab.yaml | kubectl apply -f -
      lamplighter adopt --gpu-values lab.yaml > values.json
    """
    if as_json and rbac:
        raise BadInput("--json: --rbac prints input for kubectl; use only one of the two")
    if rbac:
        say(manifest(labfile.load(lab) if lab else None))
        return
    if lab is not None:
        raise BadInput("--lab: only for --rbac, which prints what the lab's NodePools need; leave it out")
    if gpu_values is not None:
        say(sharing_values(labfile.load(gpu_values)))
        return
    if cluster is None or nodegroup is None:
        raise BadInput("name a cluster and a node group: lamplighter adopt CLUSTER NODEGROUP")
    found, group, autoscalers = _read(cluster, nodegroup)
    in_the_way = list(obstacles(found, group, autoscalers))
    if as_json:
        told = [{"blocks": obstacle.blocks, "text": in_english(obstacle.text)} for obstacle in in_the_way]
        printing.as_json({"lab_file": "\n".join(lab_file(found, group)) + "\n", "in_the_way": told})
    else:
        say("\n".join(lab_file(found, group)))
    for obstacle in in_the_way:
        sys.stderr.write(f"{_kind(obstacle)}: {in_english(obstacle.text)}\n")
    # A private endpoint is unreachable from here in any case, and the obstacle names that already.
    if not autoscalers.reachable and found.public_endpoint:
        raise typer.Exit(3)
    if any(obstacle.blocks for obstacle in in_the_way):
        raise typer.Exit(1)


def sharing_values(lab: Lab) -> str:
    """The values for an existing GPU Operator chart, so that windows can share GPUs; BadInput where no window does."""
    if not gpu_sharing.sharings(lab):
        raise BadInput("this lab shares no GPU: write gpu: {share: 4} in it, or in one of its windows")
    if device_plugin.pools(lab):
        return json.dumps({"config": device_plugin.plugin_config(lab)}, indent=2)
    return json.dumps({"devicePlugin": {"config": gpu_sharing.plugin_config(lab)}}, indent=2)


def lab_file(cluster: ExistingCluster, group: ExistingPool) -> Iterator[str]:
    """The lines of a lab file that adopts the group, with only the keys that a person may want to change."""
    kind = group.instance_types[0] if group.instance_types else None
    yield f"# Adopts node group {group.name} of cluster {cluster.name}, Kubernetes {cluster.version}."
    yield "# It begins in watch: only nodes of leases are closed, until guard.mode is enforce."
    yield f"name: {lab_name(cluster.name)}"
    yield f"region: {cluster.region}"
    yield "time_zone: UTC  # the zone of your windows"
    yield f"cluster: {{existing: {cluster.name}}}"
    yield "pools:"
    yield f"  {POOL}:"
    yield f"    existing: {group.name}"
    # Only where the name is not the usual one: a new node group of the same name gets another group.
    if group.group and not group.group.startswith(f"eks-{group.name}-"):
        yield f"    auto_scaling_group: {group.group}"
    if kind:
        yield f"    instance_type: {kind}"
    yield from _image(group)
    yield f"    max_nodes: {max(1, group.maximum)}"
    if kind is None or prices.on_demand(cluster.region, kind, CURRENCY) is None:
        yield f'    # price_per_hour: "1.00"  # {CURRENCY}; needed: no price of {kind or "its nodes"} is known here'
    yield "guard:"
    yield "  mode: watch"


def _image(group: ExistingPool) -> Iterator[str]:
    """The image, where `check` must know it: it refuses settings that a plugin in the image does not take."""
    if images.has_own_plugin(group.ami_type):
        yield f"    ami_type: {group.ami_type}"
    elif group.ami_type == "CUSTOM":
        yield (
            "    # ami_type: BOTTLEROCKET_x86_64_NVIDIA  # only if its own image is Bottlerocket with NVIDIA's device"
            " plugin"
        )


def lab_name(cluster: str) -> str:
    """A name for the lab, after the cluster: lower case letters, digits and hyphens."""
    plain = re.sub(r"[^a-z0-9-]+", "-", cluster.lower()).strip("-")
    return (plain if plain[:1].isalpha() else f"lab-{plain}")[:40].rstrip("-")


def _read(cluster: str, nodegroup: str) -> tuple[ExistingCluster, ExistingPool, Autoscalers]:
    from lamplighter.adapters.capacity.adoption import Adoption  # noqa: PLC0415 -- help needs none of it
    from lamplighter.adapters.kubernetes.autoscalers import autoscalers  # noqa: PLC0415
    from lamplighter.adapters.kubernetes.connection import connect  # noqa: PLC0415

    adoption = Adoption()
    found = adoption.cluster(cluster)
    group = adoption.group(cluster, nodegroup)
    try:
        connection = connect(cluster)
    except OutsideFailed as error:
        return found, group, Autoscalers(asked=False, reachable=False, why_not=error.said)
    connection.patience, connection.read_seconds = 0, AT_A_PROMPT_SECONDS
    return found, group, autoscalers(connection)


def _kind(obstacle: Obstacle) -> str:
    return "in the way" if obstacle.blocks else "note"
