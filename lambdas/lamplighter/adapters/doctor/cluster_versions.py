"""Reads which Kubernetes versions EKS supports, and until when."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.data.lifecycle import Support

if TYPE_CHECKING:
    from mypy_boto3_eks import EKSClient

_VERSION = re.compile(r"1\.\d{1,3}")


@border
class ClusterVersions:
    """The versions of the region."""

    def __init__(self, eks: "EKSClient | None" = None) -> None:
        self._eks: EKSClient = eks or client("eks")

    def supported(self) -> Mapping[str, Support]:
        """The ends of support by version, of the versions whose ends EKS tells."""
        found: dict[str, Support] = {}
        with outside("eks:DescribeClusterVersions", "this region"):
            for page in self._eks.get_paginator("describe_cluster_versions").paginate():
                for each in page["clusterVersions"]:
                    standard = _day(each.get("endOfStandardSupportDate"))
                    extended = _day(each.get("endOfExtendedSupportDate"))
                    version = str(each.get("clusterVersion"))
                    if standard and extended and _VERSION.fullmatch(version):
                        found[version] = Support(standard, extended)
        return found


def _day(instant: object) -> date | None:
    return instant.astimezone(UTC).date() if isinstance(instant, datetime) else None
