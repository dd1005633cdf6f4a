"""Capacity reservations of the account, On-Demand ones and Capacity Blocks for ML, and the launches into them.

moto has none. Tests and scenarios add them here, since the product makes none. A launch that names one goes into it or
fails, whatever capacity its zone has. States and members: EC2 API reference, CapacityReservation; the texts of the
refusals: scylladb/scylla-cluster-tests 8839, terraform-aws-modules/terraform-aws-ec2-instance 404. EC2 ends what runs
in a block from 30 minutes before its end, and EKS scales its node groups down 10 minutes earlier (user guides of both,
"Capacity Blocks for ML"). Open reservations, sharing and resource groups are not imitated.

EC2 shows 0 instances of a block until it begins, and the number in a tag (user guide, capacity-blocks-view).
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response

from local.aws.api.own_services import Document
from local.aws.ec2.ec2 import InstanceLives
from local.aws.ec2.launch_refusal import LaunchRefusal
from local.aws.timers import Timers
from local.clock import VirtualClock

BLOCK = "capacity-block"
EKS_BEFORE, EC2_BEFORE = timedelta(minutes=40), timedelta(minutes=30)
ORDERED = "aws:ec2capacityreservation:incrementalRequestedQuantity"
HAVE_NODES = frozenset({"pending", "running", "stopping", "stopped"})


@dataclass
class CapacityReservation:
    """One reservation. `state` is set for one that is not simply scheduled, active or expired by its hours."""

    id: str
    type: str
    instance_type: str
    zone: str
    count: int
    begins: datetime
    ends: datetime | None
    unavailable: int = 0
    state: str = ""
    used: set[str] = field(default_factory=set)
    tags: list[dict[str, str]] = field(default_factory=list)

    def state_at(self, now: datetime) -> str:
        if self.state:
            return self.state
        if now < self.begins:
            return "scheduled"
        return "expired" if self.ends is not None and now >= self.ends else "active"

    @property
    def available(self) -> int:
        return max(0, self.count - self.unavailable - len(self.used))

    def document(self, now: datetime) -> Document:
        """As DescribeCapacityReservations has it."""
        coming = self.type == BLOCK and now < self.begins
        ordered = [{"Key": ORDERED, "Value": str(self.count)}] if self.type == BLOCK else []
        return {
            "CapacityReservationId": self.id,
            "ReservationType": self.type,
            "InstanceType": self.instance_type,
            "InstancePlatform": "Linux/UNIX",
            "AvailabilityZone": self.zone,
            "TotalInstanceCount": 0 if coming else self.count,
            "AvailableInstanceCount": 0 if coming else self.available,
            "State": self.state_at(now),
            "StartDate": self.begins,
            "CreateDate": self.begins,
            "EndDateType": "unlimited" if self.ends is None else "limited",
            "InstanceMatchCriteria": "targeted",
            "Tags": [*self.tags, *ordered],
            **({} if self.ends is None else {"EndDate": self.ends}),
        }


class Reservations:
    """The account's reservations; `install` puts EC2's calls about them into moto."""

    def __init__(
        self, clock: VirtualClock, timers: Timers, lives: InstanceLives, end: Callable[[list[str]], None]
    ) -> None:
        """`end` ends instances as EC2 itself does."""
        self._clock, self._timers, self._end = clock, timers, end
        self._known: dict[str, CapacityReservation] = {}
        self._lock = threading.Lock()
        #: Called 40 minutes before a block's end, with the instances in it.
        self.block_ends: Callable[[list[str]], None] = lambda _: None
        lives.listen(self._instance_changed)

    def add(self, made: CapacityReservation) -> None:
        """The account has it from now on."""
        self._known[made.id] = made
        self._expect_end(made)

    def extend(self, reservation: str, ends: datetime) -> None:
        """Moves its end, as an extension does that is paid. EKS moves its scheduled action with it [est]."""
        self._known[reservation].ends = ends
        self._expect_end(self._known[reservation])

    def used(self, reservation: str) -> set[str]:
        """The instances that run in it."""
        return set(self._known[reservation].used)

    def refusal(self, template: Document, instance_type: str, zone: str) -> LaunchRefusal | None:
        """Why a launch into the reservation that a template names fails; None if it does not fail for that."""
        named, market = named_by(template), template.get("InstanceMarketOptions", {}).get("MarketType")
        found = self._known.get(named or "")
        if found is None:
            text = f"The capacity reservation ID '{named}' does not exist"
            return LaunchRefusal("InvalidCapacityReservationId.NotFound", text)
        if (market == BLOCK) is not (found.type == BLOCK):
            return LaunchRefusal(
                "InvalidParameterValue",
                "The market type (purchasing) option is not valid. Choose a different market type and try again",
            )
        fits = (found.instance_type, found.zone) == (instance_type, zone)
        now = self._clock.now()
        if not fits or found.state_at(now) != "active" or not found.available or self._is_ending(found, now):
            return LaunchRefusal(
                "ReservationCapacityExceeded",
                "The requested reservation does not have sufficient compatible and available capacity for this"
                " request.",
            )
        return None

    def take(self, template: Document, instance: str) -> None:
        """An instance was launched from the template."""
        named = named_by(template)
        if named in self._known:
            with self._lock:
                self._known[named].used.add(instance)

    def install(self) -> None:
        """Puts the calls into moto. A process has one at a time; the latest counts."""
        reservations = self

        def described(response: EC2Response) -> ActionResult:
            response.error_on_dryrun()
            ids: list[str] = response._get_param("CapacityReservationIds") or []  # noqa: SLF001 (moto's own)
            return ActionResult({"CapacityReservations": reservations.documents(ids)})

        def status(response: EC2Response) -> ActionResult:
            response.error_on_dryrun()
            filters: Mapping[str, Sequence[str]] = response._filters_from_querystring()  # noqa: SLF001
            for name in filters.keys() - {"interconnect-status"}:
                raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
            return ActionResult({"CapacityBlockStatuses": reservations.statuses()})

        names: Any = EC2Response
        names.describe_capacity_reservations = described
        names.describe_capacity_block_status = status

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """The reservations of these ids; all, where none is named."""
        for one in ids:
            if one not in self._known:
                text = f"The capacity reservation ID '{one}' does not exist"
                raise EC2ClientError("InvalidCapacityReservationId.NotFound", text)
        now = self._clock.now()
        return [one.document(now) for one in self._known.values() if not ids or one.id in ids]

    def statuses(self) -> list[Document]:
        """What DescribeCapacityBlockStatus says of all blocks."""
        blocks: list[Document] = []
        for one in self._known.values():
            counts = {
                "TotalCapacity": one.count,
                "TotalAvailableCapacity": one.available,
                "TotalUnavailableCapacity": one.unavailable,
            }
            status = {"CapacityReservationId": one.id, **counts}
            block = {"CapacityBlockId": f"cb-{one.id[3:]}", "InterconnectStatus": "ok", **counts}
            blocks += [{**block, "CapacityReservationStatuses": [status]}] * (one.type == BLOCK)
        return blocks

    def _expect_end(self, block: CapacityReservation) -> None:
        if block.type != BLOCK or block.ends is None:
            return
        ends = block.ends
        for before, what in ((EKS_BEFORE, self._eks), (EC2_BEFORE, self._ec2)):
            self._timers.at((ends - before).timestamp(), lambda what=what: what(block, ends))  # type: ignore[misc]

    def _eks(self, block: CapacityReservation, ends: datetime) -> None:
        if block.ends == ends:
            self.block_ends(sorted(block.used))

    def _ec2(self, block: CapacityReservation, ends: datetime) -> None:
        if block.ends == ends and block.used:
            self._end(sorted(block.used))

    def _is_ending(self, found: CapacityReservation, now: datetime) -> bool:
        return found.type == BLOCK and found.ends is not None and now >= found.ends - EC2_BEFORE

    def _instance_changed(self, instance: str, state: str) -> None:
        if state in HAVE_NODES:
            return
        with self._lock:
            for one in self._known.values():
                one.used.discard(instance)


def named_by(template: Document) -> str | None:
    """The reservation that launches from the template go into; None where it names none."""
    said = template.get("CapacityReservationSpecification") or {}
    named: str | None = (said.get("CapacityReservationTarget") or {}).get("CapacityReservationId")
    return named
