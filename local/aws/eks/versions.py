"""The Kubernetes versions that EKS offers: until when it supports each, and how a control plane gets a newer one.

The dates are a table of their own: the product's table (lifecycle.json) is compared with it.
"""

from contextlib import suppress
from datetime import UTC, date, datetime

from local.aws.api.own_services import AwsError, Document
from local.aws.eks.clusters import Cluster, Clusters
from local.aws.eks.updates import Owner, Updates
from local.aws.timers import Timers
from local.clock import VirtualClock
from local.fleet.boot.images import minor

#: The days at whose begin, in UTC, standard and extended support end (EKS release calendar; of 1.36 the second a year
#: later [est]).
ENDS = {
    "1.30": (date(2025, 7, 23), date(2026, 7, 23)),
    "1.31": (date(2025, 11, 26), date(2026, 11, 26)),
    "1.32": (date(2026, 3, 23), date(2027, 3, 23)),
    "1.33": (date(2026, 7, 29), date(2027, 7, 29)),
    "1.34": (date(2026, 12, 2), date(2027, 12, 2)),
    "1.35": (date(2027, 3, 27), date(2028, 3, 27)),
    "1.36": (date(2027, 8, 2), date(2028, 8, 2)),
}
STANDARD, EXTENDED, UNSUPPORTED = "STANDARD_SUPPORT", "EXTENDED_SUPPORT", "UNSUPPORTED"
#: An update takes some minutes (EKS API reference, UpdateClusterVersion) [est].
UPDATE_SECONDS = 8 * 60.0
#: How long a new cluster past standard support keeps its version, without extended support [est].
UNTIL_UPGRADED_SECONDS = 24 * 3600.0
#: A kubelet may be three minor versions older than the API server (EKS user guide, update-cluster).
SKEW = 3


class ClusterVersions:
    """Public methods with the names of boto3's operations are operations of `eks`."""

    def __init__(self, clock: VirtualClock, timers: Timers, clusters: Clusters, updates: Updates) -> None:
        self._clock, self._timers = clock, timers
        self._clusters, self._updates = clusters, updates
        clusters.versions = tuple(ENDS)
        clusters.created.append(self._keep_in_standard_support)

    def describe_cluster_versions(self, request: Document) -> Document:
        named = request.get("clusterVersions") or []
        status = request.get("versionStatus")
        found = [self._described(each) for each in sorted(ENDS, key=minor, reverse=True)]
        return {
            "clusterVersions": [
                each
                for each in found
                if (each["clusterVersion"] in named if named else each["versionStatus"] != UNSUPPORTED)
                and status in (None, each["versionStatus"])
            ]
        }

    def update_cluster_version(self, request: Document) -> Document:
        cluster = self._clusters.idle(request["name"])
        version, present = request["version"], cluster.document["version"]
        if version not in ENDS or minor(version) != minor(present) + 1:
            raise AwsError(
                "InvalidParameterException",
                f"Unsupported Kubernetes minor version update from {present} to {version}",
                clusterName=cluster.name,
            )
        self._check_skew(cluster, version)
        update = self._updates.start(Owner(cluster.name), "VersionUpdate", {"Version": version})
        cluster.status = "UPDATING"

        def finish() -> None:
            cluster.document["version"], cluster.status = version, "ACTIVE"
            update.status = "Successful"

        self._timers.after(UPDATE_SECONDS, finish)
        return {"update": update.document()}

    def _check_skew(self, cluster: Cluster, version: str) -> None:
        """Whether the new version leaves no node group too far behind."""
        oldest = minor(version) - SKEW
        versions = self._clusters.node_versions(cluster.name)
        behind = [name for name, its in versions.items() if minor(its) < oldest]
        if behind:
            # hashicorp/terraform-provider-aws 19478
            raise AwsError(
                "InvalidRequestException",
                f"Nodegroups {', '.join(behind)} must be updated to match cluster version"
                f" {cluster.document['version']} before updating cluster version",
                clusterName=cluster.name,
            )

    def _keep_in_standard_support(self, cluster: Cluster) -> None:
        """Without extended support, EKS upgrades a cluster whose version is past standard support."""
        if self._is_behind(cluster):
            self._timers.after(UNTIL_UPGRADED_SECONDS, lambda: self._upgrade(cluster))

    def _upgrade(self, cluster: Cluster) -> None:
        if not self._is_behind(cluster):
            return
        following = f"1.{minor(cluster.document['version']) + 1}"
        with suppress(AwsError):  # deleted, busy or nodes too far behind
            self.update_cluster_version({"name": cluster.name, "version": following})
        self._keep_in_standard_support(cluster)

    def _is_behind(self, cluster: Cluster) -> bool:
        ordinary = cluster.document["upgradePolicy"]["supportType"] == "STANDARD"
        return ordinary and self._status(cluster.document["version"]) != STANDARD

    def _described(self, version: str) -> Document:
        standard, extended = (_midnight(day) for day in ENDS[version])
        return {
            "clusterVersion": version,
            "clusterType": "eks",
            "defaultPlatformVersion": "eks.9",
            "defaultVersion": version == self._clusters.default_version,
            "endOfStandardSupportDate": standard,
            "endOfExtendedSupportDate": extended,
            "versionStatus": self._status(version),
            "kubernetesPatchVersion": f"{version}.4",
        }

    def _status(self, version: str) -> str:
        standard, extended = (_midnight(day) for day in ENDS[version])
        now = self._clock.now()
        return STANDARD if now < standard else EXTENDED if now < extended else UNSUPPORTED


def _midnight(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), UTC)
