"""`lamplighter adopt`: reads a running cluster with a node group or a NodePool, and prints the lab file for them."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from cli import printing
from cli.options import AsJson
from cli.plan import adopt_node_pool
from cli.plan.kubernetes_rights import manifest
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
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
from lamplighter.domain.pool.node_pool_adoption import ExistingNodePool, node_pool_obstacles
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.labfile import file as labfile
from lamplighter.reasons.reason import in_english

if TYPE_CHECKING:
    from lamplighter.adapters.capacity.adoption import Adoption
    from lamplighter.adapters.kubernetes.connection import Connection

POOL = "gpu"
AT_A_PROMPT_SECONDS = 4.0
_END = ("guard:", "  mode: watch")


def command(
    cluster: Annotated[str | None, typer.Argument(metavar="CLUSTER", help="The EKS cluster.")] = None,
    nodegroup: Annotated[
        str | None,
        typer.Argument(metavar="NODEGROUP", help="Its GPU node group, a managed one; or its NodePool."),
    ] = None,
    rbac: Annotated[
        bool, typer.Option("--rbac", help="Print the Kubernetes rights that the functions need, and stop.")
    ] = False,
    lab: Annotated[
        str | None,
        typer.Option(
            "--lab",
            metavar="FILE",
            help="With --rbac: a lab that needs more, with NodePools, with guard.idle_by: gpu or with classes.",
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
    """Print a lab.yaml for an existing cluster with its node group or NodePool, and the problems in the way.

    A NodePool is one of Karpenter or of EKS Auto Mode. Changes nothing. Problems go to stderr, one a line. The exit
    code is 1 while one of them must be solved before the lab can be deployed, and 3 where Kubernetes does not answer.

    \b
    Examples:
      lamplighter adopt my-cluster my-gpu-nodes > lab.yaml
      lamplighter adopt my-cluster my-node-pool > lab.yaml
      lamplighter adopt my-cluster my-gpu-nodes --json
      lamplighter adopt --rbac | kubectl apply -f -
      lamplighter adopt --rbac --lab lab.yaml | kubectl apply -f -
      lamplighter adopt --gpu-values lab.yaml > values.json
    """
    if as_json and rbac:
        raise BadInput("--json: --rbac prints input for kubectl; use only one of the two")
    if rbac:
        printing.document(f"{manifest(labfile.load(lab) if lab else None)}\n")
        return
    if lab is not None:
        raise BadInput("--lab: only for --rbac, which prints what the lab needs; leave it out")
    if gpu_values is not None:
        printing.json_text(sharing_values(labfile.load(gpu_values)))
        return
    if cluster is None or nodegroup is None:
        raise BadInput("name a cluster and a node group or NodePool: lamplighter adopt CLUSTER NODEGROUP")
    adopted = _read(cluster, nodegroup)
    if as_json:
        told = [{"blocks": one.blocks, "text": in_english(one.text)} for one in adopted.in_the_way]
        printing.as_json({"lab_file": "\n".join(adopted.lab_file) + "\n", "in_the_way": told})
    else:
        printing.say_each(adopted.lab_file)
    for obstacle in adopted.in_the_way:
        printing.say_on_stderr(f"{_kind(obstacle)}: {in_english(obstacle.text)}")
    # A private endpoint is unreachable from here in any case, and the obstacle names that already.
    if not adopted.reachable and adopted.cluster.public_endpoint:
        raise typer.Exit(3)
    if any(obstacle.blocks for obstacle in adopted.in_the_way):
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
    yield f"# Adopts node group {group.name} of cluster {cluster.name}, Kubernetes {cluster.version}."
    yield from _begin(cluster)
    yield f"cluster: {{existing: {cluster.name}}}"
    yield "pools:"
    yield f"  {POOL}:"
    yield f"    existing: {group.name}"
    # Only where the name is not the usual one: a new node group of the same name gets another group.
    if group.group and not group.group.startswith(f"eks-{group.name}-"):
        yield f"    auto_scaling_group: {group.group}"
    if group.instance_types:
        yield adopt_node_pool.types_line(group.instance_types)
    yield from _image(group)
    yield f"    max_nodes: {max(1, group.maximum)}"
    yield from adopt_node_pool.price_lines(cluster, "node-group", group.instance_types)
    yield from _END


def node_pool_lab_file(
    cluster: ExistingCluster, pool: ExistingNodePool, role: str | None = None
) -> Iterator[str]:
    """The same for a NodePool; `role` is the IAM role of its Karpenter."""
    head, lines = adopt_node_pool.pool_lines(cluster, pool, role)
    yield from (*head, *_begin(cluster), *lines, *_END)


def _begin(cluster: ExistingCluster) -> Iterator[str]:
    yield "# It begins in watch: only nodes of leases are closed, until guard.mode is enforce."
    yield f"name: {lab_name(cluster.name)}"
    yield f"region: {cluster.region}"
    yield "time_zone: UTC  # the zone of your windows"


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


@dataclass(frozen=True)
class _Adopted:
    """What is adopted: the lines of its lab file, and its problems."""

    cluster: ExistingCluster
    lab_file: Sequence[str]
    in_the_way: Sequence[Obstacle]
    reachable: bool
    """Whether Kubernetes answered."""


def _read(cluster: str, name: str) -> _Adopted:
    """The node group of that name, else the NodePool."""
    from lamplighter.adapters.capacity.adoption import Adoption  # noqa: PLC0415 -- help needs none of it
    from lamplighter.adapters.kubernetes.autoscalers import autoscalers  # noqa: PLC0415
    from lamplighter.adapters.kubernetes.connection import connect  # noqa: PLC0415

    adoption = Adoption()
    found = adoption.cluster(cluster)
    group = adoption.group_if_there(cluster, name)
    try:
        connection = connect(cluster)
        connection.patience, connection.read_seconds = 0, AT_A_PROMPT_SECONDS
        running = autoscalers(connection, auto_mode=found.auto_mode)
    except OutsideFailed as error:
        if group is None:
            raise
        running = Autoscalers(asked=False, reachable=False, why_not=error.said)
    if group is not None:
        in_the_way = list(obstacles(found, group, running))
        return _Adopted(found, [*lab_file(found, group)], in_the_way, running.reachable)
    return _node_pool(adoption, connection, found, name, running)


def _node_pool(
    adoption: "Adoption", connection: "Connection", cluster: ExistingCluster, name: str, running: Autoscalers
) -> _Adopted:
    from lamplighter.adapters.kubernetes import existing_node_pools  # noqa: PLC0415 -- as above

    pool = existing_node_pools.node_pool(connection, name)
    if pool is None:
        raise adoption.no_such_group(cluster.name, name, existing_node_pools.names(connection))
    account = existing_node_pools.karpenter_account(connection) if pool.kind == KARPENTER.code else None
    role = adoption.karpenter_role(cluster.name, account)
    lines = [*node_pool_lab_file(cluster, pool, role)]
    return _Adopted(cluster, lines, [*node_pool_obstacles(cluster, pool, running)], running.reachable)


def _kind(obstacle: Obstacle) -> str:
    return "in the way" if obstacle.blocks else "note"
