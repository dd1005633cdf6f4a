"""What breaks in a lab on Karpenter, with the real one: each time the pool is lawful, and one sentence tells why.

Where each fault of such a pool is played. Folders without a name are below tests/local/cluster.

- Karpenter killed in a lease and at its end: here; its rail alone in karpenter/test_failsafe.py.
- Our functions all deleted: here, with Karpenter alive; Scheduler's four starts alone in test_failsafe_machine.py.
- Both: the rail past Kubernetes needs neither, karpenter/test_failsafe.py and test_failsafe_machine.py.
- A NodePool scaled by hand without a lease: test_karpenter.py; the API server's refusals in node_pools/.
- GPUs of somebody else's NodePool: tests/unit/guard/shown/test_outside.py.
- A pod with do-not-disrupt and a budget of 0: here; of EKS Auto Mode in auto_mode/test_auto_mode.py.
- A claim that never registers: auto_mode/test_auto_mode.py; its diagnosis in tests/unit/diagnosis/node_pool/.
- No capacity in one zone and in all, a quota: karpenter/test_diagnosis.py, tests/local/aws/fleets/ and
  tests/unit/capacity/node_pool/test_shortage.py.
- An instance that somebody ends: karpenter/test_nodes.py. An interruption by the queue: nowhere yet.
- The API server unreachable at the first rail: test_failsafe_machine.py, by each kind of trouble.
- The lock left on at the next opening: here; at a destroy in node_pool_port/test_deploy_steps.py.
- A deploy in mid-lease: test_karpenter.py, and of another pool test_mixed_lab.py, which has the destroy as well.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.node_pool import lock
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.reasons.document import read
from local.cloud import Cloud
from tests.karpenter_program import controller_or_skip
from tests.scenarios.karpenter.test_karpenter import LAB, POOL
from tests.scenarios.karpenter_day import KarpenterDay

pytestmark = pytest.mark.long

#: Karpenter's controller works in real time: while it does, a real second is so many of the lab's.
RATE = 4
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/karpenter"
DEFAULT = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
ROLE = "demo-ap-northeast-2-karpenter"
#: When the failsafe's first rail begins after an end, and when the one past Kubernetes.
KUBERNETES, PAST_KUBERNETES = timedelta(minutes=10), timedelta(minutes=30)
#: The machine looks again every minute, and EC2 ends an instance in some seconds.
RAIL = timedelta(minutes=3)


class FaultyDay(KarpenterDay):
    """The same lab, with what people and accidents do to it."""

    def opened(self) -> Lease:
        """A lease with its one node, proven."""
        lease = self.open(1, "30m", "--wait")
        assert lease.state is LeaseState.OPEN
        assert len(self.instances()) == 1
        return lease

    def karpenter_pods(self, wanted: int) -> None:
        """As `kubectl scale deployment karpenter` does; returns when its programs follow."""
        self.kubernetes.merge(DEPLOYMENT, {"spec": {"replicas": wanted}})

        def follow() -> bool:
            ready = self.kubernetes.get(DEPLOYMENT)["status"].get("readyReplicas", 0)
            return bool(ready == wanted == len(self.cloud.karpenter.running))

        self.await_(f"Karpenter has {wanted} pods", follow, timedelta(minutes=20))

    def hold(self) -> None:
        """A pod on the pool's node that nothing may disturb: neither Karpenter nor an eviction."""
        metadata = {
            "name": "held",
            "labels": {"app": "held"},
            "annotations": {"karpenter.sh/do-not-disrupt": "true"},
        }
        spec = {
            "nodeSelector": {"karpenter.sh/nodepool": POOL},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "train", "image": "busybox", "command": ["sleep", "infinity"]}],
        }
        self.kubernetes.create(
            DEFAULT, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "held"},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "held"}}},
        }
        self.kubernetes.create(BUDGETS, budget)
        self.await_(
            "the pod runs",
            lambda: self.kubernetes.get(f"{DEFAULT}/held")["status"]["phase"] == "Running",
            timedelta(minutes=5),
        )

    def locked(self) -> bool:
        policies = self.api("iam").list_role_policies(RoleName=ROLE)["PolicyNames"]
        return lock.policy_name(POOL) in policies

    def told(self) -> dict[str, list[str]]:
        """What `diagnose` tells, by the name of each cause."""
        said = self.command("diagnose", "gpu", "--json", "-")
        assert said.code == 0, said
        return {each["cause"]: each["evidence"] for each in said.document["findings"]}

    @contextmanager
    def quick(self) -> Iterator[None]:
        """An hour in which Karpenter has nothing to do takes a moment."""
        self.clock.hurry(True)
        try:
            yield
        finally:
            self.clock.hurry(False)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyDay]:
    controller_or_skip()
    path = tmp_path_factory.mktemp("lab") / "lab.yaml"
    path.write_text(LAB, "utf-8")
    with Cloud(path, rate=RATE, progress=print) as cloud:
        cloud.up()
        yield FaultyDay(cloud)


def test_a_pod_that_nothing_may_disturb_holds_its_node_no_longer_than_a_drain(day: FaultyDay) -> None:
    lease, begun = day.opened(), day.now
    day.hold()

    assert day.command("close", "gpu").code == 0
    day.await_("there is a receipt", lambda: bool(day.receipts(lease.id)), timedelta(minutes=15))

    assert day.instances() == []
    [drained] = day.entries(begun, "drained")
    assert "deleted by force: default/held" in str(drained.why)
    [receipt] = day.receipts(lease.id)
    assert receipt["proof_of_zero"]["instances"] == []


@pytest.fixture(scope="module")
def without_karpenter(day: FaultyDay) -> Lease:
    """An open lease whose Karpenter was killed."""
    lease = day.opened()
    day.karpenter_pods(0)
    return lease


def test_a_karpenter_that_is_killed_takes_no_node_from_a_lease_and_is_told(
    day: FaultyDay, without_karpenter: Lease
) -> None:
    running = day.instances()

    with day.quick():
        day.pass_until(without_karpenter.closes - timedelta(minutes=5))

    assert day.instances() == running
    assert day.told()["karpenter-not-ready"] == ["Deployment kube-system/karpenter has 0 replicas"]


def test_what_a_dead_karpenter_leaves_at_an_end_is_ended_past_kubernetes(
    day: FaultyDay, without_karpenter: Lease
) -> None:
    lease, running = without_karpenter, day.instances()
    past_kubernetes = lease.closes + PAST_KUBERNETES

    with day.quick():
        day.pass_until(past_kubernetes - timedelta(minutes=1))
        assert day.instances() == running
        assert "karpenter-not-ready" in day.told()
        day.pass_until(past_kubernetes + RAIL)
        assert day.instances() == []
        day.await_("there is a receipt", lambda: bool(day.receipts(lease.id)), timedelta(minutes=45))

    assert day.locked()
    paged = [str(one.why) for one in day.entries(lease.closes, "breach") if one.details.get("paged")]
    assert paged
    assert all("pool gpu has 1 node and no lease" in why for why in paged)
    [receipt] = day.receipts(lease.id)
    zero = receipt["proof_of_zero"]
    assert zero["instances"] == []
    # What Kubernetes still lists is told, and speaks against nothing.
    assert len(zero["nodeclaims"]) == 1
    assert any(zero["nodeclaims"][0] in str(read(remark)) for remark in zero["remarks"])


@pytest.fixture(scope="module")
def opened_again(day: FaultyDay, without_karpenter: Lease) -> Lease:
    """The next lease, after the failsafe has left its lock and Karpenter has come back."""
    assert without_karpenter.closes < day.now
    assert day.locked()
    day.karpenter_pods(1)
    return day.opened()


def test_the_next_opening_takes_the_lock_off_and_has_its_node(day: FaultyDay, opened_again: Lease) -> None:
    assert not day.locked()
    assert day.ledger.lease("gpu", opened_again.id) is not None
    assert day.replicas() == 1


def test_with_every_function_deleted_the_machine_alone_brings_the_pool_to_zero(
    day: FaultyDay, opened_again: Lease
) -> None:
    running, armed = day.instances(), opened_again.closes + KUBERNETES
    functions = day.api("lambda")
    for name in (each["FunctionName"] for each in functions.list_functions()["Functions"]):
        if name.startswith("demo-"):
            functions.delete_function(FunctionName=name)

    with day.quick():
        day.pass_until(armed - timedelta(minutes=1))

    assert (day.instances(), day.replicas()) == (running, 1)
    day.await_(
        "EC2 has nothing", lambda: not day.instances(), timedelta(minutes=1) + PAST_KUBERNETES - KUBERNETES
    )
    assert day.now > armed
    assert (day.replicas(), day.locked()) == (0, False)
    day.await_("the claim is gone", lambda: day.claims() == [], timedelta(minutes=15))
