"""NodePools on the embedded cloud do what every kind of capacity does, under the real launch bar."""

import pytest

from lamplighter.adapters.capacity.node_pool.capacity import NodePoolCapacity
from lamplighter.adapters.capacity.node_pool.claims import ENDS_AT
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain.capacity.evidence import Bar, Part
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE, KARPENTER
from lamplighter.domain.capacity.port import Removal
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason
from tests.builders.leases import MINUTE
from tests.local.cluster.functions import Token
from tests.local.cluster.lab import pass_time
from tests.local.cluster.node_pool_port.controller import CLAIMS, POOLS
from tests.local.cluster.node_pool_port.stage import LAB, NAME, PATHS, NodePoolStage, install, node_pool
from tests.steady.hang import await_value
from tests.unit.capacity.conformance import Conformance


@pytest.mark.long
class TestNodePools(Conformance):
    a_node_is_a_remark = True


def test_what_the_bar_refused_starts_with_the_next_order(stage: NodePoolStage) -> None:
    stage.capacity.bar("gpu", stage.now())
    stage.capacity.order("gpu", 2, stage.capacity.see("gpu"))
    stage.settle()
    stage.capacity.bar("gpu", stage.now() + 60 * MINUTE)
    before = stage.changes()

    stage.capacity.order("gpu", 2, stage.capacity.see("gpu"))
    stage.settle()

    assert stage.changes() > before
    assert len(stage.capacity.see("gpu").alive) == 2


# --- the launch bar ------------------------------------------------------------------------------


def test_the_bar_is_seen_as_it_stands(stage: NodePoolStage) -> None:
    until = (stage.now() + 60 * MINUTE).replace(microsecond=0)
    stage.capacity.bar("gpu", until)

    assert stage.capacity.see("gpu", {Part.BAR}).bar == Bar(until)


def test_a_shut_bar_is_shut_already(stage: NodePoolStage) -> None:
    stage.capacity.bar("gpu", stage.now())
    changes = stage.changes()

    pass_time(60)
    stage.capacity.bar("gpu", stage.now())

    assert stage.changes() == changes
    assert not stage.admitted()


def test_a_lost_parameter_lets_nothing_start_and_is_made_again(stage: NodePoolStage) -> None:
    stage.kubernetes.delete(f"{PATHS['ConfigMap']}/lab-gpu")
    assert not stage.admitted()
    assert stage.capacity.see("gpu", {Part.BAR}).bar == Bar(None)

    stage.capacity.bar("gpu", stage.now() + 60 * MINUTE)

    assert stage.admitted()


def test_a_pool_without_its_binding_never_opens_and_the_guard_sees_why(stage: NodePoolStage) -> None:
    binding = f"{PATHS['ValidatingAdmissionPolicyBinding']}/lab-gpu"
    stage.capacity.bar("gpu", stage.now())
    stage.kubernetes.delete(binding)
    await_value("the API server forgets the binding", stage.admitted)

    seen = stage.capacity.see("gpu", {Part.BAR})
    with pytest.raises(OutsideFailed, match="lab-launch-bar refuses nothing"):
        stage.capacity.bar("gpu", stage.now() + 60 * MINUTE)

    assert seen.bar is not None
    assert seen.bar.wrong == reason("guard.bar.missing", pool="gpu", policy="lab-launch-bar")
    install(stage.kubernetes)
    await_value("the bar acts again", lambda: stage.capacity.see("gpu", {Part.BAR}).bar.wrong is None)  # type: ignore[union-attr]


def test_a_bar_that_only_notes_is_seen_for_a_guard_that_enforces(stage: NodePoolStage) -> None:
    """As after `arm` on a pool that the deployed lab only watches."""
    watched = NodePoolCapacity(
        LAB.model_copy(update={"guard": LAB.guard.model_copy(update={"mode": "watch"})}), KARPENTER
    )
    watched.kubernetes = stage.capacity.kubernetes
    binding = f"{PATHS['ValidatingAdmissionPolicyBinding']}/{NAME}"
    stage.capacity.bar("gpu", stage.now())
    seen = watched.see("gpu", {Part.BAR}).bar
    assert seen is not None
    assert seen.wrong is None

    stage.kubernetes.merge(binding, {"spec": {"validationActions": ["Audit"]}})
    await_value("the bar only notes", stage.admitted)

    seen = watched.see("gpu", {Part.BAR}).bar
    assert seen is not None
    assert seen.wrong == reason("guard.bar.only-notes", pool="gpu")
    stage.kubernetes.merge(binding, {"spec": {"validationActions": ["Deny"]}})
    await_value("the bar acts again", lambda: not stage.admitted())


# --- the lock ------------------------------------------------------------------------------------


def test_a_lock_that_denies_a_claim_under_a_lease_is_taken_off_by_the_next_order(
    stage: NodePoolStage,
) -> None:
    """IAM's denial keeps the claim, so that as many claims are there as are ordered."""
    stage.capacity.order("gpu", 1, stage.capacity.see("gpu"))
    [_, _, ends, _] = stage.capacity.off_switch("gpu", stage.now(), stage.capacity.see("gpu"))
    stage.call(ends)
    stage.settle()
    assert [claim.instance for claim in stage.capacity.see("gpu").claims] == [""]

    stage.capacity.order("gpu", 1, stage.capacity.see("gpu"))
    stage.settle()

    assert len(stage.capacity.see("gpu").alive) == 1


# --- what does not answer ------------------------------------------------------------------------


def test_without_kubernetes_ec2_still_shows_what_runs(stage: NodePoolStage) -> None:
    stage.capacity.order("gpu", 2, stage.capacity.see("gpu"))
    stage.settle()
    stage.capacity.kubernetes = Connection("https://127.0.0.1:1", stage.authority, Token("functions"))

    with pytest.raises(OutsideFailed, match=r"GET /apis/karpenter\.sh/v1/nodepools/lab-gpu"):
        stage.capacity.see("gpu")

    seen = stage.capacity.see("gpu", {Part.INSTANCES})
    assert len(seen.alive) == 2
    assert all(instance.controller for instance in seen.alive)


# --- a NodePool of somebody else -----------------------------------------------------------------


def test_a_dynamic_pool_is_closed_by_its_limit_and_its_claims_get_a_grace(stage: NodePoolStage) -> None:
    theirs = dynamic_pool(stage)
    claim = stage.claim("other")
    seen = theirs.see("other")
    assert (seen.ordered, seen.maximum, [one.grace for one in seen.claims]) == (1, 5, [None])
    assert seen.dynamic

    theirs.order("other", 0, seen)

    found = stage.kubernetes.get(f"{CLAIMS}/{claim}")
    assert "deletionTimestamp" in found["metadata"]
    assert ENDS_AT in found["metadata"]["annotations"]
    assert stage.kubernetes.get(f"{POOLS}/lab-other")["spec"]["limits"] == {"nodes": "0"}
    assert theirs.see("other").maximum == 5


def dynamic_pool(stage: NodePoolStage) -> NodePoolCapacity:
    """The pool `other` as a NodePool whose nodes pods bring, with a limit of 5 nodes."""
    document = node_pool("lab-other", most=5)
    del document["spec"]["replicas"]
    del document["spec"]["template"]["spec"]["terminationGracePeriod"]
    document["spec"]["disruption"] = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"}
    stage.kubernetes.request("POST", POOLS, document)
    return stage.capacity


# --- Auto Mode -----------------------------------------------------------------------------------


def test_an_instance_of_auto_mode_ends_with_its_claim_or_its_node(stage: NodePoolStage) -> None:
    auto = NodePoolCapacity(LAB, AUTO_MODE)
    auto.kubernetes = stage.capacity.kubernetes
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "i-0aaa"},
        "spec": {"providerID": "aws:///ap-northeast-2a/i-0aaa"},
    }
    stage.kubernetes.request("POST", "/api/v1/nodes", node)
    stage.capacity.order("gpu", 1, stage.capacity.see("gpu"))
    stage.settle()
    [claim] = stage.capacity.see("gpu").claims

    auto.remove("gpu", (claim.instance, "i-0aaa"), Removal.STRAY, stage.capacity.see("gpu"))

    assert "deletionTimestamp" in stage.kubernetes.get(f"{CLAIMS}/{claim.name}")["metadata"]
    assert stage.kubernetes.find("/api/v1/nodes/i-0aaa") is None
