"""Programs that hear of a write by watches, in any order: the fleet, and the scheduler, which has several."""

import itertools

import pytest

from tests.local.cluster.lab import await_true

POOL = "lab-ng-watches"
#: Of pods: each has a name of its own, also in a repetition.
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def machine(lab):
    machine = lab.gpu_node(POOL)
    lab.await_gpus(machine)
    yield machine
    lab.end(machine)


@pytest.fixture
def tainted(lab, machine):
    lab.fleet.faults.on("untolerated-taint", POOL)
    yield machine
    lab.fleet.faults.off()


@pytest.mark.once_flaky("time moved on before the fleet's watch had shown what a client wrote")
def test_time_stands_until_the_fleet_has_seen_what_a_client_of_the_cluster_wrote(lab, clock):
    name = lab.node(lab.gpu)["metadata"]["name"]
    for number in map(str, range(50)):
        lab.kubernetes.merge(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"number": number}}})
        clock.settle()
        assert lab.fleet.world.nodes.find("", name)["metadata"]["annotations"]["number"] == number


@pytest.mark.once_flaky("the scheduler heard of a pod before it heard of the taint")
def test_a_taint_more_keeps_pods_away_until_it_is_gone(lab, tainted):
    def taints():
        return [taint["key"] for taint in lab.node(tainted)["spec"]["taints"]]

    await_true(lambda: "dedicated" in taints(), "it has the taint")

    def kept_away():
        """A pod that the scheduler refuses, once it knows of the taint; the pods before may run."""
        tolerated = {"key": "nvidia.com/gpu", "operator": "Exists"}
        path = lab.run(f"kept-away-{next(NUMBERS)}", "sleep", "1", tolerations=[tolerated], **lab.on(tainted))

        def scheduled():
            conditions = lab.kubernetes.get(path)["status"].get("conditions", [])
            return next((one for one in conditions if one["type"] == "PodScheduled"), None)

        answer = await_true(scheduled, "the scheduler has answered")
        return (path, answer["message"]) if answer["status"] == "False" else None

    path, message = await_true(kept_away, "the scheduler refuses a pod")
    assert "1 node(s) had untolerated taint" in message
    lab.fleet.faults.off()
    await_true(lambda: taints() == ["nvidia.com/gpu"], "its own taint is left")
    lab.await_phase(path, "Succeeded")
