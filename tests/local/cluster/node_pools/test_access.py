"""What each group of ours may do about NodePools, and that it is no more."""

from collections.abc import Iterable
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.node_pool.groups import Group
from tests.local.cluster.node_pools.conftest import LAB, Cluster, claim
from tests.local.cluster.node_pools.test_launch_bar import later

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
POOLS = "/apis/karpenter.sh/v1/nodepools"
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


#: The API group of each resource that is not of the core group.
API_GROUPS = {
    "nodepools": "karpenter.sh",
    "nodeclaims": "karpenter.sh",
    "ec2nodeclasses": "karpenter.k8s.aws",
    "customresourcedefinitions": "apiextensions.k8s.io",
    "deployments": "apps",
    "validatingadmissionpolicies": "admissionregistration.k8s.io",
    "validatingadmissionpolicybindings": "admissionregistration.k8s.io",
}


def allowed(barred: Cluster, requests: Iterable[str], group: str) -> set[str]:
    """Those of the requests, in the words of `kubectl auth can-i`, that a member of the group may make."""
    found = set()
    for request in requests:
        verb, what, *options = request.split()
        resource, _, name = what.partition("/")
        subresource = next((each.partition("=")[2] for each in options if "=" in each), "")
        attributes = {
            "verb": verb,
            "group": API_GROUPS.get(resource, ""),
            "resource": resource,
            "subresource": subresource,
            "name": name,
            "namespace": options[1] if "-n" in options else "",
        }
        review = {"spec": {"user": "somebody", "groups": [group], "resourceAttributes": attributes}}
        if barred.kubernetes.request("POST", REVIEWS, review)["status"]["allowed"]:
            found.add(request)
    return found


@pytest.mark.parametrize("group", ALLOWED)
def test_a_group_may_do_what_it_needs_and_no_more(barred: Cluster, group: Group) -> None:
    everything = NOBODY.union(*ALLOWED.values())

    assert allowed(barred, everything, group.of(LAB.name)) == ALLOWED[group]
    # Nor may the functions of another lab of the cluster.
    assert allowed(barred, everything, group.of("other")) == set()


@pytest.mark.parametrize("group", [Group.BAR, Group.GATEKEEPER])
def test_whoever_tries_the_bar_makes_no_claim(barred: Cluster, group: Group) -> None:
    name = group.of(LAB.name)
    barred.until("demo-gpu", later(barred, timedelta(hours=1)))

    barred.await_admitted(claim(), group=name)
    for node_pool in ("demo-gpu", "somebody-elses"):
        made = barred.refusal(claim(node_pool), group=name, dry=False)
        assert "lamplighter: its functions only try a NodeClaim, and make none" in made
