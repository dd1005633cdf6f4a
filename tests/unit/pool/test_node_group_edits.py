"""Which edits of node groups EKS takes in one update, and what to deploy first where it does not."""

from dataclasses import replace

import pytest

from lamplighter.domain.capacity.node_group.edit import RELEASE, NodeGroupSides, Side, TwoDeploys, two_deploys

BEFORE = NodeGroupSides(
    replacing=Side("r1", {"pools.gpu.instance_type": "g5.xlarge", "cluster.kubernetes_version": "1.34"}),
    settings=Side("s1", {"pools.gpu.labels": "{}", "tags": "{}"}),
)
ANOTHER_TYPE = replace(
    BEFORE, replacing=Side("r2", {**BEFORE.replacing.keys, "pools.gpu.instance_type": "g6.xlarge"})
)
OTHER_LABELS = replace(
    BEFORE, settings=Side("s2", {**BEFORE.settings.keys, "pools.gpu.labels": '{"a": "b"}'})
)
BOTH = NodeGroupSides(ANOTHER_TYPE.replacing, OTHER_LABELS.settings)


def edit(before: NodeGroupSides, now: NodeGroupSides) -> TwoDeploys | None:
    return two_deploys({"lab-ng-gpu": before}, {"lab-ng-gpu": now})


@pytest.mark.parametrize("now", [BEFORE, ANOTHER_TYPE, OTHER_LABELS])
def test_one_kind_of_change_is_taken_in_one_update(now: NodeGroupSides) -> None:
    assert edit(BEFORE, now) is None
    assert edit(now, BEFORE) is None


def test_of_both_kinds_settings_come_first() -> None:
    asked = TwoDeploys(first=("pools.gpu.labels",), then=("pools.gpu.instance_type",))
    assert edit(BEFORE, BOTH) == asked
    assert edit(BOTH, BEFORE) == asked


def test_either_order_works() -> None:
    assert edit(BEFORE, OTHER_LABELS) is edit(OTHER_LABELS, BOTH) is None
    assert edit(BEFORE, ANOTHER_TYPE) is edit(ANOTHER_TYPE, BOTH) is None


def test_a_key_that_changes_nothing_of_the_group_is_no_change() -> None:
    same = replace(BEFORE, replacing=Side("r1", {"pools.gpu.packages": "[]"}))
    assert edit(BEFORE, replace(same, settings=OTHER_LABELS.settings)) is None


def test_a_release_that_replaces_nodes_comes_before_an_edit_of_settings() -> None:
    released = replace(BEFORE, replacing=Side("of the release", BEFORE.replacing.keys))

    assert edit(BEFORE, replace(released, settings=OTHER_LABELS.settings)) == TwoDeploys(
        first=(RELEASE,), then=("pools.gpu.labels",)
    )


def test_a_release_that_changes_settings_comes_before_other_nodes() -> None:
    released = replace(BEFORE, settings=Side("of the release", BEFORE.settings.keys))

    assert edit(BEFORE, replace(released, replacing=ANOTHER_TYPE.replacing)) == TwoDeploys(
        first=(RELEASE,), then=("pools.gpu.instance_type",)
    )


def test_a_release_that_needs_both_by_itself_leaves_no_key_to_wait_with() -> None:
    released = NodeGroupSides(Side("r9", BEFORE.replacing.keys), Side("s9", BEFORE.settings.keys))
    assert edit(BEFORE, released) == TwoDeploys(first=(RELEASE,), then=())


def test_groups_that_come_and_go_are_no_edit() -> None:
    assert two_deploys({"old": BEFORE}, {"new": BOTH}) is None


def test_each_group_is_updated_by_itself() -> None:
    before = {"lab-ng-1": BEFORE, "lab-ng-gpu": BEFORE}
    assert two_deploys(before, {"lab-ng-1": OTHER_LABELS, "lab-ng-gpu": ANOTHER_TYPE}) is None
