"""Labs on one cluster: whatever they are called, none applies an object that another one has."""

from itertools import combinations, product
from typing import Any

from lamplighter.domain.capacity.node_pool import access, launch_bar
from lamplighter.lab.model import Lab
from lamplighter.labfile.rules.node_pools import misfits

WORDS = ("a", "b", "c", "bar", "stay", "only")
PARTS = (*WORDS, "a-b", "b-c", *launch_bar.POLICIES, *(f"b-{name}" for name in launch_bar.POLICIES))


def lab(name: str, pool: str, *, owner: str = "a") -> Lab:
    """A lab with one pool in the cluster of the lab `owner`, which creates its NodePool; every other one adopts."""
    adopts = name != owner
    cluster = {"karpenter": {"existing": True}, "existing": owner} if adopts else {"karpenter": {}}
    more = {"existing": f"their-{name}-{pool}"} if adopts else {}
    return Lab.model_validate(
        {
            "name": name,
            "cluster": cluster,
            "pools": {pool: {"kind": "karpenter", "max_nodes": 2, "price_per_hour": "1", **more}},
        }
    )


def applied(lab: Lab) -> set[tuple[str, str, str]]:
    documents: list[Any] = [*launch_bar.documents(lab), *access.documents(lab)]
    return {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]) for each in documents
    }


def test_no_two_labs_of_a_cluster_have_an_object_of_one_name() -> None:
    names = ("a", "a-b", "a-b-claims", "a-b-dry-runs", "a-b-launch", "b", "b-c", "b-c-claims")
    labs = [lab(name, pool) for name, pool in product(names, PARTS)]
    good = [(each, applied(each)) for each in labs if not list(misfits(each))]

    for (one, ours), (other, theirs) in combinations(good, 2):
        shared = ours & theirs if one.name != other.name else set()
        assert not shared, f"{one.name} {[*one.pools]} and {other.name} {[*other.pools]}: {shared}"
    assert {each.name for each, _ in good} == set(names)


def test_a_bar_keeps_the_name_of_earlier_releases_where_no_other_lab_can_have_it() -> None:
    def name(lab: Lab) -> str:
        return launch_bar.parameter_name(lab, lab.pools_with("node pool")[0])

    assert name(lab("a", "b-c")) == "a-b-c"
    assert name(lab("gpu-lab", "gpu")) == "gpu-lab-gpu"
    assert name(lab("gpu-lab", "b-c")) == "gpu-lab.b-c"
    assert name(lab("a-b", "c")) == "a-b.c"
    assert name(lab("gpu-lab", "stay")) == "gpu-lab.stay"
