"""What breaks in a lab on Karpenter, with the real one: each time the pool is lawful, and one sentence tells why.

Where each fault of such a pool is played. Folders without a name are below tests/local/cluster.

- Karpenter killed in a lease and at its end: here; each rail alone in rails/test_karpenter_rails.py.
- Our functions all deleted: here, with Karpenter alive; Scheduler's four starts alone in test_failsafe_machine.py.
- Both: here.
- A NodePool scaled by hand without a lease: test_karpenter.py; the API server's refusals in node_pools/.
- GPUs of somebody else's NodePool, told and then ended: examples/test_auto_mode.py, with EKS Auto Mode's; the rules for
  every kind in tests/unit/guard/rules/test_outside_pools.py.
- A pod with do-not-disrupt and a budget of 0: here; of EKS Auto Mode in auto_mode/test_auto_mode.py.
- A claim that never registers: here until its lease ends; what Karpenter does with it in 15 minutes is recorded in
  tests/karpenter_recording; of EKS Auto Mode in auto_mode/test_auto_mode.py.
- No capacity in one zone and in all, a quota: karpenter/test_diagnosis.py, tests/local/aws/fleets/ and
  tests/unit/capacity/node_pool/test_shortage.py.
- An interruption: here; an instance that somebody ends: karpenter/test_nodes.py.
- The API server unreachable at the first rail: here; by each kind of trouble in test_failsafe_machine.py.
- The lock left on at the next opening: here; at a destroy in node_pool_port/test_deploy_steps.py.
- A deploy in mid-lease, of the pool and of another one, and a destroy: test_karpenter.py.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.reasons.document import read
from tests.karpenter_program import controller_or_skip
from tests.scenarios.deployed_lab import deployed_lab
from tests.scenarios.karpenter.faulty_day import LAB, FaultyDay

pytestmark = pytest.mark.long

#: Karpenter's controller works in real time: while it does, a real second is so many of the lab's.
RATE = 4
#: How long the guard waits for a dead Karpenter: a minute's drain, twice 90 seconds, and EC2's own time.
BY_THE_GUARD = timedelta(minutes=8)
#: When the failsafe's first rail begins after an end, and when the one past Kubernetes.
KUBERNETES, PAST_KUBERNETES = timedelta(minutes=10), timedelta(minutes=30)
#: The machine looks again every minute, and EC2 ends an instance in some seconds.
RAIL = timedelta(minutes=3)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyDay]:
    controller_or_skip()
    with deployed_lab(tmp_path_factory, LAB, rate=RATE) as cloud:
        yield FaultyDay(cloud)


@pytest.fixture(scope="module")
def leased(day: FaultyDay) -> Lease:
    return day.opened("1h")


@pytest.fixture(scope="module")
def interrupted(day: FaultyDay, leased: Lease) -> str:
    """The instance of the lease, which EC2 has announced to take back."""
    [instance] = day.instances()
    day.interrupt(instance)
    return instance


def test_a_node_that_ec2_takes_back_is_replaced_within_its_lease_and_told_once(
    day: FaultyDay, leased: Lease, interrupted: str
) -> None:
    begun, sizes = day.now, set[int]()

    def replaced() -> bool:
        there = day.instances()
        sizes.add(len(there))
        return interrupted not in there and any(map(day.has_gpus, there)) and len(day.nodes()) == 1

    day.await_("another node has its GPU", replaced, timedelta(minutes=20))

    day.await_("it is told", lambda: bool(day.entries(begun, "breach")), timedelta(minutes=6))
    [told] = day.entries(begun, "breach")
    assert (told.details["rule"], told.lease) == ("node-interrupted", leased.id)
    sentence = f"(NodeClaim {told.details['subject']}): EC2 announces a Spot interruption; a fresh node comes"
    assert sentence in day.command("why", "gpu").stdout
    assert max(sizes) <= day.lab.pools["gpu"].max_nodes
    assert (day.lease(leased.id).state, day.replicas()) == (LeaseState.OPEN, 1)
    assert day.told() == {}


def test_a_pod_that_nothing_may_disturb_holds_its_node_no_longer_than_a_drain(
    day: FaultyDay, leased: Lease
) -> None:
    begun = day.now
    day.hold()

    assert day.command("close", "gpu").code == 0
    day.await_("there is a receipt", lambda: bool(day.receipts(leased.id)), timedelta(minutes=15))

    assert day.instances() == []
    [drained] = day.entries(begun, "drained")
    assert "deleted by force: default/held" in str(drained.why)
    [receipt] = day.receipts(leased.id)
    assert receipt["proof_of_zero"]["instances"] == []


def test_the_receipt_of_an_interrupted_lease_has_both_nodes_and_says_why(
    day: FaultyDay, leased: Lease, interrupted: str, tmp_path: Path
) -> None:
    [receipt] = day.receipts(leased.id)

    lives = [life["instance"] for life in receipt["node_lives"]]
    assert len(lives) == 2
    assert lives[0] == interrupted
    page = tmp_path / "receipt.html"
    assert day.command("receipt", leased.id, "--html", str(page)).code == 0
    assert "EC2 announces a Spot interruption" in page.read_text("utf-8")


def test_a_node_that_never_registers_is_told_and_ends_with_its_idle_lease(day: FaultyDay) -> None:
    """Law 1 holds for what Kubernetes never sees: EC2 bills the instance, and the guard counts it as idle."""
    day.cloud.fault_on("node-not-joined", "gpu")
    lease, begun = day.open(1, "3h"), day.now
    day.await_("an instance runs", lambda: len(day.instances()) == 1, timedelta(minutes=10))

    with day.quick():
        day.pass_until(begun + timedelta(minutes=10))
        [(cause, evidence)] = day.told().items()
        # Sweeps first see it idle within five minutes; the guard warns after an hour, a quarter before the end.
        day.pass_until(begun + timedelta(minutes=72))
        [warned] = day.entries(begun, "warned")
        day.pass_until(warned.at + timedelta(minutes=14))
    day.await_("there is a receipt", lambda: bool(day.receipts(lease.id)), timedelta(minutes=40))

    assert cause == "node-not-joined"
    assert "Registered=Unknown, NodeNotFound: Node not registered with cluster" in evidence[1]
    degraded = [one for one in day.entries(begun, "announced") if one.details.get("notice") == "degraded"]
    assert "has not joined the cluster as a node" in str(degraded[0].why)
    assert day.instances() == []
    [receipt] = day.receipts(lease.id)
    assert (receipt["minutes_to_ready"], receipt["proof_of_zero"]["instances"]) == (None, [])
    day.cloud.fault_off("node-not-joined", "gpu")


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


def test_what_a_dead_karpenter_leaves_at_an_end_the_guard_ends_in_ec2_and_says_why(
    day: FaultyDay, without_karpenter: Lease
) -> None:
    lease, [running] = without_karpenter, day.instances()

    with day.quick():
        day.pass_until(lease.closes)
        day.await_("EC2 has nothing", lambda: not day.instances(), BY_THE_GUARD)
        day.await_("there is a receipt", lambda: bool(day.receipts(lease.id)), timedelta(minutes=15))

    assert not day.locked()
    assert "karpenter-not-ready" in day.told()
    [ended] = day.entries(lease.closes, "breach")
    dead = "Karpenter does not run: Deployment kube-system/karpenter has 0 replicas"
    assert (ended.lease, ended.details["paged"]) == (lease.id, "yes")
    assert str(ended.why) == f"{dead}; the guard ends {running} of pool gpu itself, in EC2"
    assert [str(one.why) for one in day.entries(lease.opens, "breach") if one is not ended][:1] == [dead]
    closing = [one for one in day.entries(lease.closes, "announced") if one.details["notice"] == "closing"]
    assert len(closing) == 1
    [receipt] = day.receipts(lease.id)
    zero = receipt["proof_of_zero"]
    assert zero["instances"] == []
    # What Kubernetes still lists is told, and speaks against nothing.
    assert len(zero["nodeclaims"]) == 1
    assert any(zero["nodeclaims"][0] in str(read(remark)) for remark in zero["remarks"])


@pytest.fixture(scope="module")
def opened_again(day: FaultyDay, without_karpenter: Lease) -> Lease:
    """The next lease, where a failsafe has left its lock and Karpenter has come back."""
    assert without_karpenter.closes < day.now
    day.lock()
    day.karpenter_pods(1)
    return day.opened("1h")


def test_the_next_opening_takes_the_lock_off_and_has_its_node(day: FaultyDay, opened_again: Lease) -> None:
    assert not day.locked()
    assert day.ledger.lease("gpu", opened_again.id) is not None
    assert day.replicas() == 1


@pytest.fixture(scope="module")
def other(day: FaultyDay) -> FaultyDay:
    return FaultyDay(day.cloud, "other")


@pytest.fixture(scope="module")
def third(day: FaultyDay) -> FaultyDay:
    return FaultyDay(day.cloud, "third")


@pytest.fixture(scope="module")
def without_functions(
    day: FaultyDay, other: FaultyDay, third: FaultyDay, opened_again: Lease
) -> tuple[Lease, Lease]:
    """The leases of the other two pools: longer ones, made before every function of the lab is deleted."""
    asked = third.open(1, "2h"), other.open(1, "3h")
    leases = third.until_open(asked[0]), other.until_open(asked[1])
    assert opened_again.closes > day.now
    day.without_functions()
    return leases


def test_with_every_function_deleted_the_machine_alone_brings_the_pool_to_zero(
    day: FaultyDay, opened_again: Lease, without_functions: tuple[Lease, Lease]
) -> None:
    running, armed = day.instances(), opened_again.closes + KUBERNETES
    assert without_functions

    with day.quick():
        day.pass_until(armed - timedelta(minutes=1))

    assert (day.instances(), day.replicas()) == (running, 1)
    day.await_(
        "EC2 has nothing", lambda: not day.instances(), timedelta(minutes=1) + PAST_KUBERNETES - KUBERNETES
    )
    assert day.now > armed
    assert (day.replicas(), day.locked()) == (0, False)
    day.await_("the claim is gone", lambda: day.claims() == [], timedelta(minutes=15))


def test_where_the_api_server_does_not_answer_the_first_rail_ends_the_instances_at_once(
    third: FaultyDay, without_functions: tuple[Lease, Lease]
) -> None:
    """Karpenter lives, and would start the node anew: the bar is shut, and the lock is on."""
    armed = without_functions[0].closes + KUBERNETES
    [running] = third.instances()

    with third.unreachable_api_server():
        with third.quick():
            third.pass_until(armed - timedelta(minutes=1))
        assert third.instances() == [running]
        third.await_("EC2 has nothing", lambda: not third.instances(), timedelta(minutes=1) + RAIL)

    assert (third.replicas(), third.locked()) == (1, True)
    third.await_("the claim is gone", lambda: third.claims() == [], timedelta(minutes=15))
    assert third.instances() == []


def test_with_karpenter_gone_as_well_the_rail_past_kubernetes_ends_the_instances(
    other: FaultyDay, without_functions: tuple[Lease, Lease]
) -> None:
    past_kubernetes = without_functions[1].closes + PAST_KUBERNETES
    [running] = other.instances()
    other.karpenter_pods(0)

    with other.quick():
        other.pass_until(past_kubernetes - timedelta(minutes=1))
        # The first rail has ordered it, and nobody follows.
        assert (other.instances(), other.replicas(), other.locked()) == ([running], 0, False)
        other.pass_until(past_kubernetes + RAIL)

    assert (other.instances(), other.locked()) == ([], True)
