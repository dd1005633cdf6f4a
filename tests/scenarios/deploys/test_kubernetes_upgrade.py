"""An upgrade of Kubernetes, 1.34 to 1.35: never while a pool is leased, the control plane first, then the node groups.

Then what keeps the pods of a node where they are: the update of its group fails by name, and is repeated.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState
from local.aws.cloudformation.stack import Stack
from local.cloud import Cloud
from local.kubernetes.api import Object
from tests.scenarios.deployed_lab import NOON
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

LAB = """
name: upgraded
time_zone: UTC
owner: platform-team
cluster: {{kubernetes_version: "{version}"}}
pools:
  gpu: {{max_nodes: 2}}
"""
COMPLETE = {"CREATE_COMPLETE", "UPDATE_COMPLETE"}
SYSTEM, POOL = "upgraded-ng-1", "upgraded-ng-gpu"
TOO_LONG = f"Reached max retries while trying to evict pods from nodes in node group {SYSTEM}"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    """The lab at Kubernetes 1.34."""
    path = written(tmp_path_factory.mktemp("lab"), "1.34")
    with Cloud(path, start=NOON, progress=print) as cloud:
        cloud.up()
        yield LabDay(cloud)


@pytest.fixture(scope="module")
def first(lab: LabDay) -> Lease:
    """A lease that is open on the nodes of the old version."""
    lease = lab.open(1, "2h", "--owner", "alice")
    return lab.until_state(lease.id, LeaseState.OPEN)


def test_a_leased_pool_is_not_rolled(lab: LabDay, first: Lease, tmp_path: Path) -> None:
    # given a lease that is proven on a node of 1.34
    proven(lab, first)
    assert versions(lab, POOL) == {"v1.34"}
    there = lab.live()

    # when the lab is deployed with 1.35
    ended = lab.cloud.redeploy(written(tmp_path, "1.35"))

    # then it is refused with the lease and its end, before anything changes
    assert ended[-1].status == "UPDATE_ROLLBACK_COMPLETE", told(ended)
    for words in (first.id, "alice's lease", f"{first.closes:%H:%M}"):
        assert words in ended[-1].failure()
    assert state(lab) == {"cluster": "1.34", SYSTEM: "1.34", POOL: "1.34"}
    assert updates(lab) == []
    assert lab.live() == there
    assert lab.lease(first.id).closes == first.closes


def test_pods_that_stay_stop_the_upgrade_after_the_control_plane(
    lab: LabDay, first: Lease, tmp_path: Path
) -> None:
    # given that the lease has ended, and a pod on the system nodes whose budget allows no eviction
    lab.until_state(first.id, LeaseState.CLOSED, within=timedelta(hours=4))
    lab.until_quiet()
    guard(lab)
    holder = node_of_the_pod(lab)

    # when the lab is deployed with 1.35, without a rollback that could not take the control plane back
    ended = lab.cloud.redeploy(written(tmp_path, "1.35"), roll_back=False)

    # then EKS's error is said, the control plane is of the new version, and its nodes may be of the old one
    assert ended[-1].status == "UPDATE_FAILED", told(ended)
    assert TOO_LONG in ended[-1].failure()
    assert state(lab)["cluster"] == "1.35"
    assert nodegroup(lab, SYSTEM)["version"] == "1.34"
    assert (ready(lab), node_of_the_pod(lab)) == (True, holder)


def test_the_groups_follow_the_control_plane_and_an_empty_pool_starts_no_node(
    lab: LabDay, first: Lease, tmp_path: Path
) -> None:
    # given that the pod and its budget are gone
    release(lab)

    # when the same deploy is repeated
    ended = lab.cloud.redeploy(written(tmp_path, "1.35"), roll_back=False)

    # then all is of the new version, and the control plane was the first
    assert complete(ended), told(ended)
    assert state(lab) == {"cluster": "1.35", SYSTEM: "1.35", POOL: "1.35"}
    done = [whose for whose, status in updates(lab) if status == "Successful"]
    assert done[0] == "cluster"
    assert sorted(done) == sorted(["cluster", SYSTEM, POOL])

    # and the system nodes are of it, and the pool had no node since the lease
    lab.until("the system nodes are new", lambda _: versions(lab, SYSTEM) == {"v1.35"}, timedelta(minutes=30))
    assert launches(lab, POOL, first.closes) == []
    assert lab.live() == ()


def test_the_next_lease_is_proven_on_the_new_version(lab: LabDay, first: Lease) -> None:
    assert lab.lease(first.id).state is LeaseState.CLOSED
    lease = lab.open(1, "1h")
    lab.until_state(lease.id, LeaseState.OPEN)
    proven(lab, lease)
    assert versions(lab, POOL) == {"v1.35"}
    lab.until_state(lease.id, LeaseState.CLOSED, within=timedelta(hours=3))
    assert lab.receipt(lease.id)["proof_of_zero"]["instances"] == []
    lab.until_quiet()


def test_a_new_image_costs_nothing_at_zero_and_the_next_lease_starts_from_it(lab: LabDay) -> None:
    # given that EKS has released an image since the lab was deployed
    assert nodegroup(lab, POOL)["releaseVersion"] == "1.35.4-20260714"
    lab.cloud.aws.moto_additions.nodegroups.newest_release = "20260801"
    begun = lab.now

    # when somebody moves the pool to it, as the how-to says
    lab.api("eks").update_nodegroup_version(clusterName=lab.pool.cluster, nodegroupName=POOL)
    lab.until(
        "EKS is done", lambda _: details(lab, POOL)[-1]["status"] == "Successful", timedelta(minutes=30)
    )

    # then the pool has it without a node, and the nodes of the next lease have it and are proven
    assert nodegroup(lab, POOL)["releaseVersion"] == "1.35.4-20260801"
    assert launches(lab, POOL, begun) == []
    lease = lab.open(1, "1h")
    lab.until_state(lease.id, LeaseState.OPEN)
    proven(lab, lease)
    assert image(lab).endswith("-1.35-v20260801")
    lab.until_state(lease.id, LeaseState.CLOSED, within=timedelta(hours=3))
    lab.until_quiet()


def test_diagnose_names_the_pods_that_stopped_an_update_by_hand(lab: LabDay) -> None:
    # given a lease, and on its node a student's pod whose budget allows no eviction
    lease = lab.open(1, "2h")
    lab.until_state(lease.id, LeaseState.OPEN)
    proven(lab, lease)
    there, [node] = lab.live(), nodes(lab, POOL)
    name = str(node["metadata"]["name"])
    tolerated = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    guard(lab, nodeSelector={"kubernetes.io/hostname": name}, tolerations=tolerated)

    # when somebody updates the node group by hand
    hand = lab.api("eks").update_nodegroup_version(clusterName=lab.pool.cluster, nodegroupName=POOL)["update"]
    lab.until("EKS gives up", lambda _: details(lab, POOL)[-1]["status"] == "Failed", timedelta(minutes=40))

    # then the diagnosis names it and the node, and the lease has its node still
    assert details(lab, POOL)[-1]["id"] == hand["id"]
    said = lab.command("diagnose", "gpu", "--json", "-")
    found = [(each["cause"], each["object"]) for each in said.document["findings"]]
    assert found == [("pods-not-evicted", name)], said
    assert "the PodDisruptionBudget default/guarded allows no eviction of default/guarded-" in said.stdout
    assert (lab.live(), lab.lease(lease.id).state) == (there, LeaseState.OPEN)
    release(lab)
    lab.until_state(lease.id, LeaseState.CLOSED, within=timedelta(hours=4))
    lab.until_quiet()


BUDGET: Object = {
    "metadata": {"name": "guarded"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
}


def guard(lab: LabDay, **spec: object) -> None:
    """A pod, on the system nodes unless the spec says otherwise, and a budget that keeps it there."""
    admin = lab.cloud.control_plane.admin()
    if admin.find(f"{DEPLOYMENTS}/guarded") is None:
        admin.create(DEPLOYMENTS, deployment(spec))
    admin.create(BUDGETS, BUDGET)
    lab.until("the pod is there", lambda _: ready(lab), timedelta(minutes=10))


def release(lab: LabDay) -> None:
    admin = lab.cloud.control_plane.admin()
    for address in (BUDGETS, DEPLOYMENTS):
        admin.delete(f"{address}/guarded")
    gone = "/api/v1/namespaces/default/pods?labelSelector=app=guarded"
    lab.until("the pod is gone", lambda _: not admin.get(gone)["items"], timedelta(minutes=10))


def deployment(spec: Mapping[str, object]) -> Object:
    main = {"name": "main", "image": "busybox", "command": ["sleep", "infinity"]}
    return {
        "metadata": {"name": "guarded"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "guarded"}},
            "template": {
                "metadata": {"labels": {"app": "guarded"}},
                "spec": {"containers": [main], **spec},
            },
        },
    }


def written(folder: Path, version: str) -> Path:
    path = folder / "lab.yaml"
    path.write_text(LAB.format(version=version), "utf-8")
    return path


def complete(ended: Sequence[Stack]) -> bool:
    return {stack.status for stack in ended} <= COMPLETE


def told(ended: Sequence[Stack]) -> str:
    return "; ".join(f"{stack.name} {stack.status} {stack.failure()}" for stack in ended)


def nodegroup(lab: LabDay, name: str) -> dict[str, Any]:
    asked = {"clusterName": lab.pool.cluster, "nodegroupName": name}
    found: dict[str, Any] = lab.api("eks").describe_nodegroup(**asked)["nodegroup"]
    return found


def state(lab: LabDay) -> dict[str, str]:
    """The Kubernetes version of the control plane and of each group."""
    cluster = str(lab.api("eks").describe_cluster(name=lab.pool.cluster)["cluster"]["version"])
    return {"cluster": cluster, **{name: str(nodegroup(lab, name)["version"]) for name in (SYSTEM, POOL)}}


def details(lab: LabDay, group: str = "") -> list[dict[str, Any]]:
    """The version updates of a group, or of the control plane, oldest first."""
    eks, whose = lab.api("eks"), {"name": lab.pool.cluster, **({"nodegroupName": group} if group else {})}
    found = [
        eks.describe_update(**whose, updateId=each)["update"]
        for each in eks.list_updates(**whose)["updateIds"]
    ]
    return sorted((one for one in found if one["type"] == "VersionUpdate"), key=lambda one: one["createdAt"])


def updates(lab: LabDay) -> list[tuple[str, str]]:
    """Whose version was updated, in their order, and how that ended."""
    every = [(one, group or "cluster") for group in ("", SYSTEM, POOL) for one in details(lab, group)]
    return [
        (whose, str(one["status"])) for one, whose in sorted(every, key=lambda pair: pair[0]["createdAt"])
    ]


def nodes(lab: LabDay, group: str) -> list[Object]:
    address = f"/api/v1/nodes?labelSelector=eks.amazonaws.com/nodegroup={group}"
    found: list[Object] = lab.cloud.control_plane.admin().get(address)["items"]
    return found


def versions(lab: LabDay, group: str) -> set[str]:
    return {
        str(node["status"]["nodeInfo"]["kubeletVersion"]).rpartition(".")[0] for node in nodes(lab, group)
    }


def ready(lab: LabDay) -> bool:
    found = lab.cloud.control_plane.admin().get(f"{DEPLOYMENTS}/guarded")
    return found.get("status", {}).get("readyReplicas") == 1


def node_of_the_pod(lab: LabDay) -> str:
    [pod] = lab.cloud.control_plane.admin().get("/api/v1/namespaces/default/pods?labelSelector=app=guarded")[
        "items"
    ]
    return str(pod["spec"]["nodeName"])


def image(lab: LabDay) -> str:
    """The name of the image that the pool's one node started from."""
    ec2 = lab.api("ec2")
    [found] = ec2.describe_instances(InstanceIds=list(lab.live()))["Reservations"]
    [instance] = found["Instances"]
    return str(ec2.describe_images(ImageIds=[instance["ImageId"]])["Images"][0]["Name"])


def launches(lab: LabDay, group: str, since: datetime) -> list[str]:
    [behind] = nodegroup(lab, group)["resources"]["autoScalingGroups"]
    found = lab.api("autoscaling").describe_scaling_activities(AutoScalingGroupName=behind["name"])
    return [
        str(one["Description"])
        for one in found["Activities"]
        if one["StartTime"] >= since and str(one["Description"]).startswith("Launching")
    ]


def proven(lab: LabDay, lease: Lease) -> None:
    """Waits for the verdicts of a lease: all have passed."""

    def judged() -> list[str]:
        return [str(entry.what) for entry in lab.entries(lease.opens, "verdict") if entry.lease == lease.id]

    lab.until("the GPUs are judged", lambda _: bool(judged()), timedelta(minutes=30))
    assert all(" passed on " in what for what in judged()), judged()
