"""EKS add-ons: their versions, and their way to ACTIVE. A listener starts their programs in the cluster."""

import secrets
from collections.abc import Iterator
from typing import Protocol

from local.aws.api.own_services import AwsError, Document
from local.aws.api.service_context import ServiceContext
from local.aws.eks.clusters import Clusters
from local.aws.eks.updates import Owner, Updates
from local.aws.timers import Timers

#: Default versions for Kubernetes 1.35 [est]; only their form matters.
VERSIONS = {
    "coredns": "v1.13.1-eksbuild.1",
    "kube-proxy": "v1.35.0-eksbuild.2",
    "vpc-cni": "v1.21.1-eksbuild.1",
    "metrics-server": "v0.8.0-eksbuild.6",
    "external-dns": "v0.20.0-eksbuild.3",
    "eks-pod-identity-agent": "v1.3.10-eksbuild.2",
    "cert-manager": "v1.19.2-eksbuild.1",
    "eks-node-monitoring-agent": "v1.5.0-eksbuild.1",
    "aws-ebs-csi-driver": "v1.54.0-eksbuild.1",
}
CREATE_SECONDS = 3.0


class Listener(Protocol):
    """Starts, changes and removes what an add-on has in a cluster. `configuration` is JSON or YAML, or empty."""

    def __call__(self, name: str, *, there: bool, configuration: str) -> None: ...


class Addons:
    """Public methods with the names of boto3's operations are operations of `eks`."""

    def __init__(
        self, service_context: ServiceContext, timers: Timers, clusters: Clusters, updates: Updates
    ) -> None:
        self._service_context = service_context
        self._timers = timers
        self._clusters = clusters
        self._updates = updates
        self._addons: dict[tuple[str, str], Document] = {}
        self.listeners: list[Listener] = []
        clusters.removed.append(self._forget)

    def create_addon(self, request: Document) -> Document:
        cluster = self._clusters.cluster(request["clusterName"]).name
        name = request["addonName"]
        _check_known(name)
        if (cluster, name) in self._addons:
            raise AwsError(
                "ResourceInUseException", "Addon already exists.", clusterName=cluster, addonName=name
            )
        now = self._service_context.clock.now()
        addon: Document = {
            "addonName": name,
            "clusterName": cluster,
            "status": "CREATING",
            "addonVersion": request.get("addonVersion") or VERSIONS[name],
            "health": {"issues": []},
            "addonArn": self._service_context.arn("eks", f"addon/{cluster}/{name}/{secrets.token_hex(16)}"),
            "createdAt": now,
            "modifiedAt": now,
            "serviceAccountRoleArn": request.get("serviceAccountRoleArn"),
            "tags": request.get("tags") or {},
            "configurationValues": request.get("configurationValues"),
        }
        self._addons[cluster, name] = addon
        self._timers.after(CREATE_SECONDS, lambda: self._come(addon))
        return {"addon": addon}

    def tagged(self) -> Iterator[tuple[str, dict[str, str]]]:
        """ARN and tags of each add-on."""
        yield from ((addon["addonArn"], addon["tags"]) for addon in list(self._addons.values()))

    def describe_addon(self, request: Document) -> Document:
        return {"addon": self._addon(request)}

    def list_addons(self, request: Document) -> Document:
        cluster = self._clusters.cluster(request["clusterName"]).name
        return {"addons": [name for its, name in self._addons if its == cluster]}

    def update_addon(self, request: Document) -> Document:
        addon = self._addon(request)
        changed = {
            key: request[key]
            for key in ("addonVersion", "serviceAccountRoleArn", "configurationValues")
            if request.get(key)
        }
        addon.update(changed, modifiedAt=self._service_context.clock.now())
        owner = Owner(addon["clusterName"], addon=addon["addonName"])
        params: dict[str, object] = {key[0].upper() + key[1:]: value for key, value in changed.items()}
        update = self._updates.start(owner, "AddonUpdate", params)

        def finish() -> None:
            self._come(addon)
            update.status = "Successful"

        self._timers.after(CREATE_SECONDS, finish)
        return {"update": update.document()}

    def delete_addon(self, request: Document) -> Document:
        addon = self._addon(request)
        addon["status"] = "DELETING"
        key = (addon["clusterName"], addon["addonName"])
        self._timers.after(CREATE_SECONDS, lambda: self._remove(key))
        return {"addon": addon}

    def describe_addon_versions(self, request: Document) -> Document:
        version = request.get("kubernetesVersion") or "1.35"
        wanted = request.get("addonName")
        compatible = [{"clusterVersion": version, "platformVersions": ["*"], "defaultVersion": True}]
        return {
            "addons": [
                {
                    "addonName": name,
                    "type": "networking" if name in ("vpc-cni", "coredns", "kube-proxy") else "observability",
                    "owner": "aws",
                    "publisher": "eks",
                    "addonVersions": [
                        {
                            "addonVersion": default,
                            "architecture": ["amd64", "arm64"],
                            "computeTypes": ["ec2", "auto"],
                            "compatibilities": compatible,
                            "requiresConfiguration": False,
                            "requiresIamPermissions": name == "vpc-cni",
                        }
                    ],
                }
                for name, default in VERSIONS.items()
                if wanted in (None, name)
            ]
        }

    def _come(self, addon: Document) -> None:
        self._tell(addon["addonName"], there=True, configuration=addon["configurationValues"] or "")
        addon.update(status="ACTIVE")

    def _remove(self, key: tuple[str, str]) -> None:
        self._addons.pop(key, None)
        self._tell(key[1], there=False)

    def _tell(self, name: str, *, there: bool, configuration: str = "") -> None:
        for listener in self.listeners:
            listener(name, there=there, configuration=configuration)

    def _forget(self, cluster: str) -> None:
        for key in [key for key in self._addons if key[0] == cluster]:
            # Its programs disappear with the cluster.
            self._addons.pop(key, None)

    def _addon(self, request: Document) -> Document:
        cluster, name = request["clusterName"], request["addonName"]
        self._clusters.cluster(cluster)
        if (cluster, name) not in self._addons:
            raise AwsError(
                "ResourceNotFoundException",
                f"No addon: {name} found in cluster: {cluster}",
                clusterName=cluster,
                addonName=name,
            )
        return self._addons[cluster, name]


def _check_known(name: str) -> None:
    if name not in VERSIONS:
        raise AwsError(
            "InvalidParameterException",
            f"Addon {name} specified is not supported in any Kubernetes version",
            addonName=name,
        )
