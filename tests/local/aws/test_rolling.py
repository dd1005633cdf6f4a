"""How EKS rolls a group to a new version: what starts, what goes, and what a failed update leaves behind."""

import pytest

from tests.local.aws.eks_lab import GPU, Lab, Machines

DEFAULT, MINIMAL = "DEFAULT", "MINIMAL"


class Evicting(Machines):
    """A fleet of which some nodes keep their pods."""

    def __init__(self):
        self.cordoned, self.stuck, self.evicted = set(), set(), []
        self.unready = False
        self.started = []
        self.before_eviction = []

    def machine_started(self, machine):
        self.started.append(machine)

    def ready(self, instance_id):
        return not self.unready and bool(instance_id)

    def node_name(self, instance_id):
        return f"node-of-{instance_id}"

    def cordon(self, instance_id, *, closed=True):
        (self.cordoned.add if closed else self.cordoned.discard)(instance_id)

    def evict(self, instance_id):
        for look in self.before_eviction:
            look()
        self.evicted.append(instance_id)
        return instance_id not in self.stuck


@pytest.fixture
def machines():
    return Evicting()


@pytest.fixture
def lab(aws, machines):
    lab = Lab(aws)
    lab.moto_additions.fleet(machines)
    return lab


def rolled(lab, **more):
    update = lab.aws.call("eks", "update_nodegroup_version", **GPU, **more)["update"]
    lab.until(lambda: lab.update(update["id"])["status"] != "InProgress", seconds=4 * 3600)
    lab.until(lambda: len(lab.members()) == len(lab.group()["Instances"]) == lab.group()["DesiredCapacity"])
    return lab.update(update["id"])


def with_strategy(lab, strategy, **more):
    return lab.ready(updateConfig={"maxUnavailable": 1, "updateStrategy": strategy, **more})


def launched(lab):
    return sum(one["Description"].startswith("Launching") for one in lab.activities())


def test_at_zero_the_minimal_strategy_starts_nothing_and_the_default_strategy_two_nodes(lab):
    with_strategy(lab, MINIMAL)
    assert rolled(lab)["status"] == "Successful"
    assert launched(lab) == 0
    strategy = {"maxUnavailable": 1, "updateStrategy": DEFAULT}
    changed = lab.aws.call("eks", "update_nodegroup_config", **GPU, updateConfig=strategy)["update"]
    lab.until(lambda: lab.update(changed["id"])["status"] == "Successful")
    assert rolled(lab)["status"] == "Successful"
    assert (launched(lab), lab.group()["DesiredCapacity"]) == (2, 0)


@pytest.mark.parametrize(("strategy", "most"), [(DEFAULT, 4), (MINIMAL, 2)])
def test_every_old_node_is_replaced_and_the_size_stays(lab, machines, strategy, most):
    old = with_strategy(lab, strategy).opened(2).members()
    sizes = []
    machines.before_eviction = [lambda: sizes.append(lab.group()["DesiredCapacity"])]

    assert rolled(lab)["status"] == "Successful"

    assert not set(old) & set(lab.members())
    assert sorted(machines.evicted) == sorted(old)
    assert (len(lab.members()), lab.nodegroup()["scalingConfig"]["desiredSize"]) == (2, 2)
    assert max(sizes) == most


@pytest.mark.parametrize("strategy", [DEFAULT, MINIMAL])
def test_pods_that_stay_fail_the_update_by_name_and_nothing_is_half_done(lab, machines, strategy):
    old = with_strategy(lab, strategy).opened(2).members()
    machines.stuck = set(old)
    lab.moto_additions.nodegroups.newest_release = "20260801"
    before = lab.nodegroup()

    failed = rolled(lab)

    assert failed["status"] == "Failed"
    [error] = failed["errors"]
    assert error["errorCode"] == "PodEvictionFailure"
    assert error["errorMessage"] == (
        "Reached max retries while trying to evict pods from nodes in node group lab-ng-gpu"
    )
    assert error["resourceIds"] == [f"node-of-{machines.evicted[0]}"]
    assert sorted(lab.members()) == sorted(old)
    assert not machines.cordoned & set(old)
    now = lab.nodegroup()
    assert (now["status"], now["health"]["issues"][0]["code"]) == ("DEGRADED", "PodEvictionFailure")
    same = set(now) - {"status", "health", "modifiedAt"}
    assert {key: now[key] for key in same} == {key: before[key] for key in same}

    # and the next update that succeeds makes it well
    machines.stuck = set()
    assert rolled(lab)["status"] == "Successful"
    assert (lab.nodegroup()["status"], lab.nodegroup()["health"]["issues"]) == ("ACTIVE", [])


def test_a_group_that_is_emptied_meanwhile_stays_empty(lab, machines):
    with_strategy(lab, MINIMAL).opened(1)
    group = {"AutoScalingGroupName": lab.group()["AutoScalingGroupName"]}
    none = {**group, "MinSize": 0, "DesiredCapacity": 0}
    machines.before_eviction = [lambda: lab.aws.call("autoscaling", "update_auto_scaling_group", **none)]

    assert rolled(lab)["status"] == "Successful"

    lab.until(lambda: not lab.group()["Instances"])
    assert lab.group()["DesiredCapacity"] == 0


def test_force_takes_the_nodes_whose_pods_stay(lab, machines):
    old = with_strategy(lab, MINIMAL).opened(2).members()
    machines.stuck = set(old)
    assert rolled(lab, force=True)["status"] == "Successful"
    assert not set(old) & set(lab.members())


def test_new_nodes_that_are_never_ready_fail_the_update_before_an_old_one_goes(lab, machines):
    old = with_strategy(lab, DEFAULT).opened(2).members()
    machines.unready = True

    failed = rolled(lab)

    [error] = failed["errors"]
    assert error["errorCode"] == "NodeCreationFailure"
    assert error["errorMessage"].startswith(
        "Couldn't proceed with upgrade process as new nodes are not joining"
    )
    assert machines.evicted == []
    assert sorted(lab.members()) == sorted(old)


@pytest.mark.parametrize(
    ("unavailable", "at_a_time"), [({"maxUnavailable": 2}, 2), ({"maxUnavailablePercentage": 50}, 1)]
)
def test_as_many_nodes_go_at_a_time_as_may_be_unavailable(lab, machines, unavailable, at_a_time):
    lab.ready(updateConfig={**unavailable, "updateStrategy": MINIMAL}).opened(2)
    closed = []
    machines.before_eviction = [lambda: closed.append(len(machines.cordoned & set(lab.members())))]

    assert rolled(lab)["status"] == "Successful"

    assert max(closed) == at_a_time


def test_new_nodes_are_of_the_new_version(aws, machines):
    lab = Lab(aws, version="1.34")
    lab.moto_additions.fleet(machines)
    with_strategy(lab, MINIMAL).opened(1)
    moved = lab.aws.call("eks", "update_cluster_version", name="lab", version="1.35")["update"]
    lab.finished(moved)
    assert rolled(lab, version="1.35")["status"] == "Successful"
    assert [machine.kubernetes_version for machine in machines.started] == ["1.34", "1.35"]
    assert lab.nodegroup()["releaseVersion"].startswith("1.35.")
