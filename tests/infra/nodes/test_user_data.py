"""The user data of every image, as the image itself reads it."""

import subprocess
from pathlib import Path

import pytest

from lamplighter.adapters.aws.capacity.user_data import authority
from lamplighter.data import versions
from tests.infra.conftest import Template
from tests.infra.nodes.deployed import AUTHORITY, CLUSTER, DNS, ENDPOINT, SERVICES, group, launch_template
from tests.infra.nodes.readers import bootstrap, flags, node_config, scripts, settings, start_script

LABELS = {
    "eks.amazonaws.com/nodegroup": "gpu-lab-{name}",
    "eks.amazonaws.com/nodegroup-image": "ami-0123456789abcdef0",
    "eks.amazonaws.com/capacityType": "ON_DEMAND",
}


def labels(name: str) -> dict[str, str]:
    return {key: value.format(name=name) for key, value in LABELS.items()}


def user_data(cluster: Template, name: str) -> str:
    text: str = launch_template(cluster, f"gpu-lab-{name}")["UserData"]
    return text


def registered(given: dict[str, list[str]], name: str, taints: list[str]) -> None:
    assert dict(label.split("=") for label in given["node-labels"]) == labels(name)
    assert given.get("register-with-taints", []) == taints


def test_eks_merges_a_node_config_with_its_own(every_image: Template) -> None:
    text = user_data(every_image, "al2023")
    assert node_config(text) == {"kubelet": {"config": {"maxPods": 40}}}
    assert scripts(text) == ["#!/bin/bash\ndnf install -y htop\n"]
    assert "UserData" not in launch_template(every_image, "gpu-lab-plain")


def test_nodeadm_is_told_the_whole_cluster_for_an_image_of_the_user_s(every_image: Template) -> None:
    for name, taints in (
        ("own-al2023", ["team=a:NoExecute"]),
        ("ng-own", ["nvidia.com/gpu=true:NoSchedule"]),
    ):
        spec = node_config(user_data(every_image, name))

        assert spec["cluster"] == {
            "name": CLUSTER,
            "apiServerEndpoint": ENDPOINT,
            "certificateAuthority": AUTHORITY,
            "cidr": SERVICES,
        }
        registered(flags(" ".join(spec["kubelet"]["flags"])), name, taints)
    assert node_config(user_data(every_image, "own-al2023"))["kubelet"]["config"] == {"maxPods": 40}


def test_amazon_linux_2_is_given_its_number_of_pods_before_eks_starts_it(
    every_image: Template, tmp_path: Path
) -> None:
    """EKS's own call names a number as well. The line is that of bootstrap.sh, and comes after it read its options."""
    pods, packages = scripts(user_data(every_image, "al2"))
    assert packages == "#!/bin/bash\nyum install -y htop\n"
    of_eks = tmp_path / "bootstrap.sh"
    of_eks.write_text(
        '  KUBELET_EXTRA_ARGS=$1\nKUBELET_EXTRA_ARGS="${KUBELET_EXTRA_ARGS:-}"\necho "$KUBELET_EXTRA_ARGS"\n',
        "utf-8",
    )

    subprocess.run(["/bin/bash", "-c", pods.replace("/etc/eks/bootstrap.sh", str(of_eks))], check=True)

    said = subprocess.run(
        ["/bin/bash", str(of_eks), "--max-pods=17"], capture_output=True, text=True, check=True
    ).stdout
    assert said == "--max-pods=17 --max-pods=40\n"


def test_bootstrap_is_told_the_whole_cluster_for_an_image_of_the_user_s(every_image: Template) -> None:
    named, options = bootstrap(user_data(every_image, "own-al2"))

    extra = flags(options.pop("--kubelet-extra-args"))
    assert named == CLUSTER
    assert options == {
        "--apiserver-endpoint": ENDPOINT,
        "--b64-cluster-ca": AUTHORITY,
        "--dns-cluster-ip": DNS,
        "--use-max-pods": "false",
    }
    assert extra["max-pods"] == ["40"]
    registered(extra, "own-al2", ["team=a:NoExecute"])


def test_bottlerocket_reads_settings(every_image: Template) -> None:
    assert settings(user_data(every_image, "rocket")) == {"max-pods": 40}

    own = settings(user_data(every_image, "own-rocket"))
    assert own == {
        "cluster-name": CLUSTER,
        "api-server": ENDPOINT,
        "cluster-certificate": AUTHORITY,
        "cluster-dns-ip": DNS,
        "max-pods": 40,
        "node-labels": labels("own-rocket"),
        "node-taints": {"team": ["a:NoExecute"]},
    }
    pool = settings(user_data(every_image, "ng-own-rocket"))
    assert pool["node-taints"] == {"nvidia.com/gpu": ["true:NoSchedule"]}
    assert "max-pods" not in pool


def test_windows_calls_its_start_script_only_for_an_image_of_the_user_s(every_image: Template) -> None:
    given = start_script(user_data(every_image, "own-windows"))

    extra = flags(given.pop("KubeletExtraArgs"))
    assert given == {
        "EKSClusterName": CLUSTER,
        "APIServerEndpoint": ENDPOINT,
        "Base64ClusterCA": AUTHORITY,
        "DNSClusterIP": DNS,
        "ServiceCIDR": SERVICES,
    }
    registered(extra, "own-windows", ["os=windows:NoSchedule"])
    assert "UserData" not in launch_template(every_image, "gpu-lab-windows")


@pytest.mark.parametrize("name", ["own-al2023", "own-al2", "own-rocket", "own-windows"])
def test_the_doctor_reads_the_authority_of_every_image_of_the_user_s(
    every_image: Template, name: str
) -> None:
    assert authority(user_data(every_image, name)) == AUTHORITY


@pytest.mark.parametrize(("name", "device"), [
    ("al2023", "/dev/xvda"),
    ("al2", "/dev/xvda"),
    ("rocket", "/dev/xvdb"),
    ("own-rocket", "/dev/xvdb"),
    ("windows", "/dev/sda1"),
    ("own-windows", "/dev/sda1"),
    ("ng-own-rocket", "/dev/xvdb"),
])  # fmt: skip
def test_the_disk_is_the_one_with_images_and_pods(every_image: Template, name: str, device: str) -> None:
    [disk] = launch_template(every_image, f"gpu-lab-{name}")["BlockDeviceMappings"]
    assert disk["DeviceName"] == device
    assert disk["Ebs"]["Encrypted"] is True


def test_a_family_is_tried_whole_and_in_part(every_image: Template) -> None:
    """Each family has a group with EKS's image here, and one with an image of the user's."""
    known = versions.ami_types()
    of_eks = {
        known[each["AmiType"]].family
        for each in every_image.properties("AWS::EKS::Nodegroup")
        if "AmiType" in each
    }
    own = {
        name for name in ("al2023", "al2", "rocket", "windows") if group(every_image, f"gpu-lab-own-{name}")
    }
    assert len(own) == len(of_eks) == len({image.family for image in known.values()})
