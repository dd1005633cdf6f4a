"""Instances that an AWS service operates for the customer: nobody else stops or ends them, and EC2 hides them.

EC2 denies it by a policy of the resource, whoever asks, also an administrator (EKS user guide, Auto Mode; AWS FIS:
actions that stop or terminate are unsupported for Auto Mode).

Hidden is the default of every account that had no such instance before 2026-04-22. DescribeInstances then leaves them
out, unless the call names them by id or asks for managed resources, and no event tells a change of their state (EC2
user guide, amazon-ec2-managed-instances, "Managed resource visibility settings"; GetManagedResourceVisibility). An
account that shows them by default is not imitated: it hides nothing from anybody.
"""

from collections.abc import Callable
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance, Reservation
from moto.ec2.responses.instances import InstanceResponse

from local.aws import iam
from local.aws.api.own_services import AwsError

_Answer = Callable[[InstanceResponse], ActionResult]
#: EC2 tags what it launches for a service, from the launch on. Nobody else can set the tag.
LAUNCHED = "aws:ec2:managed-launch"
_DENIED = ("terminate_instances", "stop_instances", "start_instances", "reboot_instances")
_originals: dict[str, _Answer] = {name: getattr(InstanceResponse, name) for name in _DENIED}
_describe: _Answer = InstanceResponse.describe_instances
_listed: Callable[..., list[Reservation]] = EC2Backend.describe_instances
#: Whether the call that is being answered leaves out what a service operates.
_hiding: ContextVar[bool] = ContextVar("hiding", default=False)


@dataclass(frozen=True)
class Operator:
    """As DescribeInstances tells it."""

    managed: bool
    principal: str


def take(instance: Instance, principal: str) -> None:
    """From now on the service operates the instance."""
    instance.add_tags({LAUNCHED: "true"})
    vars(instance)["operator"] = Operator(managed=True, principal=principal)


def is_managed(instance: Instance) -> bool:
    """Whether a service operates the instance."""
    return LAUNCHED in instance.ec2_backend.tags.get(instance.id, {})


def install() -> None:
    """Puts the denials and the hiding into moto. Calling it again changes nothing."""
    for name, original in _originals.items():
        setattr(InstanceResponse, name, _denying(name, original))
    InstanceResponse.describe_instances = _described  # type: ignore[method-assign, assignment]
    EC2Backend.describe_instances = _shown  # type: ignore[method-assign, assignment]


def _described(response: InstanceResponse) -> ActionResult:
    token = _hiding.set(response._get_param("IncludeManagedResources") is not True)  # noqa: SLF001 (moto's own parameters)
    try:
        return _describe(response)
    finally:
        _hiding.reset(token)


def _shown(backend: EC2Backend, filters: Any = None) -> list[Reservation]:
    """moto asks it for a list; ids it looks up elsewhere."""
    found = _listed(backend, filters)
    return (
        [shown for each in found if (shown := _without_managed(each)).instances] if _hiding.get() else found
    )


def _without_managed(reservation: Reservation) -> Reservation:
    shown = copy(reservation)
    shown.instances = [instance for instance in reservation.instances if not is_managed(instance)]
    return shown


def _denying(operation: str, original: _Answer) -> _Answer:
    action = "ec2:" + "".join(part.capitalize() for part in operation.split("_"))

    def answer(response: InstanceResponse) -> ActionResult:
        for identity in response._get_param("InstanceIds", []):  # noqa: SLF001 (moto's own parameters)
            instance = response.ec2_backend.get_instance_by_id(identity)
            if instance is not None and is_managed(instance):
                who = iam.session_of(iam.access_key(response))
                place = f"arn:aws:ec2:{response.region}:{response.current_account}:instance/{identity}"
                raise AwsError(
                    "UnauthorizedOperation",
                    f"You are not authorized to perform this operation. User: {who} is not authorized to perform:"
                    f" {action} on resource: {place} with an explicit deny in a resource-based policy",
                )
        return original(response)

    return answer
