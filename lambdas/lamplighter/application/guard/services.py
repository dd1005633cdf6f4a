"""What the guard works with, and what one sweep reads once for all pools.

Kubernetes, Scheduler's list and the claims may fail to answer: the sweep goes on without them.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.capacity.claims import Claims
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.schedules.drift import Listed
from lamplighter.errors import OutsideFailed, TryLater

if TYPE_CHECKING:
    from lamplighter.adapters.kubernetes.connection import Connection
    from lamplighter.application.leases.services import LeaseServices

_logger = logging.getLogger(__name__)


@dataclass
class GuardServices:
    """All that the guard works with, for one lab."""

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
    """Says that a sweep ended well: every pool judged, all done, and the planner heard of."""
    wake_planner: Callable[[], None] = lambda: None
    """Lets the planner run, without waiting for it."""
    give_back: Callable[[str], None] = lambda _: None
    """Lets the cluster function give back what no lease of a pool wants any more, without waiting for it."""

    invocation: str = ""
    """Which invocation of the function sweeps; a sweep that is slow and the next one are two writers."""

    @property
    def holder(self) -> str:
        """Its name as a writer of a pool."""
        return f"guard {self.invocation}"

    @property
    def capacity(self) -> CapacityServices:
        """What is granted, and what runs."""
        return self.lease_services.capacity

    kubernetes_silent: bool = False
    """It did not answer in this sweep: waiting for it once is enough, other pools wait for their turn."""

    def kubernetes(self) -> "Connection | None":
        """The cluster, or None where it does not answer."""
        if self.kubernetes_silent:
            return None
        try:
            return self.connect()
        except OutsideFailed as error:
            self.without_kubernetes(error)
            return None

    def without_kubernetes(self, error: Exception) -> None:
        """Go on without it for the rest of the sweep."""
        self.kubernetes_silent = True
        _logger.warning("the sweep goes on without Kubernetes: %s", error)


@dataclass(frozen=True)
class LabFacts:
    """What one sweep reads once for all pools."""

    listed: tuple[Listed, ...] | None = None
    """Every schedule in the lab's group; None where Scheduler did not say."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """By node group: the lab that claims it."""
    pauses: tuple[Pause, ...] | None = None
    """What keeps leases from opening, by people's word; None where the ledger did not say."""
    failures: tuple[str, ...] = ()
    experiment: ExperimentRun | None = None
    """What is under way on the cluster, and not undone yet."""

    @property
    def schedules(self) -> frozenset[str] | None:
        """Every name in the lab's schedule group; None where Scheduler did not say."""
        return None if self.listed is None else frozenset(one.name for one in self.listed)


def gather_lab(guard_services: GuardServices) -> LabFacts:
    """The schedules and the claims; a sweep goes on without what does not answer, and says so."""
    lab = guard_services.capacity.lab
    guard_services.kubernetes_silent = False
    failures: list[str] = []
    listed: tuple[Listed, ...] | None = None
    claims: Mapping[str, str] = {}
    try:
        listed = tuple(guard_services.lease_services.failsafes.listed())
    except (OutsideFailed, TryLater) as error:
        failures.append(str(error))
    try:
        claims = guard_services.claims.of([lab.nodegroup_name(pool) for pool in lab.pools])
    except (OutsideFailed, TryLater) as error:
        failures.append(str(error))
    pauses: tuple[Pause, ...] | None = None
    try:
        pauses = tuple(guard_services.capacity.ledger.pauses())
    except (OutsideFailed, TryLater) as error:
        failures.append(str(error))
    experiment: ExperimentRun | None = None
    try:
        experiment = guard_services.capacity.ledger.experiment_under_way()
    except (OutsideFailed, TryLater) as error:
        failures.append(str(error))
    return LabFacts(listed, claims, pauses, tuple(failures), experiment)
