"""The guard's dependencies, and what one sweep reads once for all pools.

Kubernetes, the listing of Scheduler and the claims may fail to answer: the sweep goes on without them.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from lamplighter.adapters.aws.capacity.claims import Claims
from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.failures import going_on
from lamplighter.application.guard.outside import NodeClaims, every_node_claim, outside_pools
from lamplighter.clock import monotonic
from lamplighter.data.texts import Texts
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.capacity.claim import LabClaim
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.guard.node_pools.outside_instance import OutsideInstance
from lamplighter.domain.notices import notification
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.domain.notices.notification import Notification
from lamplighter.domain.notices.phrases import clock_and_date
from lamplighter.domain.schedules.drift import Listed
from lamplighter.errors import LamplighterError, OutsideFailed, TryLater
from lamplighter.reasons.reason import Reason
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.adapters.kubernetes.connection import Connection
    from lamplighter.application.leases.services import LeaseServices

_logger = logging.getLogger(__name__)

Read = TypeVar("Read")


@dataclass
class GuardServices:
    """The guard's dependencies for one lab."""

    lease_services: "LeaseServices"
    workflows: Workflows
    pages: Notices
    notices: Notices
    claims: Claims
    close_lab: str
    open_lab: str
    experiment: str
    """The workflows, by ARN."""
    connect: Callable[[], "Connection"]
    heartbeat: Callable[[], None] = lambda: None
    """Reports that a sweep succeeded: it judged every pool, did everything, and the planner ran lately."""
    dead_letters: Callable[[], int] = lambda: 0
    """How much lies in the lab's queue of what failed for good."""
    wake_planner: Callable[[], None] = lambda: None
    """Starts the planner without waiting for it."""
    give_back: Callable[[str], None] = lambda _: None
    """Starts the cluster function, which gives back settings that no lease of a pool needs, without waiting for it."""

    instances: Callable[[], Instances] = Instances
    """EC2, for the instances that no pool's capacity reads."""

    reservations: Callable[[], Reservations] = Reservations
    """EC2, for the reservations that pools are bought from."""

    invocation: str = ""
    """The invocation of the function; a slow sweep and the next one are two writers."""

    @property
    def holder(self) -> str:
        """The guard's name as a writer of a pool."""
        return f"guard {self.invocation}"

    @property
    def capacity(self) -> CapacityServices:
        """The lab's pools, and their AWS."""
        return self.lease_services.capacity

    def page(self, pool: str, announcement: Announcement) -> str:
        """Page the operators, in the lab's language and time zone. `no` if neither topic nor function took it."""
        return "no" if self.pages.say(self._drawn(pool, announcement)) == "no" else "yes"

    def notify(self, pool: str, announcement: Announcement) -> None:
        """Notify the lab's own topic, in its language and time zone."""
        self.notices.say(self._drawn(pool, announcement))

    def _drawn(self, pool: str, announcement: Announcement) -> Notification:
        lab = self.capacity.lab
        texts = Texts(lab.notify.language)
        clock = clock_and_date(texts, zones.zone(lab.time_zone))
        return notification.of(lab.name, pool, announcement, texts, clock)

    kubernetes_silent: bool = False
    """Kubernetes did not answer in this sweep: the other pools do not wait for it again."""

    waited_for_exporters: float = 0
    """Seconds that this sweep has waited for DCGM exporters, whether they answered or not."""

    unread: list[str] = field(default_factory=list)
    """What this sweep could not read, and why: it judged without it, and does not count as one that succeeded."""

    def begin(self) -> None:
        """Forget what an earlier sweep could not read."""
        self.kubernetes_silent = False
        self.waited_for_exporters = 0
        self.unread.clear()

    @contextmanager
    def reading(self, what: str, *, needed: bool = True) -> Iterator[None]:
        """Go on without what cannot be read here. One who asks for patience is asked again by the next sweep.

        Without what is not needed a sweep counts as one that succeeded.
        """
        with going_on(self.unread if needed else [], what):
            try:
                yield
            except TryLater as later:
                _logger.info("the sweep goes on without %s: %s", what, later)

    @contextmanager
    def waiting_for_exporters(self) -> Iterator[None]:
        """Count the seconds."""
        begun = monotonic()
        try:
            yield
        finally:
            self.waited_for_exporters += monotonic() - begun

    def kubernetes(self) -> "Connection | None":
        """The cluster, or None where it does not answer."""
        if self.kubernetes_silent:
            return None
        try:
            return self.connect()
        except LamplighterError as error:
            self.without_kubernetes(error)
            return None

    def node_claims(self) -> NodeClaims | None:
        """Every NodeClaim of the cluster, or None where it does not answer."""
        connection = self.kubernetes()
        if connection is None:
            return None
        try:
            return every_node_claim(connection)
        except LamplighterError as error:
            self.without_kubernetes(error)
            return None

    def without_kubernetes(self, error: Exception) -> None:
        """Go on without an answer of Kubernetes; for the rest of the sweep where it gives none at all."""
        if isinstance(error, OutsideFailed) and error.answered:
            with self.reading("Kubernetes"):
                raise error
        else:
            self.kubernetes_silent = True
            _logger.warning("the sweep goes on without Kubernetes: %s", error)


@dataclass(frozen=True)
class LabFacts:
    """What one sweep reads once for all pools."""

    listed: tuple[Listed, ...] | None = None
    """Every schedule in the lab's group; None where Scheduler did not answer."""
    claims: Mapping[str, LabClaim] = field(default_factory=dict)
    """By the name of a capacity."""
    pauses: tuple[Pause, ...] | None = None
    """The pauses that people ordered; None where the ledger could not be read."""
    outside: tuple[OutsideInstance, ...] = ()
    """GPU instances of the cluster that belong to no pool, where NodePools can start some."""
    controller_faults: tuple[Reason, ...] = ()
    """What is wrong with Karpenter, where a pool needs it."""
    failures: tuple[str, ...] = ()
    experiment: ExperimentRun | None = None
    """The experiment on the cluster that is not undone yet."""

    @property
    def schedules(self) -> frozenset[str] | None:
        """Every name in the lab's schedule group; None where Scheduler did not answer."""
        return None if self.listed is None else frozenset(one.name for one in self.listed)


def gather_lab(guard_services: GuardServices) -> LabFacts:
    """Read the schedules, claims, pauses and experiment; note what does not answer as a failure, and go on."""
    lab, ledger = guard_services.capacity.lab, guard_services.capacity.ledger
    guard_services.begin()
    failures: list[str] = []

    def read(what: Callable[[], Read], otherwise: Read) -> Read:
        with going_on(failures, "the lab"):
            return what()
        return otherwise

    nothing: Mapping[str, LabClaim] = {}
    return LabFacts(
        listed=read(lambda: tuple(guard_services.lease_services.failsafes.listed()), None),
        claims=read(
            lambda: guard_services.claims.of([identity(lab, pool).name for pool in lab.pools]), nothing
        ),
        pauses=read(lambda: tuple(ledger.pauses()), None),
        outside=read(lambda: _outside(guard_services), ()) if lab.pools_with("node pool") else (),
        experiment=read(ledger.experiment_under_way, None),
        failures=tuple(failures),
    )


def _outside(guard_services: GuardServices) -> tuple[OutsideInstance, ...]:
    lab, claims = guard_services.capacity.lab, guard_services.claims
    return outside_pools(lab, guard_services.instances(), claims, guard_services.node_claims)
