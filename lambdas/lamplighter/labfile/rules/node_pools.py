"""Whether the keys of a pool fit its kind: a node group, a NodePool of Karpenter, or one of EKS Auto Mode.

karpenter.py and auto_mode.py check what the cluster must have for a kind; names.py checks the names of NodePools.
"""

import re
from collections.abc import Callable, Iterator
from typing import assert_never

from lamplighter.domain.capacity.node_pool.ending import LONGEST
from lamplighter.domain.capacity.node_pool.launch_bar import POLICIES, parameter_name
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.names import NODEGROUP_NAME
from lamplighter.lab.pools import IMAGE_OF_KARPENTER, Pool
from lamplighter.lab.types import shown
from lamplighter.labfile.messages import RIGHT
from lamplighter.labfile.rules.names import NODE_POOL_NAME
from lamplighter.labfile.rules.parts import Misfit
from lamplighter.values.counted import write_duration

VERSION: Path = ("cluster", "kubernetes_version")
# ValidatingAdmissionPolicy is generally available since then (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
FIRST_WITH_BAR = (1, 30)
# Karpenter's aliases with a version (https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms).
_ALIAS = re.compile(r"al2023@v[0-9]{8}|bottlerocket@v[0-9]+\.[0-9]+\.[0-9]+")
HOP_LIMIT, PACKAGES = (
    Pool.model_fields[key].get_default(call_default_factory=True)
    for key in ("metadata_hop_limit", "packages")
)


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The keys that do not fit the kind of their pool."""
    for name, pool in lab.pools.items():
        path: Path = ("pools", name)
        match pool.kind:
            case "node-group":
                yield from _node_group(path, pool)
            case "karpenter":
                yield from _node_pool(lab, name, path, _karpenter)
            case "auto-mode":
                yield from _node_pool(lab, name, path, _auto_mode)
            case _:
                assert_never(pool.kind)


def _node_pool(
    lab: Lab, name: str, path: Path, of_kind: Callable[[Path, Pool], Iterator[Misfit]]
) -> Iterator[Misfit]:
    pool = lab.pools[name]
    yield from _of_the_bar(lab, path, name)
    yield from _drain(path, pool)
    yield from _of_a_node_group(path, pool)
    if pool.existing is None:
        yield from of_kind(path, pool)
        yield from _bar(lab, path, pool)


def _node_group(path: Path, pool: Pool) -> Iterator[Misfit]:
    if pool.drain is not None:
        text = (
            "is only for a pool of kind karpenter or auto-mode: EKS drains a node group by its own time;"
            " leave it out"
        )
        yield _of_kind(path, "drain", text)
    if pool.image is not None and "@" in pool.image:
        text = (
            f"is {pool.image}, an alias of Karpenter; write the id of an image such as ami-0123456789abcdef0,"
            " or kind: karpenter"
        )
        yield _of_kind(path, "image", text)
    if pool.existing is not None and re.fullmatch(NODEGROUP_NAME, pool.existing) is None:
        yield _of_kind(path, "existing", f"is {shown(pool.existing)}, {RIGHT[NODEGROUP_NAME]}")


def _of_a_node_group(path: Path, pool: Pool) -> Iterator[Misfit]:
    """What only a node group has."""
    if pool.auto_scaling_group is not None:
        text = f"is for a node group, but a pool of kind {pool.kind} has no Auto Scaling group; leave it out"
        yield _of_kind(path, "auto_scaling_group", text)
    if pool.existing is None and "ami_type" in pool.model_fields_set:
        right = "; leave it out: EKS Auto Mode chooses the image"
        if pool.has("image alias"):
            right = f", and Karpenter takes an alias; write image: {IMAGE_OF_KARPENTER} in its place"
        yield _of_kind(path, "ami_type", f"is {shown(pool.ami_type)[1:-1]}, a type of a node group{right}")
    if pool.existing is None and pool.image_family is not None:
        right = "the alias in image says it" if pool.has("image alias") else "EKS Auto Mode chooses the image"
        yield _of_kind(path, "image_family", f"is for a node group's own image; leave it out: {right}")


def _karpenter(path: Path, pool: Pool) -> Iterator[Misfit]:
    image = pool.image or ""
    if image.startswith("ami-"):
        text = (
            f"is {image}, but a pool of kind karpenter takes an image of EKS by its alias, since another image may have"
            f" no kubelet and never join, as Deep Learning AMIs; write {IMAGE_OF_KARPENTER}"
        )
        yield _of_kind(path, "image", text)
    elif image.endswith("@latest"):
        text = f"is {image}, which moves while the lab runs; write a version such as {IMAGE_OF_KARPENTER}"
        yield _of_kind(path, "image", text)
    elif _ALIAS.fullmatch(image) is None:
        text = f"is {image}, no alias of AL2023 or Bottlerocket; write one such as {IMAGE_OF_KARPENTER} or"
        yield _of_kind(path, "image", f"{text} bottlerocket@v1.62.0")
    elif pool.family == "bottlerocket" and pool.packages not in ([], PACKAGES):
        text = (
            f"are {', '.join(pool.packages)}, but Bottlerocket has no package manager; leave them out, or write"
            f" image: {IMAGE_OF_KARPENTER}"
        )
        yield _of_kind(path, "packages", text, "image")


def _auto_mode(path: Path, pool: Pool) -> Iterator[Misfit]:
    if pool.image is not None:
        text = f"is {pool.image}, but EKS Auto Mode chooses the image of its nodes; leave it out"
        yield _of_kind(path, "image", text)
    if pool.packages not in ([], PACKAGES):
        text = f"are {', '.join(pool.packages)}, but nodes of EKS Auto Mode have no package manager; leave them out"
        yield _of_kind(path, "packages", text)
    if pool.metadata_hop_limit not in (1, HOP_LIMIT):
        text = f"is {pool.metadata_hop_limit}, but EKS Auto Mode sets it to 1; leave it out"
        yield _of_kind(path, "metadata_hop_limit", text)


def _drain(path: Path, pool: Pool) -> Iterator[Misfit]:
    if pool.drain is not None and pool.drain > LONGEST:
        text = (
            f"is {write_duration(pool.drain)}, for which a pod could keep a node until the failsafe ends it past"
            f" Kubernetes; write at most {write_duration(LONGEST)}"
        )
        yield Misfit((*path, "drain"), text)


def _bar(lab: Lab, path: Path, pool: Pool) -> Iterator[Misfit]:
    """The API server refuses nodes without a lease by a ValidatingAdmissionPolicy."""
    version = lab.cluster.kubernetes_version
    if lab.cluster.existing is None and tuple(int(part) for part in version.split(".")) < FIRST_WITH_BAR:
        first = ".".join(str(part) for part in FIRST_WITH_BAR)
        text = (
            f"is {pool.kind}, whose launch bar is a ValidatingAdmissionPolicy: Kubernetes has it from {first} on, and"
            f" the lab has {version}; write a later kubernetes_version"
        )
        yield Misfit((*path, "kind"), text, (VERSION,))


def _of_the_bar(lab: Lab, path: Path, name: str) -> Iterator[Misfit]:
    """An adopted NodePool as well: what the lab makes in Kubernetes for a pool has the pool's name."""
    made = parameter_name(lab, name)
    text = f"makes objects with the name {made} in Kubernetes"
    if "." not in made and name.endswith(POLICIES):
        text += ", which is that of an admission policy of a lab; give the pool another name"
        yield Misfit(path, text, ((*path, "kind"),))
    elif lab.cluster.existing is not None and not NODE_POOL_NAME.fullmatch(made):
        text += ", which takes a to z, 0 to 9, and - and . within; give the pool or the lab another name"
        yield Misfit(path, text, (("name",), (*path, "kind")))


def _of_kind(path: Path, key: str, text: str, *reads: str) -> Misfit:
    """A problem at a key that depends on the kind, on what is adopted, and on other keys."""
    others = {"kind", "existing", *reads} - {key}
    return Misfit((*path, key), text, tuple((*path, other) for other in sorted(others)))
