"""What each group of ours may do about NodePools, and that it is no more."""

import json
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.node_pool import access
from tests.local.cluster.node_pools.conftest import Cluster, claim
from tests.local.cluster.node_pools.test_launch_bar import later

ALLOWED = {
    access.POOLS: {"list nodepools", "list nodeclaims", "get configmaps/demo-gpu -n lamplighter"},
    access.CAPACITY: {
        "list nodepools",
        "list nodeclaims",
        "get configmaps/demo-gpu -n lamplighter",
        "patch nodepools/demo-gpu",
        "update nodepools/demo-gpu --subresource=scale",
        "delete nodeclaims",
        "patch nodeclaims",
        "list events -n default",
    },
    access.BAR: {
        "list nodepools",
        "list nodeclaims",
        "get configmaps/demo-gpu -n lamplighter",
        "patch configmaps/demo-gpu -n lamplighter",
        "create configmaps -n lamplighter",
        "create nodeclaims",
    },
    access.GATEKEEPER: {
        "list nodepools",
        "list nodeclaims",
        "get configmaps/demo-gpu -n lamplighter",
        "create nodeclaims",
    },
    access.DOCTOR: {
        "list nodepools",
        "list nodeclaims",
        "get ec2nodeclasses",
        "get customresourcedefinitions/nodepools.karpenter.sh",
        "get configmaps/demo-gpu -n lamplighter",
        "create nodeclaims",
        "list deployments",
    },
    access.CONTROLLER: {
        "list deployments",
    },
    access.FAILSAFE: {"update nodepools/demo-gpu --subresource=scale", "deletecollection nodeclaims"},
}
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
def test_a_group_may_do_what_it_needs_and_no_more(barred: Cluster, group: str) -> None:
    everything = NOBODY.union(*ALLOWED.values())

    may = {
        request
        for request in everything
        if barred.run("auth", "can-i", *request.split(), group=group).stdout.strip() == "yes"
    }

    assert may == ALLOWED[group]


@pytest.mark.parametrize("group", [access.BAR, access.GATEKEEPER])
def test_whoever_tries_the_bar_makes_no_claim(barred: Cluster, group: str) -> None:
    barred.until("demo-gpu", later(barred, timedelta(hours=1)))

    assert barred.create(claim(), group=group).returncode == 0
    for node_pool in ("demo-gpu", "somebody-elses"):
        made = barred.create(claim(node_pool), group=group, dry=False)
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
        group=access.FAILSAFE,
    )
    gone = barred.run(
        "delete",
        "--raw",
        "/apis/karpenter.sh/v1/nodeclaims?labelSelector=karpenter.sh%2Fnodepool%3Ddemo-gpu",
        group=access.FAILSAFE,
    )

    assert put.returncode == 0, put.stderr
    assert gone.returncode == 0, gone.stderr
    stays = json.loads(barred.run("get", "nodeclaims", "-o", "json").stdout)["items"]
    assert [one["metadata"]["name"] for one in stays] == ["theirs"]
    replicas = barred.run("get", "nodepool", "demo-gpu", "-o", "jsonpath={.spec.replicas}").stdout
    assert replicas == "0"
    barred.run("delete", "nodepool", "demo-gpu")
