"""The versions that EKS offers, and what it does to a new cluster past standard support."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.data import lifecycle
from local.aws.eks import versions
from local.clock import VirtualClock
from tests.local.aws.eks_lab import Lab
from tests.local.conftest import embedded

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture
def aws(tmp_path):
    with embedded(tmp_path, VirtualClock(tmp_path / "clock", start=NOON)) as made:
        yield made


def offered(aws, **asked):
    found = aws.call("eks", "describe_cluster_versions", **asked)["clusterVersions"]
    return {each["clusterVersion"]: each["versionStatus"] for each in found}


def test_eks_tells_the_versions_that_it_supports_with_their_dates(aws):
    standard, extended = "STANDARD_SUPPORT", "EXTENDED_SUPPORT"
    assert offered(aws) == {
        "1.36": standard,
        "1.35": standard,
        "1.34": standard,
        "1.33": extended,
        "1.32": extended,
    }
    assert offered(aws, clusterVersions=["1.31"]) == {"1.31": "UNSUPPORTED"}
    assert offered(aws, versionStatus=extended) == {"1.33": extended, "1.32": extended}


def test_support_ends_at_the_begin_of_its_day(tmp_path):
    begin = datetime(2026, 12, 2, tzinfo=UTC)
    with embedded(tmp_path, VirtualClock(tmp_path / "clock", start=begin)) as aws:
        assert offered(aws, clusterVersions=["1.34"]) == {"1.34": "EXTENDED_SUPPORT"}


def test_the_products_table_has_the_versions_and_dates_of_eks():
    ours = {version: lifecycle.kubernetes(version) for version in versions.ENDS}
    assert ours == {version: lifecycle.Support(*ends) for version, ends in versions.ENDS.items()}
    assert lifecycle.known_kubernetes()[-1] == "1.36"


@pytest.mark.parametrize(
    ("version", "policy", "then"),
    [("1.33", "STANDARD", "1.34"), ("1.33", "EXTENDED", "1.33"), ("1.34", "STANDARD", "1.34")],
)
def test_a_new_cluster_past_standard_support_is_upgraded_unless_it_has_extended_support(
    aws, version, policy, then
):
    lab = Lab(aws, version=version, upgradePolicy={"supportType": policy})
    aws.clock.sleep(timedelta(hours=23).total_seconds())
    assert lab.cluster()["version"] == version

    aws.clock.sleep(timedelta(hours=2).total_seconds())

    assert lab.cluster()["version"] == then
