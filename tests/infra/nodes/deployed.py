"""The values that a template has once it is deployed: intrinsic functions, worked out for a made-up cluster."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.infra.conftest import Resource, Template

CLUSTER = "gpu-lab"
ENDPOINT = "https://0123456789abcdef.gr7.ap-northeast-2.eks.amazonaws.com"
AUTHORITY = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"
SERVICES = "10.100.0.0/16"
DNS = "10.100.0.10"
ANSWERS = {
    "Endpoint": ENDPOINT,
    "CertificateAuthorityData": AUTHORITY,
    "ServiceCidr": SERVICES,
    "Version": "1",
    "DesiredSize": 0,
    "MaxSize": 2,
}


def worked_out(value: object) -> Any:  # noqa: PLR0911 -- one for each function of CloudFormation
    """The value with every intrinsic function answered; Base64 is left as text, to be read."""
    match value:
        case {"Fn::Base64": inner}:
            return worked_out(inner)
        case {"Fn::Join": [str(between), [*parts]]}:
            return between.join(worked_out(part) for part in parts)
        case {"Fn::Select": [index, of]}:
            return worked_out(of)[int(str(index))]
        case {"Fn::Split": [str(mark), text]}:
            return worked_out(text).split(mark)
        case {"Fn::GetAtt": [_, str(attribute)]}:
            return ANSWERS.get(attribute, "a-value")
        case {"Ref": str(name)}:
            return CLUSTER if name.startswith("ControlPlane") else "a-reference"
        case Mapping():
            return {key: worked_out(inner) for key, inner in value.items()}
        case str():
            return value
        case Sequence():
            return [worked_out(inner) for inner in value]
        case _:
            return value


def group(cluster: Template, name: str) -> Resource:
    """The properties of a node group, as CloudFormation would send them."""
    found: Resource = worked_out(cluster.one("AWS::EKS::Nodegroup", NodegroupName=name))
    return found


def launch_template(cluster: Template, name: str) -> Resource:
    """The data of a node group's launch template."""
    reference = cluster.one("AWS::EKS::Nodegroup", NodegroupName=name)["LaunchTemplate"]["Id"]["Ref"]
    data: Resource = worked_out(cluster.resources[reference]["Properties"]["LaunchTemplateData"])
    return data
