"""CreateFleet of the type `instant`: EC2 tries its choices in order, and answers with instances and errors.

A choice that EC2 refuses is an error in the answer, and the next choice is tried. Fleets of other types are moto's.
Sources: EC2 API reference, CreateFleet; EC2 user guide, "EC2 Fleet allocation strategies".
"""

from collections.abc import Iterator

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.launch_templates import LaunchTemplateVersion
from moto.ec2.responses.fleets import Fleets
from moto.ec2.utils import random_fleet_id

from local.aws import iam
from local.aws.api.own_services import AwsError, Document
from local.aws.authorization.launches import tags_by_kind
from local.aws.ec2 import prices
from local.aws.ec2.fleet_launch import Choice, launch, profile_missing
from local.aws.ec2.fleet_rights import FleetRights
from local.aws.ec2.launch_faults import Launch, LaunchFaults
from local.aws.ec2.launch_refusal import LaunchRefusal

#: The tag by which a launch names the pool that it is for.
POOL_TAGS = ("karpenter.sh/nodepool", "eks:kubernetes-node-pool-name")
_MEMBERS = (
    "LaunchTemplateConfigs",
    "OnDemandOptions",
    "SpotOptions",
    "TagSpecifications",
    "TargetCapacitySpecification",
)
#: Strategies that follow the priorities of the overrides. All others here follow the price.
_PRIORITIZED = frozenset({"prioritized", "capacity-optimized-prioritized"})

_moto_create_fleet = Fleets.create_fleet


class InstantFleets:
    """`install` puts it into moto. A process has one at a time; the latest counts."""

    def __init__(self, launches: LaunchFaults, rights: FleetRights) -> None:
        self._launches = launches
        self._rights = rights
        #: The subnets that fleets of each pool have asked for, by the pool's name.
        self.subnets: dict[str, set[str]] = {}

    def install(self) -> None:
        fleets = self

        def create_fleet(response: Fleets) -> ActionResult:
            if response._get_param("Type") != "instant":  # noqa: SLF001 (moto's own parameters)
                return _moto_create_fleet(response)
            request = {name: response._get_param(name) for name in _MEMBERS}  # noqa: SLF001
            order = Order(response.ec2_backend, request)
            response.error_on_dryrun()
            return ActionResult(fleets._fill(order, response.access_key))

        Fleets.create_fleet = create_fleet  # type: ignore[method-assign, assignment]

    def _fill(self, order: "Order", access_key: str) -> Document:
        fleet = random_fleet_id()
        launched: dict[int, list[str]] = {}
        errors: list[Document] = []
        choices = list(enumerate(order.choices))
        missing = order.capacity
        while missing and choices:
            number, choice = choices[0]
            refusal = self._refusal(order, choice, access_key)
            if refusal is None:
                instance = launch(order.backend, choice, fleet, order.tags)
                launched.setdefault(number, []).append(instance.id)
                missing -= 1
                continue
            errors.append(
                {
                    "ErrorCode": refusal.code,
                    "ErrorMessage": refusal.message,
                    "Lifecycle": order.lifecycle,
                    "LaunchTemplateAndOverrides": choice.document(),
                }
            )
            choices.pop(0)
        instances = [order.answered(number, ids) for number, ids in launched.items()]
        return {"FleetId": fleet, "Instances": instances, "Errors": errors}

    def _refusal(self, order: "Order", choice: Choice, access_key: str) -> LaunchRefusal | None:
        backend = order.backend
        zone = backend.get_subnet(choice.subnet).availability_zone
        tags = choice.tags(order.tags)
        of_instance = tags.get("instance", {})
        planned = Launch(
            pool=next((of_instance[key] for key in POOL_TAGS if key in of_instance), ""),
            instance_type=choice.instance_type,
            subnet=choice.subnet,
            zone=zone,
            other_zones=[other for other in order.zones() if other != zone],
            by=iam.session_of(access_key),
            spot=choice.spot,
        )
        self.subnets.setdefault(planned.pool, set()).add(choice.subnet)
        return (
            self._rights.refusal(access_key, choice, tags)
            or profile_missing(backend, choice)
            or self._launches.refusal(planned, _running(backend))
        )


class Order:
    """What a request asks for: how many instances, and the choices in the order in which EC2 tries them."""

    def __init__(self, backend: EC2Backend, request: Document) -> None:
        self.backend = backend
        target = request["TargetCapacitySpecification"]
        self.lifecycle = str(target.get("DefaultTargetCapacityType") or "on-demand")
        self.capacity = int(target["TotalTargetCapacity"])
        self.tags = tags_by_kind(request["TagSpecifications"])
        options = request["SpotOptions" if self.spot else "OnDemandOptions"] or {}
        choices = list(self._choices(request["LaunchTemplateConfigs"] or []))
        prioritized = options.get("AllocationStrategy") in _PRIORITIZED
        # sorted() keeps the order of the request where prices are equal.
        self.choices = sorted(choices, key=_priority if prioritized else self._price)

    @property
    def spot(self) -> bool:
        return self.lifecycle == "spot"

    def zones(self) -> list[str]:
        """The zones of all choices, each once."""
        subnets = dict.fromkeys(choice.subnet for choice in self.choices)
        return list(dict.fromkeys(self.backend.get_subnet(each).availability_zone for each in subnets))

    def answered(self, number: int, instances: list[str]) -> Document:
        """The instances of one choice as CreateFleet answers."""
        choice = self.choices[number]
        return {
            "InstanceIds": instances,
            "InstanceType": choice.instance_type,
            "Lifecycle": self.lifecycle,
            "LaunchTemplateAndOverrides": choice.document(),
        }

    def _choices(self, configs: list[Document]) -> Iterator[Choice]:
        for config in configs:
            named = config["LaunchTemplateSpecification"]
            template = template_version(self.backend, named)
            for override in config.get("Overrides") or [{}]:
                choice = Choice(template, named, override, self.spot)
                if not choice.subnet:
                    raise AwsError("InvalidParameterValue", "The launch template names no subnet")
                yield choice

    def _price(self, choice: Choice) -> float:
        region = self.backend.region_name
        if not self.spot:
            return prices.on_demand(region, choice.instance_type)
        zone = self.backend.get_subnet(choice.subnet).availability_zone
        return prices.spot(region, choice.instance_type, zone)


def template_version(backend: EC2Backend, named: Document) -> LaunchTemplateVersion:
    """The version of a launch template that a request names. Raises EC2's error if there is none."""
    if named.get("LaunchTemplateId"):
        template = backend.get_launch_template(named["LaunchTemplateId"])
    else:
        template = backend.get_launch_template_by_name(named["LaunchTemplateName"])
    return template.get_version(named.get("Version") or "$Default")


def _priority(choice: Choice) -> float:
    """EC2 tries the lowest number first, and an override without one last."""
    priority = choice.override.get("Priority")
    return float("inf") if priority is None else float(priority)


def _running(backend: EC2Backend) -> list[str]:
    """The types of all instances that EC2 counts."""
    alive = {"pending", "running"}
    return [each.instance_type for each in backend.all_instances() if each.state in alive]
