"""Law 1 at admission: without a lease the API server itself refuses a node of the lab's NodePools."""

import json
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.capacity.node_pool import launch_bar
from lamplighter.domain.capacity.node_pool.probe import TYPE
from tests.local.cluster.node_pool_port.stage import PATHS
from tests.local.cluster.node_pools.conftest import CLAIMS, LAB, LATE, WATCHED, Cluster, claim, refusal_of
from tests.steady.hang import await_value
from tests.world.kubernetes.go_time import timestamp

HOUR = timedelta(hours=1)
BAR = f"{PATHS['ConfigMap']}/demo-gpu"
POOL = "karpenter.sh/nodepool"
PAST = "2001-01-01T00:00:00Z"
#: What the API server says where a policy's parameter does not exist.
LOST = "no params found"


def later(cluster: Cluster, by: timedelta) -> str:
    return (cluster.clock.now() + by).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_lease_lets_claims_of_its_own_pool_in_until_its_end(barred: Cluster) -> None:
    forged = claim()
    forged["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z"
    barred.until("demo-gpu", later(barred, HOUR))

    barred.await_admitted(claim())
    assert "no lease for NodePool their-big" in barred.refusal(claim("their-big"))
    ended = later(barred, -HOUR)
    barred.until("demo-gpu", ended)
    barred.await_refused(claim(), f"no lease for NodePool demo-gpu since {ended}")
    assert "no lease" in barred.refusal(forged), "a forged age of a claim does not pass"


@pytest.mark.parametrize("value", ["soon", "", "2099-13-01T00:00:00Z"])
def test_what_is_no_date_opens_nothing(barred: Cluster, value: str) -> None:
    barred.until("demo-gpu", LATE)
    barred.await_admitted(claim())

    barred.until("demo-gpu", value)

    barred.await_refused(claim(), "demo-launch-bar")


CEL_READS = (
    "2099-01-01T1:00:00Z",
    "2099-01-01T00:00:00+24:00",
    "2099-01-01T00:00:00+00:60",
    "2099-01-01T00:00:00,5Z",
)
"""Texts that are no RFC 3339. Python reads only the last one."""
RFC_3339 = ("2099-01-01T00:00:00Z", "2099-01-01T00:00:00.5Z", "2099-01-01T09:00:00+09:00")


@pytest.mark.parametrize("value", CEL_READS)
def test_only_an_instant_in_rfc_3339_opens(barred: Cluster, value: str) -> None:
    for instant in RFC_3339:
        barred.until("demo-gpu", value)
        barred.await_refused(claim(), f"lamplighter: no lease for NodePool demo-gpu since {value}")
        barred.until("demo-gpu", instant)
        barred.await_admitted(claim())


def test_the_world_reads_what_a_real_api_server_reads(barred: Cluster) -> None:
    """With the policy of earlier releases, which the owner of an adopted cluster may still have."""
    earlier = json.loads(
        json.dumps(launch_bar.documents(LAB)).replace(f".matches('{launch_bar.FORM}')", " != ''")
    )
    assert barred.apply(earlier).returncode == 0
    barred.until("demo-gpu", CEL_READS[0])
    barred.await_admitted(claim())

    for value in (
        *CEL_READS,
        *RFC_3339,
        "2099-01-01T24:00:00Z",
        "2099-01-01t00:00:00z",
        "9999-12-31T23:59:59-01:00",
    ):
        opens = timestamp(value) is not None
        for written, admitted in ((PAST if opens else LATE, not opens), (value, opens)):
            barred.until("demo-gpu", written)
            await_value(written, lambda: (not barred.refusal(claim())) is admitted)  # noqa: B023

    assert barred.apply(launch_bar.documents(LAB)).returncode == 0
    barred.until("demo-gpu", CEL_READS[0])
    barred.await_refused(claim(), "since")


def test_a_lost_parameter_shuts_its_own_pool_only(barred: Cluster) -> None:
    barred.until("demo-big", later(barred, HOUR))
    barred.kubernetes.delete(BAR)

    barred.await_refused(claim(), LOST)
    barred.await_admitted(claim("their-big"))
    assert not barred.refusal(claim("somebody-elses"))


def test_a_claim_does_not_change_its_nodepool(barred: Cluster) -> None:
    assert not barred.refusal(claim("somebody-elses", "theirs"), dry=False)
    barred.until("demo-gpu", later(barred, HOUR))
    barred.await_admitted(claim())
    assert not barred.refusal(claim(name="ours"), dry=False)

    into = labelled(barred, "theirs", {POOL: "demo-gpu"})
    out_of = labelled(barred, "ours", {POOL: "other"})
    away = labelled(barred, "ours", {POOL: None})

    for refusal in (into, out_of, away):
        assert "lamplighter: a NodeClaim stays in its NodePool" in refusal
    assert not labelled(barred, "theirs", {"team": "a"})


def labelled(barred: Cluster, name: str, labels: dict[str, str | None]) -> str:
    """What the API server says against other labels of a claim."""
    return refusal_of(barred.kubernetes, "PATCH", f"{CLAIMS}/{name}", {"metadata": {"labels": labels}})


def test_finalizers_and_annotations_of_a_claim_are_free_whatever_the_bar_says(barred: Cluster) -> None:
    api, path = barred.kubernetes, f"{CLAIMS}/held"
    barred.until("demo-gpu", later(barred, HOUR))
    barred.await_admitted(claim())
    held = claim(name="held")
    held["metadata"]["finalizers"] = ["karpenter.sh/termination"]
    assert not barred.refusal(held, dry=False)
    api.delete(BAR)
    barred.await_refused(claim(), LOST)

    assert not refusal_of(api, "PATCH", path, {"metadata": {"annotations": {"a": "b"}}})
    assert not refusal_of(api, "DELETE", path)
    assert not refusal_of(api, "PATCH", path, {"metadata": {"finalizers": None}})
    assert api.find(path) is None


def test_another_deploy_leaves_the_bar_of_a_lease_where_it_is(barred: Cluster) -> None:
    until = later(barred, HOUR)
    barred.until("demo-gpu", until)

    done = barred.apply(launch_bar.documents(LAB))

    assert done.returncode == 0, done.stderr
    assert barred.kubernetes.get(BAR)["data"] == {"notAfter": until}


def of_types(*types: str, operator: str = "In") -> dict[str, Any]:
    """A claim of pool big, for a node of these types."""
    wanted = [{"key": TYPE, "operator": operator, "values": list(types)}] if types else []
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["ap-northeast-2a"]}
    return claim("their-big", requirements=[zone, *wanted])


def test_a_claim_may_become_a_node_of_the_types_alone_that_the_lab_names(barred: Cluster) -> None:
    big = LAB.pools["big"].model_copy(update={"instance_types": ["g5.xlarge", "g6.xlarge"]})
    assert barred.apply(launch_bar.documents(LAB.model_copy(update={"pools": {**LAB.pools, "big": big}})))
    refusal = "lamplighter: the lab allows NodePool their-big only nodes of type g5.xlarge or g6.xlarge"
    for pool in ("demo-big", "demo-gpu"):
        barred.until(pool, later(barred, HOUR))

    barred.await_refused(of_types("p5.48xlarge"), refusal)
    barred.await_admitted(of_types("g6.xlarge"))
    assert not barred.refusal(of_types("g6.xlarge", "g5.xlarge"))
    for more in (of_types("g5.xlarge", "p5.48xlarge"), of_types("g5.xlarge", operator="NotIn"), of_types()):
        assert refusal in barred.refusal(more)
    # Of the other pool the lab names no type.
    barred.await_admitted(claim(requirements=of_types("p5.48xlarge")["spec"]["requirements"]))

    assert barred.apply(launch_bar.documents(LAB)).returncode == 0
    barred.await_admitted(of_types("p5.48xlarge"))


def test_a_pool_that_is_only_watched_is_not_shut(barred: Cluster) -> None:
    watched, ours = launch_bar.documents(WATCHED), launch_bar.documents(LAB)
    assert barred.apply(watched).returncode == 0
    barred.await_admitted(claim())

    assert barred.apply(ours).returncode == 0
    barred.kubernetes.delete(BAR)
    barred.await_refused(claim(), LOST)
    assert barred.apply([each for each in watched if each["kind"] != "ConfigMap"]).returncode == 0
    barred.await_admitted(claim())
    assert barred.apply(ours).returncode == 0


def test_a_pool_of_ours_needs_an_end_of_its_nodes_and_an_adopted_one_does_not(barred: Cluster) -> None:
    endless = claim()
    del endless["spec"]["terminationGracePeriod"]
    barred.until("demo-gpu", later(barred, HOUR))
    barred.await_admitted(endless)
    pools = {name: pool.model_copy(update={"existing": None}) for name, pool in LAB.pools.items()}
    ours = LAB.model_copy(update={"pools": {**LAB.pools, "gpu": pools["gpu"]}})
    assert barred.apply(launch_bar.documents(ours)).returncode == 0

    barred.await_refused(endless, "needs a terminationGracePeriod")
    assert barred.apply(launch_bar.documents(LAB)).returncode == 0
    barred.await_admitted(endless)
