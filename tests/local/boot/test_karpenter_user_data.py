"""User data as Karpenter 1.14 writes it (pkg/providers/amifamily/bootstrap), and which images are EKS's at all."""

import pytest

from local.aws.eks.booting import boot_of_image
from tests.local.karpenter_user_data import ENDPOINT, LABELS, bottlerocket, node_config

AL2023 = "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260724"
BOTTLEROCKET = "bottlerocket-aws-k8s-1.35-nvidia-x86_64-v1.50.0-431fe75a"
DEEP_LEARNING = "Deep Learning Base OSS Nvidia Driver GPU AMI (Amazon Linux 2023) 20260720"
CLUSTER = {
    "name": "lab",
    "version": "1.34",
    "endpoint": ENDPOINT,
    "certificateAuthority": {"data": "Y2E="},
}
TAINTS = [
    {"key": "karpenter.sh/unregistered", "value": "", "effect": "NoExecute"},
    {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
]


@pytest.mark.parametrize(
    ("name", "text", "ami_type"),
    [
        (AL2023, node_config(), "AL2023_x86_64_NVIDIA"),
        (BOTTLEROCKET, bottlerocket(), "BOTTLEROCKET_x86_64_NVIDIA"),
        ("", node_config(), "AL2023_x86_64_NVIDIA"),
    ],
)
def test_a_machine_takes_labels_and_taints_from_karpenters_data(name, text, ami_type):
    start = boot_of_image(name, "g5.xlarge", text, CLUSTER)

    assert start.problem == ""
    assert start.ami_type == ami_type
    assert dict(start.settings.labels) == LABELS
    assert sorted((dict(one) for one in start.settings.taints), key=lambda one: one["key"]) == TAINTS


def test_the_version_of_the_image_is_the_kubelets():
    assert boot_of_image(AL2023, "g5.xlarge", node_config(), CLUSTER).kubernetes_version == "1.35"
    assert boot_of_image("", "g5.xlarge", node_config(), CLUSTER).kubernetes_version == "1.34"


def test_the_number_of_pods_comes_from_the_kubelets_configuration():
    assert boot_of_image(AL2023, "g5.xlarge", node_config(max_pods=40), CLUSTER).settings.max_pods == 40
    assert (
        boot_of_image(BOTTLEROCKET, "g5.xlarge", bottlerocket(max_pods=40), CLUSTER).settings.max_pods == 40
    )


def test_a_deep_learning_image_never_joins_whatever_its_data_says():
    start = boot_of_image(DEEP_LEARNING, "g5.xlarge", node_config(), CLUSTER)

    assert start.problem == "no start-up program of an EKS image understands the user data"
