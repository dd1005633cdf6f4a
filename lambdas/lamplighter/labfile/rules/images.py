"""Whether the image of a node group fits its nodes: type, architecture, Kubernetes version, disk, packages.

The rules are the same for system nodes, pools and node groups that are always on. Rules of one kind of group are in
cluster.py and node_groups.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamplighter.data import instance_types, versions
from lamplighter.lab.cluster import SystemNodes
from lamplighter.lab.keys import Path, hint, nearest
from lamplighter.lab.model import Lab
from lamplighter.lab.nodes.images import CUSTOM, WITH_PACKAGES
from lamplighter.lab.nodes.node_groups import WINDOWS_DISK_GIB, NodeGroup
from lamplighter.lab.pools import Pool
from lamplighter.lab.types import shown
from lamplighter.labfile.rules.parts import Misfit

VERSION: Path = ("cluster", "kubernetes_version")
# EKS has no image of Amazon Linux 2 for a later version (https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html).
LAST_OF_AL2 = versions.Fit(None, "1.32")
# EC2 types before Nitro that EKS's Windows images do not start on (EKS user guide, Windows support).
NOT_FOR_WINDOWS = frozenset({"c3", "c4", "d2", "i2", "m4", "r3"})
DESPITE_THAT = frozenset({"m4.16xlarge"})


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of one group, and the packages that its key has by default."""

    path: Path
    group: SystemNodes | Pool | NodeGroup

    @property
    def image(self) -> versions.AmiType | None:
        """The EKS-optimised image; None for one of the user's, and for an unknown type."""
        return versions.ami_types().get(self.group.ami_type)

    @property
    def named(self) -> str:
        """The image, as a problem names it."""
        own = self.group.ami_type == CUSTOM
        return f"CUSTOM with image_family {self.group.family}" if own else self.group.ami_type

    def at(self, key: str) -> Path:
        return (*self.path, key)

    def misfit(self, key: str, text: str, *reads: str) -> Misfit:
        """A problem at a key; it depends on the image and on the other keys."""
        others = {"ami_type", "image_family", *reads} - {key}
        return Misfit(self.at(key), text, tuple(self.at(other) for other in sorted(others)))


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in the images of all groups that the lab creates."""
    for name, pool in lab.pools.items():
        if pool.existing is None and lab.cluster.existing is None:
            # Any other image follows from the kind and its alias (node_pools.py).
            if pool.has("image type"):
                yield from _nodes(lab, Nodes(("pools", name), pool))
        else:
            yield from _read_from_aws(("pools", name), pool)
    if lab.cluster.existing is None:
        yield from _nodes(lab, Nodes(("cluster", "system_nodes"), lab.cluster.system_nodes))
        for name, group in lab.cluster.node_groups.items():
            yield from _nodes(lab, Nodes(("cluster", "node_groups", name), group))


def _read_from_aws(path: Path, pool: Pool) -> Iterator[Misfit]:
    for key in ("image", "image_family"):
        if key in pool.model_fields_set and getattr(pool, key) is not None:
            yield Misfit(
                (*path, key),
                f"is only for a {pool.noun} that the lab creates: an existing"
                " one has its image already; leave it out",
                ((*path, "existing"), ("cluster", "existing")),
            )


def _nodes(lab: Lab, nodes: Nodes) -> Iterator[Misfit]:
    yield from _which(nodes)
    if nodes.image is None and nodes.group.ami_type != CUSTOM:
        return
    yield from _kubernetes(lab, nodes)
    if nodes.image is not None:
        yield from _architecture(nodes, nodes.image)
    yield from _packages(nodes)
    if nodes.group.family == "windows":
        yield from _windows(nodes)


def _which(nodes: Nodes) -> Iterator[Misfit]:
    """The image is EKS's own by its type, or CUSTOM with an id."""
    group, known = nodes.group, [*versions.ami_types(), CUSTOM]
    if group.ami_type not in known:
        text = f"is {shown(group.ami_type)}, no image type we know{hint(group.ami_type, known)}"
        yield Misfit(nodes.at("ami_type"), text)
    elif group.image is not None and "@" in group.image:
        return  # an alias of Karpenter (node_pools.py)
    elif group.ami_type == CUSTOM and group.image is None:
        text = "is CUSTOM, but no image is named; write image: ami-0123456789abcdef0, or an image type of EKS"
        yield nodes.misfit("ami_type", text, "image")
    elif group.ami_type != CUSTOM:
        for key in ("image", "image_family"):
            given = getattr(group, key)
            if given is not None:
                text = (
                    f"is {given}, but ami_type is {group.ami_type}; write ami_type: CUSTOM, or leave it out"
                )
                yield Misfit(nodes.at(key), text, (nodes.at("ami_type"),))


def _kubernetes(lab: Lab, nodes: Nodes) -> Iterator[Misfit]:
    version = lab.cluster.kubernetes_version
    fit = nodes.image.fit if nodes.image else LAST_OF_AL2 if nodes.group.family == "al2" else None
    if fit is not None and not fit.holds(version):
        # Nobody who wants Windows is helped by Linux.
        instead = "WINDOWS_FULL_2022_x86_64" if nodes.group.family == "windows" else "an AL2023 type"
        text = (
            f"is {nodes.named}, which EKS has for Kubernetes {fit}, not for {version}; write {instead}"
            if nodes.image
            else f"is al2, but Amazon Linux 2 ended with Kubernetes {LAST_OF_AL2.last}, and the lab has {version};"
            " build the image from AL2023"
        )
        yield Misfit(nodes.at("ami_type" if nodes.image else "image_family"), text, (VERSION,))


def _architecture(nodes: Nodes, image: versions.AmiType) -> Iterator[Misfit]:
    group = nodes.group
    architecture = instance_types.architecture(group.instance_type)
    if architecture is None or architecture == image.architecture:
        return
    alike = _alike(image, architecture)
    if alike:
        text = (
            f"is {group.ami_type} for {image.architecture}, but {group.instance_type} is {architecture};"
            f" write {nearest(group.ami_type, alike, similar=0)}"
        )
        yield nodes.misfit("ami_type", text, _types_key(group))
    else:
        text = (
            f"is {group.instance_type}, which is {architecture}, but {group.ami_type} is for {image.architecture} only;"
            f" write a type of {image.architecture} such as m5.large"
        )
        yield nodes.misfit(_types_key(group), text)


def _types_key(group: SystemNodes | Pool | NodeGroup) -> str:
    return group.types_key if isinstance(group, Pool) else "instance_type"


def _alike(image: versions.AmiType, architecture: str) -> Sequence[str]:
    """The images for another architecture, with the driver if this one has it: of the same family before others."""
    alike = {
        name: other.family == image.family
        for name, other in versions.ami_types().items()
        if (other.architecture, other.nvidia) == (architecture, image.nvidia)
    }
    of_family = [name for name, same in alike.items() if same]
    # Nobody who wants Windows is helped by Linux.
    return of_family if of_family or image.family == "windows" else list(alike)


def _packages(nodes: Nodes) -> Iterator[Misfit]:
    """A default list is for images with a package manager, and others leave it out."""
    group = nodes.group
    default = type(group).model_fields["packages"].get_default(call_default_factory=True)
    if group.family not in WITH_PACKAGES and group.packages and group.packages != default:
        system = "Windows" if group.family == "windows" else "Bottlerocket"
        text = (
            f"are {', '.join(group.packages)}, but {system} has no package manager; leave them out, or take an"
            " AL2023 type"
        )
        yield nodes.misfit("packages", text)


def _windows(nodes: Nodes) -> Iterator[Misfit]:
    group = nodes.group
    if group.disk_gib < WINDOWS_DISK_GIB:
        text = (
            f"is {group.disk_gib}, but Windows needs {WINDOWS_DISK_GIB} GiB; write {WINDOWS_DISK_GIB} or more"
        )
        yield nodes.misfit("disk_gib", text)
    if group.instance_type.partition(".")[0] in NOT_FOR_WINDOWS and group.instance_type not in DESPITE_THAT:
        text = f"is {group.instance_type}, which EKS does not start Windows on; write a newer type such as m5.large"
        yield nodes.misfit("instance_type", text)
