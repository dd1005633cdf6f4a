"""With every function of ours deleted, the armed failsafe still brings the pool to zero, and never grows it."""

from datetime import datetime, timedelta

from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.lab_day import LabDay

FAILSAFE_AFTER = timedelta(minutes=10)
RAIL = timedelta(minutes=30)


def test_the_failsafe_needs_none_of_our_code(lab: LabDay) -> None:
    # given a running node
    lease = lab.open(1, "30m")
    lab.until_state(lease.id, LeaseState.OPEN)
    running = lab.live()
    begun, gone = len(lab.samples), lab.now

    # when every function of the lab is deleted
    functions = lab.api("lambda")
    ours = [f["FunctionName"] for f in functions.list_functions()["Functions"]]
    for name in (name for name in ours if name.startswith(f"{lab.lab.name}-")):
        functions.delete_function(FunctionName=name)

    # then the node stays as long as its lease has time, and is gone after the failsafe has fired
    armed = lease.closes + FAILSAFE_AFTER
    lab.until("the failsafe ordered zero", lambda sample: sample.desired == 0, armed - lab.now + RAIL)
    assert armed <= first_zero(lab, gone) <= armed + timedelta(minutes=2)
    leased = [sample for sample in lab.samples[begun:] if sample.at < lease.closes]
    assert {sample.instances for sample in leased} == {running}
    lab.until("EC2 is at zero", lambda sample: not sample.instances, timedelta(minutes=40))

    # and its later shots add nothing
    zero = len(lab.samples)
    lab.pass_until(armed + RAIL + timedelta(minutes=15))
    assert lab.look().instances == ()
    assert all(sample.desired == 0 and not sample.instances for sample in lab.samples[zero:])
    assert max(len(sample.instances) for sample in lab.samples[begun:]) == 1


def first_zero(lab: LabDay, since: datetime) -> datetime:
    """When EKS was told to bring the pool to zero, by its own record; a sample sees it some time later."""
    eks, whose = lab.api("eks"), {"name": lab.pool.cluster, "nodegroupName": lab.pool.nodegroup}
    ids = eks.list_updates(**whose)["updateIds"]
    updates = [eks.describe_update(**whose, updateId=each)["update"] for each in ids]
    zero = {"type": "DesiredSize", "value": "0"}
    told: list[datetime] = [each["createdAt"] for each in updates if zero in each["params"]]
    return min(at for at in told if at >= since)
