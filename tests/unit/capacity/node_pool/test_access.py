"""Who may look at Karpenter itself: by name where the lab installs it, else at every Deployment; and no more."""

from typing import Any

import pytest

from lamplighter.domain.capacity.node_pool.access import documents
from lamplighter.domain.capacity.node_pool.groups import Group
from lamplighter.lab.model import Lab


def rights(group: Group, **karpenter: Any) -> list[tuple[str | None, dict[str, Any]]]:
    """The rules of a group about Deployments and pods, each with its namespace; None for the whole cluster."""
    lab = Lab.model_validate(
        {"name": "lab", "cluster": {"karpenter": karpenter}, "pools": {"gpu": {"kind": "karpenter"}}}
    )
    made: list[Any] = documents(lab)
    bound = {
        (one["roleRef"]["name"], one["metadata"].get("namespace"))
        for one in made
        if one["kind"].endswith("Binding") and one["subjects"][0]["name"] == group.of("lab")
    }
    return [
        (one["metadata"].get("namespace"), rule)
        for one in made
        if (one["metadata"]["name"], one["metadata"].get("namespace")) in bound
        for rule in one.get("rules", [])
        if {"deployments", "pods"} & {*rule["resources"]}
    ]


def test_of_a_karpenter_that_the_lab_installs_one_deployment_is_seen() -> None:
    assert rights(Group.CONTROLLER) == [
        (
            "kube-system",
            {
                "apiGroups": ["apps"],
                "resources": ["deployments"],
                "verbs": ["get"],
                "resourceNames": ["karpenter"],
            },
        )
    ]
    assert rights(Group.DOCTOR) == [
        ("kube-system", {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})
    ]


@pytest.mark.parametrize(("group", "seen"), [(Group.CONTROLLER, ["deployments"]), (Group.DOCTOR, [])])
def test_an_existing_one_may_have_any_name(group: Group, seen: list[str]) -> None:
    assert [(space, *rule["resources"]) for space, rule in rights(group, existing=True)] == [
        (None, each) for each in seen
    ]
