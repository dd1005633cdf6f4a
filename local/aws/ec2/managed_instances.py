"""Instances that an AWS service operates for the customer: nobody but the service stops or ends them.

EC2 denies it by a policy of the resource, whoever asks, also an administrator (EKS user guide, Auto Mode; AWS FIS:
actions that stop or terminate are unsupported for Auto Mode).
"""

from collections.abc import Callable
from dataclasses import dataclass

from moto.core.responses import ActionResult
from moto.ec2.models.instances import Instance
from moto.ec2.responses.instances import InstanceResponse

from local.aws import iam
from local.aws.api.own_services import AwsError

_Answer = Callable[[InstanceResponse], ActionResult]
_DENIED = ("terminate_instances", "stop_instances", "start_instances", "reboot_instances")
_originals: dict[str, _Answer] = {name: getattr(InstanceResponse, name) for name in _DENIED}


@dataclass(frozen=True)
class Operator:
    """As DescribeInstances tells it."""

    managed: bool
    principal: str


def take(instance: Instance, principal: str) -> None:
    """From now on the service operates the instance."""
    vars(instance)["operator"] = Operator(managed=True, principal=principal)


def install() -> None:
    """Puts the denials into moto. Calling it again changes nothing."""
    for name, original in _originals.items():
        setattr(InstanceResponse, name, _denying(name, original))


def _denying(operation: str, original: _Answer) -> _Answer:
    action = "ec2:" + "".join(part.capitalize() for part in operation.split("_"))

    def answer(response: InstanceResponse) -> ActionResult:
        for identity in response._get_param("InstanceIds", []):  # noqa: SLF001 (moto's own parameters)
            instance = response.ec2_backend.get_instance_by_id(identity)
            if instance is not None and "operator" in vars(instance):
                who = iam.session_of(iam.access_key(response))
                place = f"arn:aws:ec2:{response.region}:{response.current_account}:instance/{identity}"
                raise AwsError(
                    "UnauthorizedOperation",
                    f"You are not authorized to perform this operation. User: {who} is not authorized to perform:"
                    f" {action} on resource: {place} with an explicit deny in a resource-based policy",
                )
        return original(response)

    return answer
