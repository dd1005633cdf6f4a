"""Law 10 in the world: an experiment is undone before its lease ends, whatever dies on the way.

Owns the ground (a leased pool, a run inside it) and the judge, which looks at the rules and the ClusterPolicy
every few seconds and believes no record.
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
"""A change that was on its way as somebody closed the lease is undone by the step that made it."""
SWEEP = timedelta(minutes=5)
"""Between two looks of the guard, which undoes what a close could not: no trouble of ours keeps a lease open."""


@dataclass
class Judge:
    """What really stands in EC2 and in the ClusterPolicy, from moment to moment."""

    world: World
    changed: list[datetime] = field(default_factory=list)
    """The moments at which something was not as before."""

    def look(self) -> None:
        if not self.as_before:
            self.changed.append(self.world.now)

    @property
    def as_before(self) -> bool:
        """Whether every rule is there, and no field is borrowed."""
        return self.world.ec2.whole and MANAGER not in self.world.kubernetes.policy.managers

    def broken(self, closes: datetime, planned: datetime, well: datetime | None = None) -> list[str]:
        """What breaks law 10, as sentences; a lease that is closed early has what is under way to wait for.

        `well` is when our functions' trouble ended: where that is after an early close, the guard comes first.
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
    """A lease whose GPUs are proven; gives its id."""
    world.kubernetes.check_runs = QUICK_RUNS
    name = world.give("open", command(world, "open", pool=pool, nodes=nodes, for_seconds=minutes * 60))
    world.run(timedelta(minutes=14))
    [lease] = [each for each in Ledger("gpu-lab-ledger").leases(pool) if each.run == name]
    assert lease.state.value == "open", f"{lease.state}: {world.said}"
    return lease.id


def begin(world: World, experiment: str, **more: Any) -> str:
    """Somebody runs an experiment; gives the execution's name."""
    return world.give("experiment", command(world, "experiment", experiment=experiment, **more))


def runs() -> list[ExperimentRun]:
    """The runs that the ledger keeps."""
    return Ledger("gpu-lab-ledger").experiments()


def command(world: World, verb: str, **more: Any) -> Json:
    """What alice asks for now."""
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
