"""A managed node group: its values, the sizes that EKS refuses, and what DescribeNodegroup returns.

Values only; nodegroups.py changes a group, and nodes.py has its nodes.
"""

import uuid
from dataclasses import dataclass, field
from datetime import datetime

from local.aws.api.own_services import AwsError, Document

#: The sizes if CreateNodegroup gets none.
DEFAULT_SIZES = {"minSize": 1, "maxSize": 2, "desiredSize": 2}
#: The date of the images at the start; of AL2023 for Kubernetes 1.35 it is amazon-eks-ami v20260714.
FIRST_RELEASE = "20260714"
SIZES = ("minSize", "maxSize", "desiredSize")


@dataclass
class Nodegroup:
    """`sizes` are EKS's own sizes; the Auto Scaling group may have others.

    `seen_resize` is when EKS last took over the sizes of the group, as an epoch.
    """

    cluster: str
    name: str
    arn: str
    version: str
    node_role: str
    subnets: list[str]
    sizes: dict[str, int]
    ami_type: str
    instance_types: list[str]
    launch_template: Document | None
    disk_size: int | None
    labels: dict[str, str]
    taints: list[Document]
    tags: dict[str, str]
    capacity_type: str
    update_config: Document
    created: datetime
    modified: datetime
    status: str = "CREATING"
    issues: list[Document] = field(default_factory=list)
    seen_resize: float = 0.0
    #: The launch template that EKS derives from the user's one: id and latest version.
    derived_template: str = ""
    #: The custom image of its launch template.
    image_id: str = ""
    #: The image while a fault pretends that the group was made with another one.
    played_image: str | None = None
    #: The release date of its image.
    released: str = FIRST_RELEASE
    #: The name of its Auto Scaling group, if EKS did not yet name groups after the node group.
    older_group: str = ""
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def group(self) -> str:
        """The name of the Auto Scaling group of this node group."""
        return self.older_group or f"eks-{self.name}-{self.uuid}"

    @property
    def image(self) -> str:
        """The image type from which its machines start."""
        return self.played_image or self.ami_type

    @property
    def release(self) -> str:
        """EKS's name for the release of its image; of a custom image it is the image's id."""
        return self.image_id or f"{self.version}.4-{self.released}"

    def degrade(self, code: str, message: str, resources: list[str] | None = None) -> None:
        """Adds a health issue of the group itself, or of the named resources. It stays until a scale-out succeeds."""
        self.issues = [{"code": code, "message": message, "resourceIds": resources or [self.group]}]
        if self.status == "ACTIVE":
            self.status = "DEGRADED"

    def recover(self) -> None:
        self.issues = []
        if self.status == "DEGRADED":
            self.status = "ACTIVE"

    def document(self) -> Document:
        return {
            "nodegroupName": self.name,
            "nodegroupArn": self.arn,
            "clusterName": self.cluster,
            "version": self.version,
            "releaseVersion": self.release,
            "createdAt": self.created,
            "modifiedAt": self.modified,
            "status": self.status,
            "capacityType": self.capacity_type,
            "scalingConfig": dict(self.sizes),
            "instanceTypes": self.instance_types or None,
            "subnets": self.subnets,
            "amiType": self.image,
            "nodeRole": self.node_role,
            "labels": self.labels,
            "taints": self.taints,
            "resources": {"autoScalingGroups": [{"name": self.group}]},
            "diskSize": self.disk_size,
            "health": {"issues": self.issues},
            "updateConfig": self.update_config,
            "launchTemplate": self.launch_template,
            "tags": self.tags,
        }


def sizes_at_creation(given: dict[str, int] | None) -> dict[str, int]:
    """The sizes at creation. A call must give all three or none; otherwise EKS refuses it."""
    if not given:
        return dict(DEFAULT_SIZES)
    missing = [name for name in SIZES if given.get(name) is None]
    if missing:
        raise AwsError(
            "InvalidParameterException",
            f"A new nodegroup needs minSize, maxSize and desiredSize: {missing[0]} is missing",
        )
    return checked({name: given[name] for name in SIZES})


def checked(sizes: dict[str, int]) -> dict[str, int]:
    """The sizes, if EKS accepts them."""
    minimum, maximum, desired = (sizes[name] for name in SIZES)
    problem = ""
    if maximum < 1:
        problem = f"Maximum capacity {maximum} must be at least 1"
    elif minimum < 0 or desired < 0:
        problem = "Capacities must not be negative"
    elif minimum > maximum:
        problem = f"Minimum capacity {minimum} can't be greater than max size {maximum}"
    elif desired < minimum:
        problem = f"Minimum capacity {minimum} can't be greater than desired size {desired}"
    elif desired > maximum:
        problem = f"desired capacity {desired} can't be greater than max size {maximum}"
    if problem:
        raise AwsError("InvalidParameterException", problem)
    return sizes


def changed_labels(known: dict[str, str], change: Document) -> dict[str, str]:
    kept = {key: value for key, value in known.items() if key not in (change.get("removeLabels") or [])}
    return kept | (change.get("addOrUpdateLabels") or {})


def changed_taints(known: list[Document], change: Document) -> list[Document]:
    gone = [*(change.get("removeTaints") or []), *(change.get("addOrUpdateTaints") or [])]
    keys = {(taint["key"], taint["effect"]) for taint in gone}
    kept = [taint for taint in known if (taint["key"], taint["effect"]) not in keys]
    return [*kept, *(change.get("addOrUpdateTaints") or [])]
