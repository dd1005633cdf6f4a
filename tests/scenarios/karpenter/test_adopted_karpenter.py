"""A cluster whose owner runs Karpenter with a dynamic NodePool: adopted, barred, opened by its limit, and closed again.

The real Karpenter works here. Pods bring the nodes: a lease lets them come, and its end takes them away.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.capacity.node_pool import lock
from lamplighter.domain.leases.lease import Lease
from lamplighter.labfile import file as labfile
from local.cloud import Cloud
from tests.karpenter_program import controller_or_skip
from tests.scenarios.auto_mode.test_adopted_auto_mode import (
    CLUSTER,
    apply_what_adopt_prints,
    let_the_owner_in,
)
from tests.scenarios.deployed_lab import NOON
from tests.scenarios.karpenter_day import KarpenterDay

pytestmark = pytest.mark.long

NODE_POOL, ROLE = "their-gpus", f"{CLUSTER}-ap-northeast-2-karpenter"
LAB = f"""
name: adopted-lab
time_zone: UTC
cluster: {{existing: {CLUSTER}, karpenter: {{existing: true, role: {ROLE}}}}}
guard: {{mode: enforce}}
pools: {{gpu: {{kind: karpenter, existing: {NODE_POOL}, instance_type: g5.xlarge, max_nodes: 2}}}}
"""
#: Karpenter's controller works in real time: while it does, a real second is so many of the lab's.
RATE = 4
POOLS = "/apis/karpenter.sh/v1/nodepools"
DEFAULT = "/api/v1/namespaces/default/pods"
#: The limit of its owner, and the one that GitOps writes back.
OWNERS_LIMIT = "3"
SWEPT = timedelta(minutes=8)


class DynamicDay(KarpenterDay):
    """The NodePool of somebody else, and the pods of its users."""

    def replicas(self) -> int:
        """It has none; its limit is what a lease orders."""
        return int(self.limit())

    def limit(self) -> str:
        return str(self.kubernetes.get(self.path)["spec"]["limits"]["nodes"])

    def theirs(self) -> list[dict[str, Any]]:
        return [
            each
            for each in self.claims()
            if each["metadata"]["labels"].get("karpenter.sh/nodepool") == NODE_POOL
        ]

    def asks_for_a_gpu(self, name: str) -> None:
        container = {
            "name": "train",
            "image": "busybox",
            "command": ["sleep", "infinity"],
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        }
        spec = {
            "nodeSelector": {"karpenter.sh/nodepool": NODE_POOL},
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        self.kubernetes.create(DEFAULT, pod)

    def runs(self, pod: str) -> bool:
        found = self.kubernetes.find(f"{DEFAULT}/{pod}")
        return found is not None and found.get("status", {}).get("phase") == "Running"


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DynamicDay]:
    """The adopting lab, deployed onto a cluster whose owner has made the NodePool and applied what `adopt` prints."""
    controller_or_skip()
    path = tmp_path_factory.mktemp("lab") / "lab.yaml"
    path.write_text(LAB, "utf-8")

    def by_the_owner(cloud: Cloud) -> None:
        let_the_owner_in(cloud)
        make_node_pool(cloud)
        apply_what_adopt_prints(cloud, path)

    with Cloud(path, rate=RATE, start=NOON, progress=print, found=by_the_owner) as cloud:
        cloud.up()
        yield DynamicDay(cloud)


def make_node_pool(cloud: Cloud) -> None:
    """A dynamic NodePool without a grace, of the class of nodes that the cluster has."""
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": f"{CLUSTER}-group"}
    requirements = [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]},
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
    ]
    template = {
        "nodeClassRef": reference,
        "requirements": requirements,
        "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
        "expireAfter": "720h",
    }
    admin = cloud.control_plane.admin()
    # The one that came with Karpenter may start GPUs too.
    admin.delete(f"{POOLS}/{CLUSTER}-group")
    admin.create(
        POOLS,
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": NODE_POOL},
            "spec": {
                "limits": {"nodes": OWNERS_LIMIT},
                "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "1h"},
                "template": {"spec": template},
            },
        },
    )


def test_adopt_writes_a_lab_file_for_the_node_pool(day: DynamicDay, tmp_path: Path) -> None:
    said = day.command("adopt", CLUSTER, NODE_POOL)

    assert said.code == 0, said
    path = tmp_path / "lab.yaml"
    path.write_text(said.stdout, "utf-8")
    written = labfile.load(path)
    assert (written.pools["gpu"].kind, written.pools["gpu"].existing) == ("karpenter", NODE_POOL)
    assert written.cluster.karpenter is not None
    assert written.cluster.karpenter.existing
    assert "has no terminationGracePeriod" in said.stderr


def test_without_a_lease_a_pod_that_asks_for_a_gpu_starts_nothing(day: DynamicDay) -> None:
    day.asks_for_a_gpu("early")

    refused = f"lamplighter: no lease for NodePool {NODE_POOL}"
    day.await_(
        "the API server refuses a claim", lambda: refused in day.karpenter_says(), timedelta(minutes=12)
    )

    assert (day.theirs(), day.instances()) == ([], [])
    assert day.limit() == OWNERS_LIMIT
    day.kubernetes.delete(f"{DEFAULT}/early")


@pytest.fixture(scope="module")
def lease(day: DynamicDay) -> str:
    """A lease of one node on the NodePool, which no pod has asked for yet."""
    said = day.command("open", "gpu", "1", "for", "2h", "--json")
    assert said.code == 0, said
    # Pods bring the node, so the lease waits for none.
    day.await_("the limit is the lease's", lambda: day.limit() == "1", timedelta(minutes=20))
    return str(said.document["lease"]["id"])


def test_people_are_told_that_pods_bring_the_nodes_and_nothing_is_missing(
    day: DynamicDay, lease: str
) -> None:
    begun = opening(day, lease).opens
    day.await_("the opening is told", lambda: bool(told_of_opening(day, lease)), timedelta(minutes=10))

    [(kind, subject, why)] = told_of_opening(day, lease)

    assert (kind, subject.endswith(", no node runs yet")) == ("degraded", True)
    assert why == (
        f"No node yet: NodePool {NODE_POOL} starts nodes when pods ask for them, 1 at most; "
        "then the lab checks the GPUs that no pod uses."
    )
    sentence = f"NodePool {NODE_POOL} starts nodes when pods ask for them"
    assert sentence in day.command("status").stdout
    # It knows the clock of AWS to the second: a notice of the same second may be later.
    day.await_("why has it", lambda: sentence in day.command("why", "gpu").stdout, timedelta(minutes=2))
    assert day.entries(begun, "degraded") == []
    assert [one.details for one in day.entries(begun, "breach")] == []
    assert opening(day, lease).missing == 0


def opening(day: DynamicDay, lease: str) -> Lease:
    found = day.ledger.lease("gpu", lease)
    assert found is not None
    return found


def told_of_opening(day: DynamicDay, lease: str) -> list[tuple[str, str, str]]:
    """The notices of its opening: the kind, the subject and the text."""
    return [
        (one.details["notice"], str(one.what), str(one.why))
        for one in day.entries(opening(day, lease).opens, "announced")
        if one.lease == lease and one.details["notice"] in {"open", "degraded", "failed"}
    ]


def test_a_lease_opens_it_by_its_limit_and_pods_bring_the_node(day: DynamicDay, lease: str) -> None:
    assert lease
    assert day.limit() == "1"
    assert day.instances() == []

    day.asks_for_a_gpu("lesson")

    day.await_("the pod runs on a GPU", lambda: day.runs("lesson"), timedelta(minutes=20))
    assert len(day.instances()) == 1


def test_the_lab_looks_at_the_gpus_that_pods_have_brought(day: DynamicDay, lease: str) -> None:
    """The pod that brought the node holds its only GPU, so no check proves it: the lease says that."""
    day.await_("the node is told", lambda: len(told_of_opening(day, lease)) > 1, timedelta(minutes=15))

    kind, _, why = told_of_opening(day, lease)[1]

    assert (kind, "proved nothing" in why) == ("degraded", True), why
    assert day.runs("lesson")


def test_a_limit_that_gitops_writes_back_is_noticed_and_told(day: DynamicDay, lease: str) -> None:
    begun = day.now

    day.kubernetes.merge(day.path, {"spec": {"limits": {"nodes": OWNERS_LIMIT}}})

    day.await_("the guard tells", lambda: bool(told(day, begun)), SWEPT)
    assert told(day, begun)[0] == (
        f"somebody set limits.nodes of NodePool {NODE_POOL} to {OWNERS_LIMIT}, as GitOps does; the lab had written 1"
    )
    assert day.runs("lesson")
    assert lease


def told(day: DynamicDay, since: Any) -> list[str]:
    return [
        str(one.why) for one in day.entries(since, "breach") if one.details.get("rule") == "sizes-changed"
    ]


def test_its_end_takes_the_limit_to_zero_and_the_node_away(day: DynamicDay, lease: str) -> None:
    assert day.command("close", "gpu", "--yes").code == 0
    day.await_("there is a receipt", lambda: bool(day.receipts(lease)), timedelta(minutes=40))

    [receipt] = day.receipts(lease)
    assert receipt["proof_of_zero"]["instances"] == []
    assert (day.instances(), day.limit()) == ([], "0")
    notes = day.kubernetes.get(day.path)["metadata"]["annotations"]
    assert notes["lamplighter/kept-limit"] == OWNERS_LIMIT


def test_the_failsafe_may_lock_the_role_of_their_karpenter_and_has_not(day: DynamicDay) -> None:
    machines = day.api("stepfunctions").list_state_machines()["stateMachines"]
    [machine] = [one for one in machines if one["name"] == "adopted-lab-failsafe"]
    described = day.api("stepfunctions").describe_state_machine(stateMachineArn=machine["stateMachineArn"])

    assert lock.policy_name(NODE_POOL) in json.dumps(described["definition"])
    assert lock.policy_name(NODE_POOL) not in day.api("iam").list_role_policies(RoleName=ROLE)["PolicyNames"]
