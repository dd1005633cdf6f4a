"""EKS managed node groups: reads one, sets its size, follows an update.

Writes whole targets only, and always with a minimum of 0.
"""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked
from lamplighter.domain.capacity.evidence import HealthIssue
from lamplighter.domain.capacity.node_group.evidence import NodeGroup, NodeGroupUpdate
from lamplighter.errors import TryLater
from lamplighter.reasons.reason import reason
from lamplighter.values.lab_tag import LAB_TAG

if TYPE_CHECKING:
    from mypy_boto3_eks import EKSClient
    from mypy_boto3_eks.type_defs import UpdateNodegroupConfigRequestTypeDef

AT_MOST = 200
"""How many updates one look describes. EKS keeps a group busy for the order of a sweep as well: the guard sends it to
the Auto Scaling group after 15 minutes, and four looks have described 800 updates by then."""
REMEMBERED = 10_000
"""How many ended updates a function keeps in mind, about a megabyte."""


@border
class NodeGroups:
    """The node groups of one cluster."""

    def __init__(self, cluster: str, eks: "EKSClient | None" = None) -> None:
        self.cluster = cluster
        self._eks: EKSClient = eks or client("eks")
        self._ended: set[str] = set()
        """Updates that have ended, by id: their status never changes again."""

    def read(self, name: str) -> NodeGroup | None:
        """The node group as EKS has it now; None when the group or the cluster does not exist."""
        with outside("eks:DescribeNodegroup", f"{self.cluster}/{name}"):
            try:
                reply = self._eks.describe_nodegroup(clusterName=self.cluster, nodegroupName=name)
            except self._eks.exceptions.ClientError as error:
                if error_code(error) == "ResourceNotFoundException":
                    return None
                raise
        found = reply["nodegroup"]
        scaling = found.get("scalingConfig", {})
        groups = found.get("resources", {}).get("autoScalingGroups", [])
        issues = found.get("health", {}).get("issues", [])
        template = found.get("launchTemplate", {})
        return checked(
            NodeGroup(
                cluster=self.cluster,
                name=name,
                status=found.get("status", "ACTIVE"),
                minimum=scaling.get("minSize", 0),
                maximum=scaling.get("maxSize", 0),
                desired=scaling.get("desiredSize", 0),
                group=groups[0].get("name") if groups else None,
                health=tuple(HealthIssue(i.get("code", ""), i.get("message", "")) for i in issues),
                instance_types=tuple(found.get("instanceTypes", [])),
                ami_type=found.get("amiType", ""),
                disk_gib=found.get("diskSize", 0),
                template=(template["id"], template.get("version", "$Default")) if "id" in template else None,
                role=found.get("nodeRole", "").rpartition("/")[2],
                lab=found.get("tags", {}).get(LAB_TAG, ""),
            )
        )

    def scale(self, name: str, target: int) -> str:
        """Order exactly `target` nodes and return EKS's update id.

        The minimum goes to 0 with every order: EKS refuses a desired size below it.
        TryLater while another update of the group runs.
        """
        with outside("eks:UpdateNodegroupConfig", f"{self.cluster}/{name}"):
            try:
                reply = self._eks.update_nodegroup_config(
                    clusterName=self.cluster,
                    nodegroupName=name,
                    scalingConfig={"minSize": 0, "desiredSize": target},
                )
            except self._eks.exceptions.ClientError as error:
                raise _busy(error, name) from error
        return reply["update"].get("id", "")

    def bound(self, name: str, maximum: int, desired: int, token: str | None = None) -> str:
        """Set minimum 0 and this maximum, with the desired size.

        Without a desired size EKS writes the one that it knows, which may be older than the group's own.
        With the same `token` (its clientRequestToken) EKS makes one update for two calls.
        TryLater while another update of the group runs.
        """
        request: UpdateNodegroupConfigRequestTypeDef = {
            "clusterName": self.cluster,
            "nodegroupName": name,
            "scalingConfig": {"minSize": 0, "maxSize": maximum, "desiredSize": desired},
        }
        if token:
            request["clientRequestToken"] = token
        with outside("eks:UpdateNodegroupConfig", f"{self.cluster}/{name}"):
            try:
                reply = self._eks.update_nodegroup_config(**request)
            except self._eks.exceptions.ClientError as error:
                raise _busy(error, name) from error
        return reply["update"].get("id", "")

    def rolling(self, name: str) -> NodeGroupUpdate | None:
        """The version update that replaces the group's nodes right now, if one does.

        EKS keeps every update, 100 a page, in no order (https://github.com/aws/containers-roadmap/issues/1439). Each
        is described until it has ended. Beyond `AT_MOST` the next look goes on; until then the answer is None.
        """
        with outside("eks:ListUpdates", f"{self.cluster}/{name}"):
            pages = self._eks.get_paginator("list_updates").paginate(name=self.cluster, nodegroupName=name)
            ids = [update_id for page in pages for update_id in page["updateIds"]]
        for update_id in [each for each in ids if each not in self._ended][:AT_MOST]:
            found = self.update(name, update_id)
            if found.in_progress and found.kind == "VersionUpdate":
                return found
            if found.ended:
                self._remember(update_id)
        return None

    def _remember(self, update_id: str) -> None:
        if len(self._ended) == REMEMBERED:
            self._ended.clear()
        self._ended.add(update_id)

    def update(self, name: str, update_id: str) -> NodeGroupUpdate:
        """The status of an update of the group."""
        with outside("eks:DescribeUpdate", f"{self.cluster}/{name}, update {update_id}"):
            found = self._eks.describe_update(name=self.cluster, nodegroupName=name, updateId=update_id)[
                "update"
            ]
        errors = tuple(
            f"{error.get('errorCode', 'Unknown')}: {error.get('errorMessage', '')}"
            for error in found.get("errors", [])
        )
        return NodeGroupUpdate(
            id=update_id,
            kind=found.get("type", ""),
            status=found.get("status", ""),
            created=found.get("createdAt"),
            errors=errors,
        )


def _busy(error: Exception, name: str) -> Exception:
    """TryLater where EKS works on another update of the group, else the error itself."""
    if error_code(error) == "ResourceInUseException":
        return TryLater(reason("capacity.eks-busy", group=name))
    return error
