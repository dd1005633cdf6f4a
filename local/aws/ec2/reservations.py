"""Capacity reservations of the account, On-Demand ones and Capacity Blocks for ML, and the launches into them.

moto has none. Tests and scenarios add them here, since the product makes none. A launch that names one goes into it or
fails, whatever capacity its zone has. States and members: EC2 API reference, CapacityReservation; the texts of the
refusals: scylladb/scylla-cluster-tests 8839, terraform-aws-modules/terraform-aws-ec2-instance 404. EC2 ends what runs
in a block from 30 minutes before its end, and EKS scales its node groups down 10 minutes earlier (user guides of both,
"Capacity Blocks for ML"). Open reservations, sharing and resource groups are not imitated.

Blocks are sold as tests offer them. A purchase has no client token, so a second one sells again while there is an
offering, and the payment takes a while (EC2 API reference, PurchaseCapacityBlock). Codes of refused purchases: [est].
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response
from moto.ec2.utils import random_id

from local.aws.api.own_services import Document
from local.aws.ec2.ec2 import InstanceLives
from local.aws.ec2.launch_refusal import LaunchRefusal
from local.aws.timers import Timers
from local.clock import VirtualClock

BLOCK = "capacity-block"
EKS_BEFORE, EC2_BEFORE = timedelta(minutes=40), timedelta(minutes=30)
PAID_SECONDS = 60
ASKED = ("InstanceType", "InstanceCount", "CapacityDurationHours", "StartDateRange", "EndDateRange")
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
        return {
            "CapacityReservationId": self.id,
            "ReservationType": self.type,
            "InstanceType": self.instance_type,
            "InstancePlatform": "Linux/UNIX",
            "AvailabilityZone": self.zone,
            "TotalInstanceCount": self.count,
            "AvailableInstanceCount": self.available,
            "State": self.state_at(now),
            "StartDate": self.begins,
            "CreateDate": self.begins,
            "EndDateType": "unlimited" if self.ends is None else "limited",
            "InstanceMatchCriteria": "targeted",
            "Tags": self.tags,
            **({} if self.ends is None else {"EndDate": self.ends}),
        }


@dataclass(frozen=True)
class Offering:
    """A block that is sold: `fee` is paid whole."""

    id: str
    instance_type: str
    zone: str
    count: int
    begins: datetime
    hours: int
    fee: str
    segments: int = 1

    @property
    def ends(self) -> datetime:
        return self.begins + timedelta(hours=self.hours)

    @property
    def document(self) -> Document:
        """As DescribeCapacityBlockOfferings has it."""
        part = {
            "InstanceType": self.instance_type,
            "AvailabilityZone": self.zone,
            "InstanceCount": self.count,
            "StartDate": self.begins,
            "EndDate": self.ends,
            "UpfrontFee": self.fee,
            "CurrencyCode": "USD",
        }
        whole = {
            "CapacityBlockOfferingId": self.id,
            "CapacityBlockDurationHours": self.hours,
            "Tenancy": "default",
        }
        return {**whole, **part, "CapacityBlockOfferingSegments": [part] * self.segments}


class Reservations:
    """The account's reservations; `install` puts EC2's calls about them into moto."""

    def __init__(
        self, clock: VirtualClock, timers: Timers, lives: InstanceLives, end: Callable[[list[str]], None]
    ) -> None:
        """`end` ends instances as EC2 itself does."""
        self._clock, self._timers, self._end = clock, timers, end
        self._known: dict[str, CapacityReservation] = {}
        #: The blocks that can be bought now.
        self.offerings: list[Offering] = []
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
            filters = response._filters_from_querystring()  # noqa: SLF001
            return ActionResult({"CapacityReservations": reservations.documents(ids, filters)})

        def offered(response: EC2Response) -> ActionResult:
            response.error_on_dryrun()
            asked = {name: response._get_param(name) for name in ASKED}  # noqa: SLF001
            return ActionResult({"CapacityBlockOfferings": reservations.offered(asked)})

        def purchase(response: EC2Response) -> ActionResult:
            response.error_on_dryrun()
            tags = response._parse_tag_specification().get("capacity-reservation", {})  # noqa: SLF001
            sold = reservations.sell(response._get_param("CapacityBlockOfferingId"), tags)  # noqa: SLF001
            return ActionResult({"CapacityReservation": sold})

        def status(response: EC2Response) -> ActionResult:
            response.error_on_dryrun()
            filters: Mapping[str, Sequence[str]] = response._filters_from_querystring()  # noqa: SLF001
            for name in filters.keys() - {"interconnect-status"}:
                raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
            return ActionResult({"CapacityBlockStatuses": reservations.statuses()})

        names: Any = EC2Response
        names.describe_capacity_reservations = described
        names.describe_capacity_block_status = status
        names.describe_capacity_block_offerings = offered
        names.purchase_capacity_block = purchase

    def offered(self, asked: Mapping[str, Any]) -> list[Document]:
        """The offerings of the type, size and length within the range. Raises for a length that is not sold."""
        hours = int(asked["CapacityDurationHours"])
        if hours % 24 or hours > 182 * 24 or (hours > 14 * 24 and hours % (7 * 24)):
            raise EC2ClientError(
                "InvalidParameterValue", f"Invalid value '{hours}' for CapacityDurationHours"
            )
        wanted = (asked["InstanceType"], int(asked["InstanceCount"]), hours)
        first, last = (_instant(asked[name]) for name in ("StartDateRange", "EndDateRange"))
        return [
            one.document
            for one in self.offerings
            if (one.instance_type, one.count, one.hours) == wanted
            if (first is None or first <= one.begins) and (last is None or one.ends <= last)
        ]

    def sell(self, offering: str, tags: Mapping[str, str]) -> Document:
        """Makes the reservation of an offering. It is paid a minute later [est]."""
        found = next((one for one in self.offerings if one.id == offering), None)
        if found is None:
            raise EC2ClientError("InvalidParameterValue", f"The offering '{offering}' is not available")
        made = CapacityReservation(
            random_id("cr"), BLOCK, found.instance_type, found.zone, found.count, found.begins, found.ends
        )
        made.state = "payment-pending"
        made.tags = [{"Key": key, "Value": value} for key, value in tags.items()]
        self._timers.at(self._clock.time() + PAID_SECONDS, lambda: setattr(made, "state", ""))
        self.add(made)
        return made.document(self._clock.now())

    def documents(
        self, ids: Sequence[str], filters: Mapping[str, Sequence[str]] | None = None
    ) -> list[Document]:
        """The reservations of these ids, all where none is named, that have the tags of the filters."""
        for one in ids:
            if one not in self._known:
                text = f"The capacity reservation ID '{one}' does not exist"
                raise EC2ClientError("InvalidCapacityReservationId.NotFound", text)
        now = self._clock.now()
        tags = {name.removeprefix("tag:"): values for name, values in (filters or {}).items()}
        found = [one for one in self._known.values() if not ids or one.id in ids]
        for name, values in tags.items():
            found = [
                one for one in found if any(tag["Key"] == name and tag["Value"] in values for tag in one.tags)
            ]
        return [one.document(now) for one in found]

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


def _instant(asked: datetime | str | None) -> datetime | None:
    """An instant of a request; moto reads one without its zone."""
    read = datetime.fromisoformat(asked) if isinstance(asked, str) else asked
    return read.replace(tzinfo=UTC) if read and read.tzinfo is None else read
