"""EKS's cluster: its endpoint and its certificate authority. Every kind of capacity has one."""

import base64
from datetime import UTC, datetime
from typing import Any

from tests.world.aws import authority
from tests.world.outside import ACCOUNT, REGION

Json = dict[str, Any]
STANDARD_ENDS = datetime(2026, 12, 2, tzinfo=UTC)


class Cluster:
    """One cluster, and nothing in it."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster

    def describe_cluster(self, *, name: str) -> Json:
        data = base64.b64encode(authority.pem()).decode()
        return {
            "cluster": {
                "name": name,
                "status": "ACTIVE",
                "version": "1.34",
                "endpoint": "https://kubernetes.world",
                "certificateAuthority": {"data": data},
                "kubernetesNetworkConfig": {"serviceIpv4Cidr": "172.20.0.0/16"},
            }
        }

    def describe_cluster_versions(self) -> Json:
        ends = {"endOfStandardSupportDate": STANDARD_ENDS, "endOfExtendedSupportDate": STANDARD_ENDS}
        return {"clusterVersions": [{"clusterVersion": "1.34", **ends}]}

    def list_access_entries(self, *, clusterName: str) -> Json:
        roles = (f"gpu-lab-{REGION}-{function}" for function in ("cluster", "doctor", "guard"))
        return {"accessEntries": [f"arn:aws:iam::{ACCOUNT}:role/{role}" for role in roles]}

    def describe_access_entry(self, *, clusterName: str, principalArn: str) -> Json:
        return {
            "accessEntry": {"clusterName": clusterName, "principalArn": principalArn, "type": "EC2_LINUX"}
        }
