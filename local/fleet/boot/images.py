"""The machine images of managed node groups, by EKS's `amiType`, and what a node reports about the one it runs.

The versions of operating systems are of the releases of July 2026; only their form matters [est].
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class Family(StrEnum):
    """An operating system with its own form of user data."""

    AL2 = "Amazon Linux 2"
    AL2023 = "Amazon Linux 2023"
    BOTTLEROCKET = "Bottlerocket"
    WINDOWS = "Windows"


@dataclass(frozen=True)
class Image:
    """One kind of image. `edition` is what is left of its name: STANDARD, FIPS, CORE_2022 and so on."""

    family: Family
    architecture: str
    nvidia: bool
    edition: str

    @property
    def windows(self) -> bool:
        return self.family is Family.WINDOWS

    @property
    def node_architecture(self) -> str:
        """As Kubernetes and Go write it."""
        return "arm64" if self.architecture == "arm64" else "amd64"


CUSTOM = "CUSTOM"
#: The values of amiType in EKS's service model (botocore 1.44.5), without CUSTOM.
AMI_TYPES = (
    "AL2_x86_64",
    "AL2_x86_64_GPU",
    "AL2_ARM_64",
    "AL2023_x86_64_STANDARD",
    "AL2023_x86_64_NEURON",
    "AL2023_x86_64_NVIDIA",
    "AL2023_ARM_64_STANDARD",
    "AL2023_ARM_64_NVIDIA",
    "BOTTLEROCKET_x86_64",
    "BOTTLEROCKET_x86_64_FIPS",
    "BOTTLEROCKET_x86_64_NVIDIA",
    "BOTTLEROCKET_x86_64_NVIDIA_FIPS",
    "BOTTLEROCKET_ARM_64",
    "BOTTLEROCKET_ARM_64_FIPS",
    "BOTTLEROCKET_ARM_64_NVIDIA",
    "BOTTLEROCKET_ARM_64_NVIDIA_FIPS",
    *(f"WINDOWS_{kind}_{year}_x86_64" for year in (2019, 2022, 2025) for kind in ("CORE", "FULL")),
)
_PREFIXES = {
    "AL2": Family.AL2,
    "AL2023": Family.AL2023,
    "BOTTLEROCKET": Family.BOTTLEROCKET,
    "WINDOWS": Family.WINDOWS,
}
_ARCHITECTURES = {"x86_64": "x86_64", "ARM_64": "arm64"}
#: Windows' build numbers, as a node reports them.
_BUILDS = {"2019": "10.0.17763.7558", "2022": "10.0.20348.4171", "2025": "10.0.26100.4946"}


def image_of(ami_type: str) -> Image:
    """The image of an amiType. Raises KeyError for an unknown one, and for CUSTOM."""
    if ami_type not in AMI_TYPES:
        raise KeyError(ami_type)
    prefix, _, rest = ami_type.partition("_")
    written = "ARM_64" if "ARM_64" in rest else "x86_64"
    edition = re.sub(r"_+", "_", rest.replace(written, "")).strip("_")
    return Image(
        _PREFIXES[prefix],
        _ARCHITECTURES[written],
        nvidia="NVIDIA" in edition or edition == "GPU",
        edition=edition.replace("NVIDIA", "").strip("_"),
    )


def ami_type_of(family: Family, architecture: str, *, nvidia: bool) -> str:
    """The amiType whose image a custom image is like."""
    written = "ARM_64" if architecture == "arm64" else "x86_64"
    if family is Family.AL2:
        return "AL2_ARM_64" if written == "ARM_64" else f"AL2_x86_64{'_GPU' if nvidia else ''}"
    if family is Family.AL2023:
        return f"AL2023_{written}_{'NVIDIA' if nvidia else 'STANDARD'}"
    if family is Family.BOTTLEROCKET:
        return f"BOTTLEROCKET_{written}{'_NVIDIA' if nvidia else ''}"
    return "WINDOWS_CORE_2022_x86_64"


def node_info(image: Image, kubernetes_version: str) -> dict[str, str]:
    """The part of a node's `nodeInfo` that depends on its image."""
    suffix = "aarch64" if image.architecture == "arm64" else "x86_64"
    common = {
        "architecture": image.node_architecture,
        "kubeletVersion": f"v{kubernetes_version}.4-eks-1a2b3c4",
        "operatingSystem": "windows" if image.windows else "linux",
        "containerRuntimeVersion": "containerd://2.1.4",
    }
    if image.windows:
        year = image.edition[-4:]
        return {
            **common,
            "containerRuntimeVersion": "containerd://1.7.28",
            "kernelVersion": _BUILDS[year],
            "osImage": f"Windows Server {year} Datacenter",
        }
    if image.family is Family.AL2:
        return {
            **common,
            "containerRuntimeVersion": "containerd://1.7.27",
            "kernelVersion": f"5.10.245-241.976.amzn2.{suffix}",
            "osImage": "Amazon Linux 2",
        }
    # amazon-eks-ami: kernel 6.12 from Kubernetes 1.33 on, 6.1 before.
    old = minor(kubernetes_version) < 33  # noqa: PLR2004 -- the version of the rule above
    if image.family is Family.BOTTLEROCKET:
        parts = ["aws-k8s", kubernetes_version, *(["nvidia"] if image.nvidia else [])]
        parts += ["fips"] if image.edition == "FIPS" else []
        return {
            **common,
            "kernelVersion": "6.1.148" if old else "6.12.40",
            "osImage": f"Bottlerocket OS 1.50.0 ({'-'.join(parts)})",
        }
    kernel = "6.1.148-173.267" if old else "6.12.40-63.114"
    return {
        **common,
        "kernelVersion": f"{kernel}.amzn2023.{suffix}",
        "osImage": "Amazon Linux 2023.8.20260714",
    }


def windows_build(image: Image) -> str:
    """The label node.kubernetes.io/windows-build: major, minor and build without the revision."""
    return _BUILDS[image.edition[-4:]].rpartition(".")[0]


def minor(version: str) -> int:
    """35 of 1.35."""
    return int(version.partition(".")[2])
