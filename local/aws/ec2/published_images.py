"""The machine images that AWS publishes: their names, their parameters in SSM, and the images themselves in EC2.

An image comes into being here when somebody asks for it. Any release with the form of one counts as published [est].
Sources: amazon-eks-ami and Bottlerocket releases; karpenter-provider-aws 1.14.3, pkg/providers/amifamily (al2023.go,
bottlerocket.go), for the parameters of a pinned release.
"""

import hashlib
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from moto.core.utils import utcnow
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.amis import Ami
from moto.ssm.models import Parameter, ParameterDict

#: What `recommended` and `latest` mean here.
AL2023_RELEASE, BOTTLEROCKET_RELEASE = "v20260724", "1.50.0"
#: Owners of the images: EKS, Bottlerocket, Deep Learning AMIs.
_EKS, _BOTTLEROCKET, _DEEP_LEARNING = "602401143452", "092701018921", "898082745236"

_AL2023 = re.compile(
    r"/aws/service/eks/optimized-ami/(?P<version>1\.\d+)/amazon-linux-2023/(?P<arch>x86_64|arm64)"
    r"/(?P<variant>standard|nvidia|neuron)/(?P<release>[\w.-]+)/image_id"
)
_AL2023_NAME = "amazon-eks-node-al2023-{arch}-{variant}-{version}-{release}"
_BOTTLEROCKET_PARAMETER = re.compile(
    r"/aws/service/bottlerocket/(?P<variant>aws-k8s-1\.\d+(?:-nvidia)?(?:-fips)?)/(?P<arch>x86_64|arm64)"
    r"/(?P<release>latest|\d+\.\d+\.\d+)/image_id"
)


@dataclass(frozen=True)
class PublishedImage:
    """`identity` is given only where a document names it."""

    name: str
    architecture: str
    owner: str
    created: datetime
    identity: str = ""

    @property
    def id(self) -> str:
        return self.identity or f"ami-{hashlib.sha256(self.name.encode()).hexdigest()[:17]}"


#: The Deep Learning AMI of document 001. It has driver and CUDA, and no program that joins a cluster.
DEEP_LEARNING = PublishedImage(
    "Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.8 (Amazon Linux 2023) 20251112",
    "x86_64",
    _DEEP_LEARNING,
    datetime(2025, 11, 12, tzinfo=UTC),
    "ami-00aec23bbe1278680",
)


def behind(parameter: str) -> PublishedImage | None:
    """The image that a parameter of SSM names; None if AWS has no such parameter."""
    found = _AL2023.fullmatch(parameter)
    if found is not None:
        return _al2023(found)
    found = _BOTTLEROCKET_PARAMETER.fullmatch(parameter)
    if found is None:
        return None
    release = BOTTLEROCKET_RELEASE if found["release"] == "latest" else found["release"]
    name = f"bottlerocket-{found['variant']}-{found['arch']}-v{release}"
    return PublishedImage(name, found["arch"], _BOTTLEROCKET, datetime(2026, 7, 1, tzinfo=UTC))


def _al2023(found: re.Match[str]) -> PublishedImage | None:
    start = _AL2023_NAME.format(**{**found.groupdict(), "release": ""})
    said = found["release"]
    release = AL2023_RELEASE if said == "recommended" else said.removeprefix(start)
    if (found["arch"], found["variant"]) == ("arm64", "neuron") or not re.fullmatch(r"v\d{8}", release):
        return None
    try:
        created = datetime.strptime(release, "v%Y%m%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return PublishedImage(start + release, found["arch"], _EKS, created)


class PublishedImages:
    """`install` puts them into moto's SSM and EC2. `locked` guards EC2's backend."""

    def __init__(
        self, account: str, region: str, locked: Callable[[str], AbstractContextManager[Any]]
    ) -> None:
        self._account = account
        self._region = region
        self._locked = locked

    def install(self) -> None:
        published = self

        def check(parameters: ParameterDict, name: str) -> None:
            published._publish(parameters, str(name or ""))
            _check(parameters, name)

        ParameterDict._check_loading_status = check  # type: ignore[method-assign,assignment]  # noqa: SLF001 (moto's own seam)
        self._register(DEEP_LEARNING)

    def _publish(self, parameters: ParameterDict, name: str) -> None:
        image = behind(name)
        if image is None or dict.__contains__(parameters, name):
            return
        self._register(image)
        parameter = Parameter(  # type: ignore[abstract]
            account_id=self._account,
            name=name,
            value=image.id,
            parameter_type="String",
            description=None,
            allowed_pattern=None,
            keyid=None,
            last_modified_date=utcnow(),
            version=1,
            data_type="text",
        )
        dict.__setitem__(parameters, name, [parameter])

    def _register(self, image: PublishedImage) -> None:
        with self._locked("ec2"):
            backend: EC2Backend = ec2_backends[self._account][self._region]
            if image.id in backend.amis:
                return
            backend.amis[image.id] = Ami(
                backend,
                image.id,
                name=image.name,
                owner_id=image.owner,
                owner_alias="amazon",
                public=True,
                virtualization_type="hvm",
                architecture=image.architecture,
                hypervisor="xen",
                root_device_type="ebs",
                root_device_name="/dev/xvda",
                creation_date=image.created.replace(tzinfo=None),
                region_name=f"{self._region}a",
            )


_check = ParameterDict._check_loading_status  # noqa: SLF001 (moto's own seam)
