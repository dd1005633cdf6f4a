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


OF_A_RELEASE = Side("of the release", BEFORE.replacing.keys), Side("of the release", BEFORE.settings.keys)
NO_CHANGE = replace(BEFORE, replacing=Side("r1", {"pools.gpu.packages": "[]"}))
LABELS, TYPE = ("pools.gpu.labels",), ("pools.gpu.instance_type",)


@pytest.mark.parametrize(
    ("before", "now", "deploys"),
    [
        # One kind of change is taken in one update, in either order.
        *((one, other, None) for one in (BEFORE, BOTH) for other in (ANOTHER_TYPE, OTHER_LABELS)),
        *((one, BEFORE, None) for one in (BEFORE, ANOTHER_TYPE, OTHER_LABELS)),
        *((one, BOTH, None) for one in (ANOTHER_TYPE, OTHER_LABELS)),
        # Of both kinds settings come first.
        (BEFORE, BOTH, TwoDeploys(LABELS, TYPE)),
        (BOTH, BEFORE, TwoDeploys(LABELS, TYPE)),
        # A key that changes nothing of the group is no change.
        (BEFORE, replace(NO_CHANGE, settings=OTHER_LABELS.settings), None),
        # A release that replaces nodes, or changes settings, comes before an edit of the other kind.
        (BEFORE, NodeGroupSides(OF_A_RELEASE[0], OTHER_LABELS.settings), TwoDeploys((RELEASE,), LABELS)),
        (BEFORE, NodeGroupSides(ANOTHER_TYPE.replacing, OF_A_RELEASE[1]), TwoDeploys((RELEASE,), TYPE)),
        # One that needs both by itself leaves no key to wait with.
        (BEFORE, NodeGroupSides(*OF_A_RELEASE), TwoDeploys((RELEASE,), ())),
    ],
)
def test_what_one_update_does_not_take(
    before: NodeGroupSides, now: NodeGroupSides, deploys: TwoDeploys | None
) -> None:
    assert two_deploys({"lab-ng-gpu": before}, {"lab-ng-gpu": now}) == deploys


def test_each_group_is_updated_by_itself_and_those_that_come_and_go_are_no_edit() -> None:
    before = {"lab-ng-1": BEFORE, "lab-ng-gpu": BEFORE}
    assert two_deploys(before, {"lab-ng-1": OTHER_LABELS, "lab-ng-gpu": ANOTHER_TYPE}) is None
    assert two_deploys({"old": BEFORE}, {"new": BOTH}) is None
