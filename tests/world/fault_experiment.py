"""An experiment inside a lease, while a call of its function fails in any way: law 10, and no error without a name."""

from datetime import timedelta

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.experiments.catalogue import DEVICE_PLUGIN_OFF, NCCL_BLOCKED
from tests.world.experiments import LAB, NOON, SECONDS, Judge, begin, leased
from tests.world.faults import DISTORTIONS, Fault
from tests.world.our_code import forget_workers
from tests.world.world import World

FUNCTION = "experiments"
CHANGING = (NCCL_BLOCKED.name, DEVICE_PLUGIN_OFF.name)
"""One changes the rules of security groups, the other the ClusterPolicy."""
LIED_TO = {"kubernetes.GET clusterpolicies", "ec2.describe_security_group_rules"}
"""What tells how it was before: nobody can put back what a false answer hid."""
FAILS_FOR, LEASE = timedelta(minutes=30), 60


class Experiment:
    """One experiment; the fault is in force from its beginning for half an hour."""

    def __init__(self, name: str, fault: Fault | None = None) -> None:
        self.name, self.faults = name, (fault,) if fault else ()
        self.world = World(LAB, NOON, 1)

    def broken(self) -> list[str]:
        """What did not hold."""
        with self.world as world:
            judge = Judge(world)
            world.event_queue.every(SECONDS, judge.look, 1.0)
            ledger, lease = Ledger("gpu-lab-ledger"), leased(world, LEASE)
            planned = ledger.lease("gpu", lease)
            assert planned is not None
            forget_workers()
            world.functions.faults = self.faults
            begin(world, self.name)
            world.run(FAILS_FOR)
            world.functions.faults = ()
            world.run(planned.closes - world.now + timedelta(minutes=30))
            ended = ledger.lease("gpu", lease)
            assert ended is not None
            found = judge.broken(ended.closes, planned.closes, NOON)
            if any(fault.call in LIED_TO and fault.kind in DISTORTIONS for fault in self.faults):
                found = [each for each in found if not each.endswith("it is not as before")]
            found += [f"an error without a name: {each}" for each in world.functions.unnamed]
            left = [name for name in world.scheduler.entries if name.startswith("experiment-")]
            return found + [f"schedules are left: {left}"] * bool(left)

    def known(self) -> list[str]:
        """Each call of the function so far."""
        return [call for function, call in self.world.functions.known if function == FUNCTION]
