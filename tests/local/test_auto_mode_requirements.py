"""Which instance types the requirements of a NodePool leave, as EKS Auto Mode would choose among them."""

import pytest

from local.auto_mode.requirements import CAPACITY_TYPE, EKS, TYPE, capacity_types, labels_of, types


def needs(key, operator, *values):
    return {"key": key, "operator": operator, "values": list(values)}


def test_a_type_is_itself():
    assert types([needs(TYPE, "In", "g5.xlarge")]) == ["g5.xlarge"]


def test_a_family_that_auto_mode_does_not_start_leaves_nothing():
    # g7 has GPUs and is not in the list of the user guide.
    assert types([needs(f"{EKS}instance-family", "In", "g7")]) == []


def test_category_and_architecture_together_leave_no_arm_machine():
    both = [needs(f"{EKS}instance-category", "In", "g", "p"), needs("kubernetes.io/arch", "In", "amd64")]
    found = types(both)
    assert "g5.xlarge" in found
    assert not any(name.startswith("g5g.") for name in found)
    assert "g5g.xlarge" in types(both[:1])


@pytest.mark.parametrize(
    ("requirement", "left"),
    [
        (needs(f"{EKS}instance-gpu-count", "Gt", "1"), "g5.12xlarge"),
        (needs(f"{EKS}instance-gpu-count", "Lt", "2"), "g5.xlarge"),
        (needs(f"{EKS}instance-gpu-name", "NotIn", "t4"), "g5.xlarge"),
        (needs(f"{EKS}instance-gpu-name", "DoesNotExist"), "m5.large"),
        (needs(f"{EKS}instance-gpu-name", "Exists"), "g5.xlarge"),
    ],
)
def test_every_operator_leaves_what_fits(requirement, left):
    among = needs(TYPE, "In", "g5.xlarge", "g5.12xlarge", "g4dn.xlarge", "m5.large")
    assert left in types([among, requirement])
    assert set(types([among, requirement])) < {"g5.xlarge", "g5.12xlarge", "g4dn.xlarge", "m5.large"}


def test_an_unknown_requirement_of_eks_leaves_nothing():
    # Document 001 wrote a key of Auto Mode for Karpenter; here it is the other way about.
    assert types([needs(f"{EKS}instance-colour", "In", "red")]) == []


def test_a_type_tells_its_gpus():
    labels = labels_of("g5.12xlarge")
    assert labels[f"{EKS}instance-gpu-count"] == "4"
    assert labels[f"{EKS}instance-gpu-name"] == "a10g"
    assert f"{EKS}instance-gpu-name" not in labels_of("m5.large")


def test_spot_comes_first_where_both_may_be_bought():
    assert capacity_types([]) == ["on-demand"]
    assert capacity_types([needs(CAPACITY_TYPE, "In", "on-demand")]) == ["on-demand"]
    assert capacity_types([needs(CAPACITY_TYPE, "In", "on-demand", "spot")]) == ["spot", "on-demand"]
