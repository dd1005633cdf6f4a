"""The Spot requests behind Spot Instances, and what EC2 says of each: fulfilled, marked, or ended.

The codes are those of the EC2 user guide (spot-request-status). A request has its values on moto's instance.
"""

import secrets
from datetime import UTC, datetime

from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.ec2.models.instances import Instance
from moto.ec2.responses.spot_instances import SpotInstances

from local.aws.api.own_services import Document

FULFILLED, MARKED = "fulfilled", "marked-for-termination"
NO_CAPACITY, BY_USER = "instance-terminated-no-capacity", "instance-terminated-by-user"
#: AWS answers with at most so many requests at a time.
A_PAGE = 1000


def install() -> None:
    """Puts the operation into moto. It may be called again."""
    SpotInstances.describe_spot_instance_requests = _described  # type: ignore[method-assign,assignment]


def bought(instance: Instance) -> None:
    """The instance is a Spot Instance from its launch on."""
    instance.lifecycle = "spot"
    # AWS tells spot instances by it, and so does Karpenter.
    vars(instance)["spot_instance_request_id"] = f"sir-{secrets.token_hex(4)}"
    says(instance, FULFILLED, instance.launch_time.replace(tzinfo=UTC))


def says(instance: Instance, code: str, at: datetime) -> None:
    """EC2 says something else of its request."""
    vars(instance)["spot_status"] = {"Code": code, "UpdateTime": at, "Message": code}


def of(account: str, region: str, instance: str) -> Instance | None:
    """A Spot Instance by its id."""
    found: Instance | None = ec2_backends[account][region].get_instance_by_id(instance)
    return found if found is not None and found.lifecycle == "spot" else None


def _described(response: SpotInstances) -> ActionResult:
    response.error_on_dryrun()
    filters = response._filters_from_querystring()  # noqa: SLF001 (moto's own)
    wanted = response._get_param("SpotInstanceRequestIds") or []  # noqa: SLF001
    found = [
        _document(instance)
        for reservation in response.ec2_backend.reservations.values()
        for instance in reservation.instances
        if instance.lifecycle == "spot" and "spot_status" in vars(instance)
    ]
    chosen = [
        one
        for one in found
        if (not wanted or one["SpotInstanceRequestId"] in wanted)
        and all(_value(one, name) in values for name, values in filters.items())
    ]
    start = int(response._get_param("NextToken") or 0)  # noqa: SLF001
    end = start + min(int(response._get_param("MaxResults") or A_PAGE), A_PAGE)  # noqa: SLF001
    token = str(end) if end < len(chosen) else None
    return ActionResult({"SpotInstanceRequests": chosen[start:end], "NextToken": token})


def _document(instance: Instance) -> Document:
    status = vars(instance)["spot_status"]
    ended = status["Code"] in {NO_CAPACITY, BY_USER}
    return {
        "SpotInstanceRequestId": vars(instance)["spot_instance_request_id"],
        "InstanceId": instance.id,
        "State": "closed" if ended else "active",
        "Status": status,
        "Type": "one-time",
        "ProductDescription": "Linux/UNIX",
    }


def _value(document: Document, name: str) -> str:
    keys = {
        "instance-id": "InstanceId",
        "spot-instance-request-id": "SpotInstanceRequestId",
        "state": "State",
    }
    value: str = document["Status"]["Code"] if name == "status-code" else document[keys[name]]
    return value
