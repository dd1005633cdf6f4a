"""Access to an EKS cluster: access entries with their policies, and pod identity associations."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

from local.aws.api.own_services import AwsError, Document
from local.aws.api.service_context import ServiceContext
from local.aws.eks.clusters import Clusters
from local.aws.eks.nodegroup import Nodegroup

POLICIES = (
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSAdminPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSAutoNodePolicy",
)
#: The type of an entry that gives nodes the group eks:kube-proxy-windows.
WINDOWS = "EC2_WINDOWS"
#: The types of the entries by which a kubelet joins (EKS user guide, creating-access-entries). EC2 is Auto Mode's.
_OF_NODES = ("EC2", "EC2_LINUX", WINDOWS)
POLICY_ARN = "arn:aws:eks::aws:cluster-access-policy/"


@dataclass
class Entry:
    """An access entry; `policies` by ARN."""

    document: Document
    policies: dict[str, Document] = field(default_factory=dict)


class Access:
    """Public methods with the names of boto3's operations are operations of `eks`."""

    def __init__(self, service_context: ServiceContext, clusters: Clusters) -> None:
        self._service_context = service_context
        self._clusters = clusters
        self._entries: dict[tuple[str, str], Entry] = {}
        #: Entries that EKS made for the roles of node groups.
        self._of_nodes: set[tuple[str, str]] = set()
        self._pod_identities: dict[tuple[str, str], Document] = {}
        clusters.removed.append(self._forget)
        clusters.auto_mode_switched.append(self._let_auto_mode_in)

    def create_access_entry(self, request: Document) -> Document:
        cluster, principal = request["clusterName"], request["principalArn"]
        self._check_mode(cluster)
        if (cluster, principal) in self._entries:
            raise AwsError(
                "ResourceInUseException",
                "The specified access entry resource is already in use on this cluster.",
                clusterName=cluster,
            )
        groups = request.get("kubernetesGroups") or []
        _check_groups(groups)
        kind_of_entry = request.get("type") or "STANDARD"
        _check_type(kind_of_entry, request)
        kind, _, name = principal.rpartition(":")[2].partition("/")
        identity = secrets.token_hex(8)
        now = self._service_context.clock.now()
        document = {
            "clusterName": cluster,
            "principalArn": principal,
            "kubernetesGroups": groups,
            "accessEntryArn": self._service_context.arn(
                "eks", f"access-entry/{cluster}/{kind}/{self._service_context.account_id}/{name}/{identity}"
            ),
            "createdAt": now,
            "modifiedAt": now,
            "tags": request.get("tags") or {},
            "username": request.get("username") or _username(principal, kind_of_entry),
            "type": kind_of_entry,
        }
        self._entries[cluster, principal] = Entry(document)
        return {"accessEntry": document}

    def tagged(self) -> Iterator[tuple[str, dict[str, str]]]:
        """ARN and tags of each access entry and association."""
        for entry in list(self._entries.values()):
            yield entry.document["accessEntryArn"], entry.document["tags"]
        for known in list(self._pod_identities.values()):
            yield known["associationArn"], known["tags"]

    def let_nodes_in(self, nodegroup: Nodegroup) -> None:
        """Gives the role of a new node group its access entry, as EKS does where entries exist and it has none yet.

        A custom image counts as Linux (EKS user guide, access-entries and launch-templates).
        """
        key = (nodegroup.cluster, nodegroup.node_role)
        if self._mode(nodegroup.cluster) == "CONFIG_MAP" or key in self._entries:
            return
        kind = WINDOWS if nodegroup.ami_type.startswith("WINDOWS") else "EC2_LINUX"
        self.create_access_entry({"clusterName": key[0], "principalArn": key[1], "type": kind})
        self._of_nodes.add(key)

    def _let_auto_mode_in(self, name: str) -> None:
        """Gives the role of Auto Mode's built-in node pools its access entry. Without such pools EKS makes none.

        terraform-aws-modules/terraform-aws-eks 3578.
        """
        compute = self._clusters.cluster(name).document.get("computeConfig") or {}
        role = compute.get("nodeRoleArn")
        if not compute.get("enabled") or not role or (name, role) in self._entries:
            return
        request = {"clusterName": name, "principalArn": role}
        self.create_access_entry({**request, "type": "EC2"})
        scope = {"type": "cluster", "namespaces": []}
        policy = POLICY_ARN + "AmazonEKSAutoNodePolicy"
        self.associate_access_policy({**request, "policyArn": policy, "accessScope": scope})

    def forget_nodes(self, nodegroup: Nodegroup, left: list[Nodegroup]) -> None:
        """Removes an entry that EKS made, when no node group has its role any more."""
        key = (nodegroup.cluster, nodegroup.node_role)
        if key in self._of_nodes and key not in {(one.cluster, one.node_role) for one in left}:
            self._of_nodes.discard(key)
            self._entries.pop(key, None)

    def lets_windows_in(self, cluster: str, role: str) -> bool:
        """Whether the role's nodes have the group eks:kube-proxy-windows. aws-auth is not read: it counts as right."""
        if self._mode(cluster) == "CONFIG_MAP":
            return True
        entry = self._entries.get((cluster, role))
        return entry is not None and entry.document["type"] == WINDOWS

    def lets_node_in(self, cluster: str, role: str) -> bool:
        """Whether a kubelet with this role joins the cluster. aws-auth is not read: where it alone counts, it does."""
        if role and self._mode(cluster) == "CONFIG_MAP":
            return True
        entry = self._entries.get((cluster, role))
        return entry is not None and entry.document["type"] in _OF_NODES

    def describe_access_entry(self, request: Document) -> Document:
        return {"accessEntry": self._entry(request).document}

    def list_access_entries(self, request: Document) -> Document:
        self._check_mode(request["clusterName"])
        policy = request.get("associatedPolicyArn")
        return {
            "accessEntries": [
                principal
                for (cluster, principal), entry in self._entries.items()
                if cluster == request["clusterName"] and (not policy or policy in entry.policies)
            ]
        }

    def update_access_entry(self, request: Document) -> Document:
        document = self._entry(request).document
        if "kubernetesGroups" in request:
            _check_groups(request["kubernetesGroups"])
            document["kubernetesGroups"] = request["kubernetesGroups"]
        document["username"] = request.get("username") or document["username"]
        document["modifiedAt"] = self._service_context.clock.now()
        return {"accessEntry": document}

    def delete_access_entry(self, request: Document) -> Document:
        self._entry(request)
        del self._entries[request["clusterName"], request["principalArn"]]
        return {}

    def associate_access_policy(self, request: Document) -> Document:
        entry = self._entry(request)
        if request["policyArn"] not in {POLICY_ARN + name for name in POLICIES}:
            raise AwsError("InvalidParameterException", "The policyArn parameter format is not valid")
        now = self._service_context.clock.now()
        associated = {
            "policyArn": request["policyArn"],
            "accessScope": request["accessScope"],
            "associatedAt": now,
            "modifiedAt": now,
        }
        entry.policies[request["policyArn"]] = associated
        return {
            "clusterName": request["clusterName"],
            "principalArn": request["principalArn"],
            "associatedAccessPolicy": associated,
        }

    def disassociate_access_policy(self, request: Document) -> Document:
        self._entry(request).policies.pop(request["policyArn"], None)
        return {}

    def list_associated_access_policies(self, request: Document) -> Document:
        policies = list(self._entry(request).policies.values())
        names = {key: request[key] for key in ("clusterName", "principalArn")}
        return {**names, "associatedAccessPolicies": policies}

    def list_access_policies(self, _: Document) -> Document:
        return {"accessPolicies": [{"name": name, "arn": POLICY_ARN + name} for name in POLICIES]}

    def create_pod_identity_association(self, request: Document) -> Document:
        cluster = self._clusters.cluster(request["clusterName"]).name
        place = (request["namespace"], request["serviceAccount"])
        for (its, _), known in self._pod_identities.items():
            if its == cluster and (known["namespace"], known["serviceAccount"]) == place:
                raise AwsError(
                    "ResourceInUseException", f"Association already exists: {known['associationId']}"
                )
        identity = f"a-{secrets.token_hex(9)[:17]}"
        now = self._service_context.clock.now()
        document = {
            "clusterName": cluster,
            "namespace": place[0],
            "serviceAccount": place[1],
            "roleArn": request["roleArn"],
            "associationArn": self._service_context.arn(
                "eks", f"podidentityassociation/{cluster}/{identity}"
            ),
            "associationId": identity,
            "tags": request.get("tags") or {},
            "createdAt": now,
            "modifiedAt": now,
        }
        self._pod_identities[cluster, identity] = document
        return {"association": document}

    def describe_pod_identity_association(self, request: Document) -> Document:
        return {"association": self._pod_identity(request)}

    def list_pod_identity_associations(self, request: Document) -> Document:
        keys = ("clusterName", "namespace", "serviceAccount", "associationArn", "associationId")
        wanted = {
            key: request[key] for key in ("clusterName", "namespace", "serviceAccount") if request.get(key)
        }
        return {
            "associations": [
                {key: known[key] for key in keys}
                for known in self._pod_identities.values()
                if wanted.items() <= known.items()
            ]
        }

    def pod_role(self, cluster: str, namespace: str, service_account: str) -> str | None:
        """The role that the service account's association names; None without an association."""
        wanted = {"clusterName": cluster, "namespace": namespace, "serviceAccount": service_account}
        associations = list(self._pod_identities.values())
        return next((each["roleArn"] for each in associations if wanted.items() <= each.items()), None)

    def update_pod_identity_association(self, request: Document) -> Document:
        known = self._pod_identity(request)
        known["roleArn"] = request.get("roleArn") or known["roleArn"]
        known["modifiedAt"] = self._service_context.clock.now()
        return {"association": known}

    def delete_pod_identity_association(self, request: Document) -> Document:
        known = self._pod_identity(request)
        del self._pod_identities[request["clusterName"], request["associationId"]]
        return {"association": known}

    def _forget(self, cluster: str) -> None:
        for table in (self._entries, self._pod_identities):
            for key in [key for key in table if key[0] == cluster]:
                table.pop(key, None)

    def _check_mode(self, name: str) -> None:
        if self._mode(name) == "CONFIG_MAP":
            raise AwsError(
                "InvalidRequestException",
                "The cluster's authentication mode must be set to one of [API,"
                " API_AND_CONFIG_MAP] to perform this operation.",
                clusterName=name,
            )

    def _mode(self, name: str) -> str:
        mode: str = self._clusters.cluster(name).document["accessConfig"]["authenticationMode"]
        return mode

    def _entry(self, request: Document) -> Entry:
        self._check_mode(request["clusterName"])
        entry = self._entries.get((request["clusterName"], request["principalArn"]))
        if entry is None:
            raise AwsError(
                "ResourceNotFoundException",
                "The specified principalArn could not be found. You can view"
                " your available access entries with 'list-access-entries'.",
            )
        return entry

    def _pod_identity(self, request: Document) -> Document:
        known = self._pod_identities.get((request["clusterName"], request["associationId"]))
        if known is None:
            raise AwsError("ResourceNotFoundException", f"Association not found: {request['associationId']}")
        return known


def _check_groups(groups: list[str]) -> None:
    for group in groups:
        if group.startswith(("system:", "eks:", "aws:", "amazon:", "iam:")):
            raise AwsError(
                "InvalidParameterException",
                f"The kubernetes group name {group} is invalid, it cannot start"
                f" with {group.partition(':')[0]}:",
            )


def _check_type(kind: str, request: Document) -> None:
    """EKS user guide, creating-access-entries: only a standard entry names groups or a user of its own."""
    for member in ("kubernetesGroups", "username"):
        if kind in _OF_NODES and request.get(member):
            raise AwsError(
                "InvalidParameterException",
                f"{member} cannot be specified for an access entry of type {kind}",
            )


def _username(principal: str, kind: str) -> str:
    """EKS's user name for a principal whose entry names no user."""
    if kind in _OF_NODES:
        return "system:node:{{EC2PrivateDNSName}}"
    if ":role/" not in principal:
        return principal
    account, name = principal.split(":")[4], principal.rpartition("/")[2]
    return f"arn:aws:sts::{account}:assumed-role/{name}/{{{{SessionName}}}}"
