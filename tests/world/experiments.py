"""Law 10 in the world: an experiment is undone before its lease ends, whatever fails on the way.

This file sets the scene (a leased pool, a run inside the lease) and has the judge. The judge reads the rules and the
ClusterPolicy every few seconds, and trusts no record.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.experiments.policy import MANAGER
from lamplighter.domain.experiments.run import ExperimentRun
from tests.world.kubernetes.kubernetes import QUICK_RUNS
from tests.world.world import World

Json = dict[str, Any]
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LAB: Json = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "1"}},
}
SECONDS = 5.0
IN_FLIGHT = timedelta(seconds=30)
"""If somebody closes the lease during a change, the step that made the change undoes it."""
SWEEP = timedelta(minutes=5)
"""The time between two sweeps. The guard undoes what a close could not: a failure of ours keeps no lease open."""


@dataclass
class Judge:
    """The real state in EC2 and in the ClusterPolicy, at each moment."""

    world: World
    changed: list[datetime] = field(default_factory=list)
    """The moments at which the state differed from the first one."""

    def look(self) -> None:
        if not self.as_before:
            self.changed.append(self.world.now)

    @property
    def as_before(self) -> bool:
        """Whether every rule exists, and no field is changed."""
        return self.world.security_groups.whole and MANAGER not in self.world.kubernetes.policy.managers

    def broken(self, closes: datetime, planned: datetime, well: datetime | None = None) -> list[str]:
        """Breaches of law 10, as sentences. A lease that is closed early must wait for a running change.

        `well` is when our functions' failures ended. If that is after an early close, the guard undoes the change.
        """
        due = closes
        if closes < planned:
            due += IN_FLIGHT
            if well is not None and well > closes:
                due = well + SWEEP + IN_FLIGHT
        late = [at for at in self.changed if at >= due]
        return [
            f"{at:%H:%M:%S}: the lease ended {closes:%H:%M:%S}, and it is not as before" for at in late[:1]
        ]


def leased(world: World, minutes: int = 90, *, pool: str = "gpu", nodes: int = 2) -> str:
    """Makes a lease whose GPUs are proven, and returns its id."""
    world.kubernetes.check_runs = QUICK_RUNS
    name = world.give("open", command(world, "open", pool=pool, nodes=nodes, for_seconds=minutes * 60))
    world.run(timedelta(minutes=14))
    [lease] = [each for each in Ledger("gpu-lab-ledger").leases(pool) if each.run == name]
    assert lease.state.value == "open", f"{lease.state}: {world.said}"
    return lease.id


def begin(world: World, experiment: str, **more: Any) -> str:
    """Somebody starts an experiment. Returns the name of the execution."""
    return world.give("experiment", command(world, "experiment", experiment=experiment, **more))


def runs() -> list[ExperimentRun]:
    return Ledger("gpu-lab-ledger").experiments()


def command(world: World, verb: str, **more: Any) -> Json:
    """A command of alice, with the present time."""
    now = world.now
    return {
        "id": f"cli-{verb}-{now:%H%M%S}",
        "verb": verb,
        "pool": "gpu",
        "owner": "alice",
        "by": "alice",
        "source": "cli",
        "issued": _written(now),
        "expires": _written(now + timedelta(minutes=15)),
        **more,
    }


def _written(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
