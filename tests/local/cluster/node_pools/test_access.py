"""What each group of ours may do about NodePools, and that it is no more."""

import json
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.node_pool.groups import Group
from tests.local.cluster.node_pools.conftest import LAB, Cluster, claim
from tests.local.cluster.node_pools.test_launch_bar import later

ALLOWED = {
    Group.POOLS: {"list nodepools", "list nodeclaims", "get configmaps/demo-gpu -n lamplighter"},
    Group.CAPACITY: {
        "list nodepools",
        "list nodeclaims",
        "get configmaps/demo-gpu -n lamplighter",
        "patch nodepools/demo-gpu",
        "update nodepools/demo-gpu --subresource=scale",
        "delete nodeclaims",
        "patch nodeclaims",
        "list events -n default",
    },
    Group.BAR: {
        "list nodepools",
        "list nodeclaims",
        "get configmaps/demo-gpu -n lamplighter",
        "patch configmaps/demo-gpu -n lamplighter",
        "create configmaps -n lamplighter",
        "create nodeclaims",
    },
    Group.GATEKEEPER: {
        "list nodepools",
        "list nodeclaims",
        "get configmaps/demo-gpu -n lamplighter",
        "create nodeclaims",
    },
    Group.DOCTOR: {
        "list nodepools",
        "list nodeclaims",
        "get ec2nodeclasses",
        "get customresourcedefinitions/nodepools.karpenter.sh",
        "get configmaps/demo-gpu -n lamplighter",
        "create nodeclaims",
    },
    Group.CONTROLLER: {
        "list deployments",
    },
    Group.FAILSAFE: {"update nodepools/demo-gpu --subresource=scale", "deletecollection nodeclaims"},
}
FAILSAFE = Group.FAILSAFE.of(LAB.name)
#: What nobody may, beside what only some may.
NOBODY = {
    "create nodepools",
    "delete nodepools/demo-gpu",
    "patch nodepools/somebody-elses",
    "update nodepools/somebody-elses --subresource=scale",
    "get configmaps/another -n lamplighter",
    "patch configmaps/another -n lamplighter",
    "get configmaps/demo-gpu -n kube-system",
    "patch validatingadmissionpolicies/demo-launch-bar",
    "delete validatingadmissionpolicybindings/demo-gpu",
    "get secrets -n lamplighter",
    "list events -n kube-system",
    "list pods -n default",
    "delete nodes",
}


@pytest.mark.parametrize("group", ALLOWED)
def test_a_group_may_do_what_it_needs_and_no_more(barred: Cluster, group: Group) -> None:
    everything = NOBODY.union(*ALLOWED.values())

    may = {
        request
        for request in everything
        if barred.run("auth", "can-i", *request.split(), group=group.of(LAB.name)).stdout.strip() == "yes"
    }

    assert may == ALLOWED[group]


@pytest.mark.parametrize("group", [Group.BAR, Group.GATEKEEPER])
def test_whoever_tries_the_bar_makes_no_claim(barred: Cluster, group: Group) -> None:
    name = group.of(LAB.name)
    barred.until("demo-gpu", later(barred, timedelta(hours=1)))

    assert barred.create(claim(), group=name).returncode == 0
    for node_pool in ("demo-gpu", "somebody-elses"):
        made = barred.create(claim(node_pool), group=name, dry=False)
        assert "lamplighter: its functions only try a NodeClaim, and make none" in made.stderr


def test_the_failsafe_scales_to_zero_and_deletes_the_claims_of_a_pool(barred: Cluster) -> None:
    barred.until("demo-gpu", later(barred, timedelta(hours=1)))
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "demo-gpu"},
        "spec": {"replicas": 2, "template": {"spec": claim()["spec"]}},
    }
    assert barred.apply([pool]).returncode == 0
    assert barred.create(claim(), dry=False).returncode == 0
    assert barred.create(claim("somebody-elses", "theirs"), dry=False).returncode == 0
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "demo-gpu"},
        "spec": {"replicas": 0},
    }

    put = barred.run(
        *("replace", "--raw", "/apis/karpenter.sh/v1/nodepools/demo-gpu/scale", "-f", "-"),
        sent=scale,
        group=FAILSAFE,
    )
    gone = barred.run(
        "delete",
        "--raw",
        "/apis/karpenter.sh/v1/nodeclaims?labelSelector=karpenter.sh%2Fnodepool%3Ddemo-gpu",
        group=FAILSAFE,
    )

    assert put.returncode == 0, put.stderr
    assert gone.returncode == 0, gone.stderr
    stays = json.loads(barred.run("get", "nodeclaims", "-o", "json").stdout)["items"]
    assert [one["metadata"]["name"] for one in stays] == ["theirs"]
    replicas = barred.run("get", "nodepool", "demo-gpu", "-o", "jsonpath={.spec.replicas}").stdout
    assert replicas == "0"
    barred.run("delete", "nodepool", "demo-gpu")


@pytest.mark.parametrize("group", ALLOWED)
def test_the_functions_of_another_lab_of_the_cluster_may_do_nothing_with_it(
    barred: Cluster, group: Group
) -> None:
    may = [
        request
        for request in sorted(ALLOWED[group])
        if barred.run("auth", "can-i", *request.split(), group=group.of("other")).stdout.strip() == "yes"
    ]

    assert may == []
