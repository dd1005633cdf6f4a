"""Decisions on experiments: whole reasons, and both sides of each time limit."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.experiments.admission import (
    ExperimentDecision,
    ExperimentFacts,
    affected,
    busy,
    decide,
    ground,
    run_id,
)
from lamplighter.domain.experiments.catalogue import CATALOGUE, NCCL_BLOCKED
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.lab.model import Lab
from lamplighter.values.clock_time import clock_time
from lamplighter.values.counted import named
from tests.builders.leases import EIGHT as NOW
from tests.builders.leases import MINUTE
from tests.drawn import drawn_by
from tests.unit.experiments.test_experiments import ground as here
from tests.unit.experiments.test_experiments import lease, order, running

SECOND = timedelta(seconds=1)
NO_CHANGE = "driver-image-too-new"


def refused(command: Any, where: ExperimentFacts) -> str:
    answer = decide(command, where, NOW)
    assert (answer.outcome, answer.run) == ("refused", None)
    return str(answer.reason)


def test_what_is_granted_is_this_run() -> None:
    other = lease("alice", name="cli-2", pool="big")

    granted = decide(order(because="the course"), here(lease(), other), NOW + timedelta(microseconds=5))

    assert drawn_by(clock_time, granted) == ExperimentDecision(
        "granted",
        "nccl-blocked runs on pool gpu until 20:12 UTC on 2026-11-20 at the latest, inside alice's lease",
        ExperimentRun(
            id=run_id(order()), name="nccl-blocked", pool="gpu", lease="cli-1", by="alice",
            begun=NOW + timedelta(microseconds=5), ends=NOW + NCCL_BLOCKED.lasts,
            closes=NOW + 60 * MINUTE, phase=ExperimentPhase.PREPARED, because="the course",
            affected=("cli-2",),
        ),
    )  # fmt: skip


def test_an_experiment_begins_until_its_length_and_the_margin_are_left_of_the_lease() -> None:
    needs = NCCL_BLOCKED.lasts + 10 * MINUTE
    just = replace(lease(), closes=NOW + needs)

    assert decide(order(), here(just), NOW).outcome == "granted"
    for short, more in ((SECOND, "1m"), (MINUTE, "1m"), (MINUTE + SECOND, "2m")):
        assert refused(order(), here(replace(just, closes=just.closes - short))).endswith(
            f"lamplighter extend gpu {more}"
        )


def test_a_lease_that_is_too_short_is_told_with_all_that_is_needed() -> None:
    assert refused(order(), here(lease(minutes=21))) == (
        "nccl-blocked takes 12m and must be restored 10m before the lease ends, and alice's lease ends "
        "at 20:21 UTC on 2026-11-20: lamplighter extend gpu 1m"
    )


def test_only_nodes_that_are_there_count() -> None:
    three = replace(lease(), nodes=3)
    assert decide(order(), here(replace(three, missing=1)), NOW).outcome == "granted"
    assert refused(order(), here(replace(three, missing=3))) == (
        "nccl-blocked needs 2 nodes, and alice's lease has 0: lamplighter open gpu 2 --add"
    )


@pytest.mark.parametrize("word", [None, "x" * 90])
def test_an_experiment_that_there_is_not_is_named_in_eighty_letters(word: str | None) -> None:
    assert refused(replace(order(), experiment=word), here(lease())) == (
        f"'{(word or '')[:80]}' is not an experiment; known experiments: {named(list(CATALOGUE))}"
    )


def test_of_several_leases_ones_own_is_meant_and_else_one_is_to_be_named() -> None:
    mine, other, more = lease(), lease("bob", name="cli-2"), lease("bob", name="cli-3")
    both = here(mine, other, more)
    for_lab = order(by="boss", for_lab=True)

    assert decide(order(NO_CHANGE), both, NOW).outcome == "granted"
    assert refused(for_lab, both) == (
        "pool gpu has several leases; name the one inside which it runs: --lease cli-1, --lease cli-2, --lease cli-3"
    )
    named = decide(replace(for_lab, lease="cli-2"), both, NOW).run
    assert named is not None
    assert named.lease == "cli-2"
    assert refused(order(lease="gone"), both) == (
        "an experiment runs only inside a lease, and the lease gone is not in force: lamplighter open gpu 2 for 1h"
    )


def test_who_feels_it_is_named_with_the_last_end_and_what_was_only_planned_feels_nothing() -> None:
    others = [lease("bob", 30, "b", "big"), lease("eve", 90, "e", "big"), lease("alice", 99, "a", "big")]

    assert refused(order(), here(lease(), *others)) == (
        "nccl-blocked affects the whole cluster, and bob's lease and eve's lease too: ask an operator of "
        "the lab, or wait until 21:30 UTC on 2026-11-20"
    )
    planned = replace(others[0], state=LeaseState.PLANNED)
    assert affected(NCCL_BLOCKED, lease(), here(lease(), planned), NOW) == []
    over = replace(others[0], opens=NOW + NCCL_BLOCKED.lasts, closes=NOW + 90 * MINUTE)
    sooner = replace(over, opens=over.opens - SECOND)
    assert affected(NCCL_BLOCKED, lease(), here(lease(), over), NOW) == []
    assert affected(NCCL_BLOCKED, lease(), here(lease(), sooner), NOW) == [sooner]


def test_one_experiment_at_a_time_and_ten_minutes_for_its_proof() -> None:
    run = running()
    restored = run.moved_to(ExperimentPhase.RESTORED, restored=NOW)

    assert str(busy([run.moved_to(ExperimentPhase.PROVEN, restored=NOW), run], NOW)) == (
        "nccl-blocked runs on pool gpu until 20:12 UTC on 2026-11-20 at the latest, and a cluster runs one "
        "experiment at a time; try again then, or end it: lamplighter experiment restore nccl-blocked"
    )
    assert str(busy([restored], NOW + 10 * MINUTE - SECOND)) == (
        "nccl-blocked on pool gpu is restored, and its checks still run; try again in a few minutes"
    )
    assert busy([restored], NOW + 10 * MINUTE) is None
    assert busy([replace(restored, restored=None)], NOW) is None


def test_what_a_lab_has_of_a_pool_is_the_ground_of_its_experiments() -> None:
    lab = Lab.model_validate({"name": "lab", "pools": {"gpu": {"instance_type": "g4dn.xlarge"}}})

    known = ground(lab, "gpu", {"gpu": [lease()]}, ())
    assert known == ExperimentFacts(
        "lab", True, lab.gpu_stack("gpu"), tuple(map(str, lab.pools["gpu"].taints)), {"gpu": [lease()]}
    )
    assert known.taints
    assert ground(lab, "big", {}, ()) == ExperimentFacts("lab", True, "operator", (), {})
