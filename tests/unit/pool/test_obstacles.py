"""The problems of adopting a node group, what an adopted pool gets from AWS, and the text of a warning."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lamplighter.domain.capacity.evidence import Make, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.leases.at_stake import AtStake
from lamplighter.domain.notices.announcement import DrawnAnnouncement, of_change, of_extending, of_warning
from lamplighter.domain.pool.adopted import as_found
from lamplighter.domain.pool.adoption import (
    About,
    Autoscalers,
    ExistingCluster,
    ExistingPool,
    Obstacle,
    obstacles,
)
from lamplighter.lab.model import Lab
from tests.builders.leases import HOUR, MINUTE, SECOND, lease
from tests.unit.notices.drawing import drawn

CLUSTER = ExistingCluster("lab", "eu-west-1", "1.35", "API", True, ("0.0.0.0/0",))
GROUP = ExistingPool("gpu", "ACTIVE", ("g4dn.xlarge",), "AL2023_x86_64_NVIDIA", "ON_DEMAND", 0, 2, 0, {})
TAGGED = replace(GROUP, group_tags={"k8s.io/cluster-autoscaler/enabled": "true"})
NONE = Autoscalers(asked=True)


def found(
    cluster: ExistingCluster = CLUSTER, group: ExistingPool = GROUP, autoscalers: Autoscalers = NONE
) -> list[Obstacle]:
    return list(obstacles(cluster, group, autoscalers))


@pytest.mark.parametrize("group", [GROUP, TAGGED, replace(GROUP, status="UPDATING")])
def test_a_group_that_is_well_has_nothing_in_its_way(group: ExistingPool) -> None:
    assert found(group=group) == []


@pytest.mark.parametrize(
    ("cluster", "group", "autoscalers", "about", "blocks", "words"),
    [
        (replace(CLUSTER, authentication="CONFIG_MAP"), GROUP, NONE, About.AUTHENTICATION, True, "CONFIG_MAP"),
        (replace(CLUSTER, public_endpoint=False), GROUP, NONE, About.ENDPOINT, True, "is private"),
        (replace(CLUSTER, public_cidrs=("10.0.0.0/8", "::/0")), GROUP, NONE, About.ENDPOINT, True,
         "lets in only 10.0.0.0/8 and ::/0"),
        (CLUSTER, replace(GROUP, minimum=1), NONE, About.MINIMUM, True, "has minimum 1"),
        (CLUSTER, replace(GROUP, warm_pool=True), NONE, About.WARM_POOL, True, "gpu has a warm pool"),
        (CLUSTER, TAGGED, replace(NONE, found=("a/b",)), About.AUTOSCALERS, True, "a/b may open node group gpu"),
        (CLUSTER, GROUP, replace(NONE, found=("a/b",)), About.AUTOSCALERS, False, "a/b runs"),
        (CLUSTER, GROUP, replace(NONE, nodepools=("pool",)), About.AUTOSCALERS, True, "pool may start GPU nodes"),
        (CLUSTER, GROUP, Autoscalers(asked=False, why_not="no answer"), About.AUTOSCALERS, False,
         "manages the group: no answer"),
        (CLUSTER, TAGGED, Autoscalers(asked=False, why_not="no answer"), About.AUTOSCALERS, False,
         "and the group has an autoscaler's tag: no answer"),
        (CLUSTER, replace(GROUP, desired=1), NONE, About.GROUP, False, "1 node is ordered in gpu now"),
        (CLUSTER, replace(GROUP, instance_types=("g5.xlarge", "g6.xlarge")), NONE, About.GROUP, False,
         "may start any of g5.xlarge and g6.xlarge"),
        (CLUSTER, replace(GROUP, capacity_type="SPOT"), NONE, About.GROUP, False, "is SPOT"),
        (CLUSTER, replace(GROUP, status="DEGRADED"), NONE, About.GROUP, False, "is DEGRADED"),
    ],
)  # fmt: skip
def test_each_obstacle_says_what_it_is_about_and_whether_it_blocks(  # noqa: PLR0917
    cluster: ExistingCluster,
    group: ExistingPool,
    autoscalers: Autoscalers,
    about: About,
    blocks: bool,
    words: str,
) -> None:
    [one] = found(cluster, group, autoscalers)
    assert (one.about, one.blocks) == (about, blocks)
    assert words in str(one.said)
    assert str(one.text) == f"{one.said}; {one.advice}"


def test_what_blocks_stands_first_and_else_the_order_stays() -> None:
    everything = found(
        replace(CLUSTER, authentication="CONFIG_MAP"),
        replace(GROUP, minimum=1, desired=1, capacity_type="SPOT"),
        replace(NONE, found=("a/b",), nodepools=("pool",)),
    )

    assert [(one.about.value, one.blocks) for one in everything] == [
        ("authentication", True),
        ("minimum", True),
        ("autoscalers", True),
        ("autoscalers", False),
        ("group", False),
        ("group", False),
    ]


SEOUL = ZoneInfo("Asia/Seoul")
LEASE = lease()


def warned(**more: Any) -> DrawnAnnouncement:
    return drawn(of_warning(LEASE, LEASE.closes - 15 * MINUTE, **more), SEOUL, now=LEASE.opens)


@pytest.mark.parametrize(
    ("before", "left"),
    [
        (15 * MINUTE, "15 minutes"),
        (15 * MINUTE - 31 * SECOND, "14 minutes"),
        (91 * SECOND, "2 minutes"),
        (29 * SECOND, "1 minute"),
        (0 * SECOND, "1 minute"),
    ],
)
def test_a_warning_says_in_how_many_minutes_a_lease_ends(before: timedelta, left: str) -> None:
    assert drawn(of_warning(LEASE, LEASE.closes - before)).subject == f"Pool gpu closes in {left}"


EXTEND = "extend it: lamplighter extend gpu 1h"


@pytest.mark.parametrize(
    ("more", "advice"),
    [
        ({}, f"Save your work, or {EXTEND}."),
        ({"word": "gpu"}, f"Save your work, or {EXTEND}, or /gpu extend 1h."),
        ({"furthest": LEASE.closes}, "Save your work. The lab's rules allow no further extension."),
        (
            {"furthest": LEASE.closes + HOUR},
            "Save your work, or extend it until 08:00 (Asia/Seoul) at most: lamplighter extend gpu 1h.",
        ),
    ],
)
def test_a_warning_says_what_one_can_do(more: dict[str, Any], advice: str) -> None:
    assert warned(**more).text == f"The evening lease ends at 07:00 (Asia/Seoul). {advice}"


def test_a_warning_of_a_pool_that_stays_says_which_part_goes() -> None:
    partly = warned(at_stake=AtStake(("n1",), ("lab/pod",), 2))

    assert partly.subject == partly.plain == "Pool gpu loses 1 of 3 nodes in 15 minutes"
    assert partly.text == (
        "The evening lease ends at 07:00 (Asia/Seoul). This node is removed: n1. The work on it ends: lab/pod. "
        f"Save your work, or {EXTEND}."
    )
    assert warned(at_stake=AtStake(("n1",), ("lab/pod",))).subject == warned().subject


@pytest.mark.parametrize(
    ("outcome", "one", "kind"),
    [
        ("extended", LEASE, "extended"),
        ("shortened", LEASE, "shortened"),
        ("refused", LEASE, "refused"),
        ("extended", None, "refused"),
    ],
)
def test_an_extend_command_is_announced_as_what_came_of_it(outcome: str, one: Any, kind: str) -> None:
    said = drawn(
        of_extending("gpu", one, {"outcome": outcome, "reason": "why it is so"}), SEOUL, now=LEASE.opens
    )

    assert said.kind == kind
    assert said.plain == said.subject
    assert ("07:00" in said.subject) is (kind != "refused")
    assert "hy it is so" in said.text


def test_a_change_that_changed_nothing_is_not_announced() -> None:
    for outcome in ("refused", "unchanged"):
        assert of_change(Verb.PAUSE, {"outcome": outcome, "reason": "why"}) is None
    assert of_change(Verb.PAUSE, {}) is None
    said = of_change(Verb.PAUSE, {"outcome": "paused", "reason": "tom paused it"})
    assert said is not None
    assert said.kind == "pause"


def test_a_message_in_another_language_begins_with_its_own_subject() -> None:
    korean = DrawnAnnouncement("pause", "일시 중지", "text", "The lab is paused")
    assert korean.message == "일시 중지\n\ntext"
    assert replace(korean, subject="The lab is paused").message == "text"


SEEN = Seen(NODE_GROUP, exists=True, maximum=3, make=Make(("g4dn.xlarge",), "AL2023_x86_64_NVIDIA", 200))


def as_read(seen: Seen = SEEN, **stated: Any) -> tuple[Any, ...]:
    lab = Lab.model_validate({"name": "lab", "pools": {"gpu": {"existing": "gpu", **stated}, "other": {}}})
    filled = as_found(lab, "gpu", seen)
    assert filled.pools["other"] == lab.pools["other"]
    pool = filled.pools["gpu"]
    return pool.instance_type, pool.ami_type, pool.max_nodes, pool.disk_gib


def test_what_is_left_out_is_as_aws_has_it() -> None:
    assert as_read() == ("g4dn.xlarge", "AL2023_x86_64_NVIDIA", 3, 200)


def test_of_several_types_the_dearest_has_the_price_of_the_pool() -> None:
    several = replace(
        SEEN, make=replace(SEEN.make, instance_types=("g5.xlarge", "g5.2xlarge", "g4dn.xlarge"))
    )
    lab = Lab.model_validate({"name": "lab", "pools": {"gpu": {"existing": "gpu"}}})

    filled = as_found(lab, "gpu", several)

    assert filled.pools["gpu"].types == ("g5.xlarge", "g5.2xlarge", "g4dn.xlarge")
    assert filled.pools["gpu"].instance_type == "g5.xlarge"
    assert filled.price("gpu") == Decimal("1.4903")
    assert Lab.from_json(filled.to_json()) == filled


def test_types_that_the_lab_names_are_not_read_from_aws() -> None:
    lab = {"name": "lab", "pools": {"gpu": {"existing": "gpu", "instance_types": ["g6.xlarge", "g5.xlarge"]}}}
    pool = as_found(Lab.model_validate(lab), "gpu", SEEN).pools["gpu"]
    assert (pool.instance_type, pool.types) == ("g6.xlarge", ("g6.xlarge", "g5.xlarge"))


def test_what_aws_does_not_say_stays_unknown() -> None:
    assert as_read(replace(SEEN, make=Make())) == ("", "", 3, 0)


@pytest.mark.parametrize("max_nodes", [1, 5])
def test_what_the_lab_file_says_stays_as_it_is(max_nodes: int) -> None:
    stated: dict[str, Any] = {"instance_type": "g5.xlarge", "max_nodes": max_nodes}
    assert as_read(replace(SEEN, maximum=2), **stated) == (
        "g5.xlarge", "AL2023_x86_64_NVIDIA", max_nodes, 200
    )  # fmt: skip
