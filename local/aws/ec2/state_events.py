"""EC2's events about instances on the default bus: each change of state, and the announcements of their end.

Their form is that of the EC2 user guide (monitoring-instance-state-changes, spot-instance-termination-notices,
rebalance-recommendations) and of AWS Health for EC2. They have no tags of the instance.
"""

import json
import uuid
from collections.abc import Callable
from datetime import timedelta

from moto.ec2.models import ec2_backends

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.ec2 import spot_requests
from local.aws.ec2.ec2 import end
from local.aws.ec2.managed_instances import is_managed
from local.aws.timers import Timers

#: EC2 ends a spot instance so long after its warning.
WARNING_SECONDS = 120.0
#: AWS Health announces maintenance days before.
_MAINTENANCE_AFTER, _MAINTENANCE_LENGTH = timedelta(days=14), timedelta(hours=2)


class StateEvents:
    """`instance_changed` listens to EC2. The other methods announce something on demand, as AWS would by itself."""

    def __init__(
        self,
        service_context: ServiceContext,
        timers: Timers,
        at_risk: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`at_risk` is called with each instance that is recommended to be replaced."""
        self._context = service_context
        self._timers = timers
        self._at_risk = at_risk

    def instance_changed(self, instance: str, state: str) -> None:
        """Called by EC2, which tells nobody of an instance that it hides."""
        known = ec2_backends[self._context.account_id][self._context.region].get_instance_by_id(instance)
        if known is not None and is_managed(known):
            return
        detail = {"instance-id": instance, "state": state}
        self._tell("aws.ec2", "EC2 Instance State-change Notification", instance, detail)

    def interrupt(self, instance: str) -> None:
        """Warns that EC2 takes a spot instance back, and ends it two minutes later."""
        self._says(instance, spot_requests.MARKED)
        detail = {"instance-id": instance, "instance-action": "terminate"}
        self._tell("aws.ec2", "EC2 Spot Instance Interruption Warning", instance, detail)
        context = self._context

        def take() -> None:
            self._says(instance, spot_requests.NO_CAPACITY)
            end(context.account_id, context.region, instance)

        self._timers.after(WARNING_SECONDS, take)

    def recommend_rebalance(self, instance: str) -> None:
        """Says that a spot instance has a higher risk of interruption. EC2 ends nothing; a group may replace it."""
        self._at_risk(instance)
        detail = {"instance-id": instance}
        self._tell("aws.ec2", "EC2 Instance Rebalance Recommendation", instance, detail)

    def schedule_change(self, instance: str) -> None:
        """AWS Health announces maintenance of an instance. It ends nothing here."""
        code = "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED"
        begins = self._context.clock.now() + _MAINTENANCE_AFTER
        arn = f"arn:aws:health:{self._context.region}::event/EC2/{code}/{code}-{uuid.uuid4().hex[:8]}"
        detail = {
            "eventArn": arn,
            "service": "EC2",
            "eventTypeCode": code,
            "eventTypeCategory": "scheduledChange",
            "startTime": begins.strftime("%a, %d %b %Y %H:%M:%S GMT"),
            "endTime": (begins + _MAINTENANCE_LENGTH).strftime("%a, %d %b %Y %H:%M:%S GMT"),
            "eventDescription": [{"language": "en_US", "latestDescription": "Scheduled maintenance."}],
            "affectedEntities": [{"entityValue": instance}],
        }
        self._tell("aws.health", "AWS Health Event", instance, detail)

    def _says(self, instance: str, code: str) -> None:
        """What EC2 says of the request of a Spot Instance; one that somebody ended before was not taken."""
        found = spot_requests.of(self._context.account_id, self._context.region, instance)
        if found is not None:
            gone = found.state in {"shutting-down", "terminated"}
            spot_requests.says(found, spot_requests.BY_USER if gone else code, self._context.clock.now())

    def _tell(self, source: str, kind: str, instance: str, detail: Document) -> None:
        entry = {
            "Source": source,
            "DetailType": kind,
            "Resources": [self._context.arn("ec2", f"instance/{instance}")],
            "Detail": json.dumps(detail),
            "Time": self._context.clock.time(),
        }
        self._context.tell(entry)
