"""Law 1 at admission: without a lease the API server itself refuses a node of the lab's NodePools."""

import json
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.node_pool import launch_bar
from tests.local.cluster.lab import await_true
from tests.local.cluster.node_pools.conftest import LAB, WATCHED, Cluster, claim
from tests.world.kubernetes.go_time import timestamp

HOUR = timedelta(hours=1)


def later(cluster: Cluster, by: timedelta) -> str:
    return (cluster.clock.now() + by).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_no_claim_is_born_without_a_lease(barred: Cluster) -> None:
    done = barred.create(claim(), dry=False)

    assert done.returncode == 1
    assert "lamplighter: no lease for NodePool demo-gpu" in done.stderr


def test_a_lease_lets_claims_of_its_own_pool_in_until_its_end(barred: Cluster) -> None:
    barred.until("demo-gpu", later(barred, HOUR))

    assert barred.create(claim()).returncode == 0
    assert "no lease for NodePool their-big" in barred.create(claim("their-big")).stderr
    ended = later(barred, -HOUR)
    barred.until("demo-gpu", ended)
    assert f"no lease for NodePool demo-gpu since {ended}" in barred.create(claim()).stderr


def test_a_forged_age_of_a_claim_does_not_pass(barred: Cluster) -> None:
    forged = claim()
    forged["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z"
    barred.until("demo-gpu", later(barred, -HOUR))

    assert "no lease" in barred.create(forged).stderr


@pytest.mark.parametrize("value", ["soon", "", "2099-13-01T00:00:00Z"])
def test_what_is_no_date_opens_nothing(barred: Cluster, value: str) -> None:
    written(barred, value)

    assert barred.create(claim()).returncode == 1


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
    written(barred, value)

    assert "lamplighter: no lease for NodePool demo-gpu since" in barred.create(claim()).stderr
    for instant in RFC_3339:
        written(barred, instant)
        assert barred.create(claim()).returncode == 0, instant


def test_the_world_reads_what_a_real_api_server_reads(barred: Cluster) -> None:
    """With the policy of earlier releases, which the owner of an adopted cluster may still have."""
    earlier = json.loads(
        json.dumps(launch_bar.documents(LAB)).replace(f".matches('{launch_bar.FORM}')", " != ''")
    )
    assert barred.apply(earlier).returncode == 0
    written(barred, CEL_READS[0])
    await_true(lambda: barred.create(claim()).returncode == 0, "the policy takes any form")

    for value in (
        *CEL_READS,
        *RFC_3339,
        "2099-01-01T24:00:00Z",
        "2099-01-01t00:00:00z",
        "9999-12-31T23:59:59-01:00",
    ):
        written(barred, value)
        opens = timestamp(value) is not None
        await_true(lambda: (barred.create(claim()).returncode == 0) is opens, value)  # noqa: B023

    assert barred.apply(launch_bar.documents(LAB)).returncode == 0
    written(barred, CEL_READS[0])
    await_true(lambda: barred.create(claim()).returncode != 0, "the bar takes RFC 3339 alone")


def written(barred: Cluster, value: str) -> None:
    """Somebody writes into a pool's bar."""
    barred.run(
        *("patch", "configmap", "demo-gpu", "-n", "lamplighter", "--type=merge"),
        *("-p", f'{{"data": {{"notAfter": "{value}"}}}}'),
    )


def test_a_lost_parameter_shuts_its_own_pool_only(barred: Cluster) -> None:
    barred.until("demo-big", later(barred, HOUR))
    barred.run("delete", "configmap", "demo-gpu", "-n", "lamplighter")

    refused = barred.create(claim())
    assert refused.returncode == 1
    assert "demo-launch-bar" in refused.stderr
    assert barred.create(claim("their-big")).returncode == 0
    assert barred.create(claim("somebody-elses")).returncode == 0


def test_a_claim_does_not_change_its_nodepool(barred: Cluster) -> None:
    assert barred.create(claim("somebody-elses", "theirs"), dry=False).returncode == 0
    barred.until("demo-gpu", later(barred, HOUR))
    assert barred.create(claim(name="ours"), dry=False).returncode == 0

    into = barred.run("label", "nodeclaim", "theirs", "--overwrite", "karpenter.sh/nodepool=demo-gpu")
    out_of = barred.run("label", "nodeclaim", "ours", "--overwrite", "karpenter.sh/nodepool=other")
    away = barred.run("label", "nodeclaim", "ours", "karpenter.sh/nodepool-")

    for done in (into, out_of, away):
        assert "lamplighter: a NodeClaim stays in its NodePool" in done.stderr
    assert barred.run("label", "nodeclaim", "theirs", "team=a").returncode == 0


def test_finalizers_and_annotations_of_a_claim_are_free_whatever_the_bar_says(barred: Cluster) -> None:
    barred.until("demo-gpu", later(barred, HOUR))
    held = claim(name="held")
    held["metadata"]["finalizers"] = ["karpenter.sh/termination"]
    assert barred.create(held, dry=False).returncode == 0
    barred.run("delete", "configmap", "demo-gpu", "-n", "lamplighter")

    assert barred.run("annotate", "nodeclaim", "held", "a=b").returncode == 0
    assert barred.run("delete", "nodeclaim", "held", "--wait=false").returncode == 0
    freed = barred.run(
        *("patch", "nodeclaim", "held", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    )
    assert freed.returncode == 0
    assert barred.run("get", "nodeclaim", "held").returncode == 1


def test_another_deploy_leaves_the_bar_of_a_lease_where_it_is(barred: Cluster) -> None:
    until = later(barred, HOUR)
    barred.until("demo-gpu", until)

    done = barred.apply(launch_bar.documents(LAB))

    assert done.returncode == 0, done.stderr
    stands = barred.run(
        *("get", "configmap", "demo-gpu", "-n", "lamplighter", "-o", "jsonpath={.data.notAfter}")
    )
    assert stands.stdout == until


def test_a_pool_that_is_only_watched_is_not_shut(barred: Cluster) -> None:
    assert barred.apply(launch_bar.documents(WATCHED)).returncode == 0

    await_true(lambda: barred.create(claim()).returncode == 0, "the policy says only what it would refuse")
    barred.run("delete", "configmap", "demo-gpu", "-n", "lamplighter")
    assert barred.create(claim()).returncode == 0
    assert barred.apply(launch_bar.documents(LAB)).returncode == 0


def test_a_pool_of_ours_needs_an_end_of_its_nodes_and_an_adopted_one_does_not(barred: Cluster) -> None:
    endless = claim()
    del endless["spec"]["terminationGracePeriod"]
    barred.until("demo-gpu", later(barred, HOUR))
    assert barred.create(endless).returncode == 0
    pools = {name: pool.model_copy(update={"existing": None}) for name, pool in LAB.pools.items()}
    ours = LAB.model_copy(update={"pools": {**LAB.pools, "gpu": pools["gpu"]}})
    assert barred.apply(launch_bar.documents(ours)).returncode == 0

    await_true(
        lambda: "needs a terminationGracePeriod" in barred.create(endless).stderr,
        "the API server has the new policy",
    )
    assert barred.apply(launch_bar.documents(LAB)).returncode == 0
    await_true(lambda: barred.create(endless).returncode == 0, "the API server has the old policy again")
