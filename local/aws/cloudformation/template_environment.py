"""What templates read of the world outside: pseudo parameters, zones, other stacks, parameters in SSM."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from local.aws.api.service_context import ServiceContext
from local.aws.cloudformation.expressions import TemplateEnvironment
from local.aws.cloudformation.stack import Stack
from local.aws.cloudformation.template import InvalidTemplate, Template

#: Values that `cdk bootstrap` creates and our assemblies need.
BOOTSTRAP = {"/cdk-bootstrap/hnb659fds/version": "30"}


def surface(around: ServiceContext, stack: Stack, stacks: Mapping[str, Stack]) -> TemplateEnvironment:
    """What the expressions of one stack can read."""

    def imported(name: str) -> str:
        for other in stacks.values():
            if name in other.exports and other.deleted is None:
                return other.exports[name]
        raise InvalidTemplate(f"No export named {name} found.")

    def zones(region: str) -> list[str]:
        filters = [{"Name": "region-name", "Values": [region]}]
        found = around.call("ec2", "describe_availability_zones", {"Filters": filters})["AvailabilityZones"]
        return [zone["ZoneName"] for zone in found]

    return TemplateEnvironment(
        pseudo={
            "AWS::AccountId": around.account_id,
            "AWS::Region": around.region,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::StackName": stack.name,
            "AWS::StackId": stack.id,
        },
        zones=zones,
        imported=imported,
        dynamic=lambda service, rest: dynamic(around, service, rest),
    )


def parameters(around: ServiceContext, template: Template, given: Mapping[str, str]) -> dict[str, Any]:
    """Values of the template's parameters. Raises InvalidTemplate for a missing or unknown one."""
    unknown = sorted(set(given) - set(template.parameters))
    if unknown:
        raise InvalidTemplate(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    missing = sorted(n for n, p in template.parameters.items() if n not in given and "Default" not in p)
    if missing:
        raise InvalidTemplate(f"Parameters: [{', '.join(missing)}] must have values")
    return {
        name: _typed(around, declared, str(given.get(name, declared.get("Default"))))
        for name, declared in template.parameters.items()
    }


def _typed(around: ServiceContext, declared: Mapping[str, Any], value: str) -> Any:
    kind = declared.get("Type", "String")
    if kind.startswith("AWS::SSM::Parameter::Value"):
        return from_ssm(around, value)
    if kind == "CommaDelimitedList" or kind.startswith("List<"):
        return [part.strip() for part in value.split(",")]
    return value


def dynamic(around: ServiceContext, service: str, rest: str) -> str:
    """The value of {{resolve:service:rest}}."""
    if service in {"ssm", "ssm-secure"}:
        return from_ssm(around, rest.rsplit(":", 1)[0] if rest.rsplit(":", 1)[-1].isdigit() else rest)
    if service != "secretsmanager":
        raise InvalidTemplate(f"{{{{resolve:{service}:…}}}} is not known to the embedded cloud")
    secret, _, what = rest.partition(":SecretString")
    text: str = around.call("secretsmanager", "get_secret_value", {"SecretId": secret})["SecretString"]
    key = what.strip(":").split(":")[0]
    return str(json.loads(text)[key]) if key else text


def from_ssm(around: ServiceContext, name: str) -> str:
    """A parameter of the account, or one that AWS or the CDK's bootstrap publishes."""
    if name in BOOTSTRAP:
        return BOOTSTRAP[name]
    try:
        value: str = around.call("ssm", "get_parameter", {"Name": name})["Parameter"]["Value"]
    except ClientError as error:
        if not name.startswith("/aws/service/") or not name.endswith("/image_id"):
            raise InvalidTemplate(f"Unable to fetch parameters [{name}] from parameter store") from error
        return _published_image(around, name)
    return value


def _published_image(around: ServiceContext, name: str) -> str:
    """AWS's image for this name: one of the images here, named after it, and the same each time."""
    filters = [{"Name": "name", "Values": [name]}]
    found = around.call("ec2", "describe_images", {"Filters": filters})["Images"]
    if not found:
        digest = hashlib.sha256(name.encode()).hexdigest()[:17]
        image = around.call("ec2", "register_image", {"Name": name, "Architecture": "x86_64"})
        return str(image.get("ImageId", f"ami-{digest}"))
    return str(found[0]["ImageId"])
