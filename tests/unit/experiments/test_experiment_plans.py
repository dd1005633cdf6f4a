"""The plan of an experiment, line by line, and its length."""

from datetime import timedelta

import pytest

from lamplighter.data.texts import catalogue, languages
from lamplighter.domain.experiments.admission import decide
from lamplighter.domain.experiments.catalogue import CATALOGUE, NCCL_BLOCKED, Experiment
from lamplighter.domain.experiments.plan import ExperimentPlan
from tests.unit.experiments.test_experiment_reports import CAUSE, clock
from tests.unit.experiments.test_experiments import NOW, ground, lease, order


@pytest.mark.parametrize(
    ("name", "minutes", "nodes"),
    [("nccl-blocked", 12, 2), ("device-plugin-off", 5, 1), ("taint-mismatch", 6, 1), ("driver-image-too-new", 5, 1)],
)  # fmt: skip
def test_each_experiment_takes_so_long_and_so_many_nodes(name: str, minutes: int, nodes: int) -> None:
    experiment = CATALOGUE[name]

    assert (experiment.lasts, experiment.needs_nodes) == (timedelta(minutes=minutes), nodes)
    assert experiment.changes_cluster is (name != "driver-image-too-new")


def test_a_plan_is_read_line_for_line() -> None:
    others = [lease("bob", name="cli-2", pool="big"), lease("eve", name="cli-3", pool="big")]
    plan = ExperimentPlan(NCCL_BLOCKED, decide(order(), ground(lease()), NOW), others)

    assert plan.lines(clock) == [
        "nccl-blocked",
        f"  hypothesis  {NCCL_BLOCKED.hypothesis}",
        f"  changes     {NCCL_BLOCKED.changes[0]}",
        f"              {NCCL_BLOCKED.changes[1]}",
        f"  expected    {NCCL_BLOCKED.symptom}",
        f"              Cause: {CAUSE}.",
        f"  breaks      {NCCL_BLOCKED.breaks[0]}",
        *(f"              {each}" for each in NCCL_BLOCKED.breaks[1:]),
        "  felt by     bob's lease on pool big and eve's lease on pool big",
        "  lasts       at most 12m, restored 10m before the lease ends",
        "  restored by at 20:12, inside lease cli-1",
    ]
    said = plan.to_json()
    assert (said["possible"], said["seconds"], said["nodes"], said["affected"]) == (
        True, 720, 2, ["cli-2", "cli-3"]
    )  # fmt: skip
    assert (said["lease"], said["undone_by"]) == ("cli-1", "2026-11-20T20:12:00Z")


def test_a_plan_that_is_refused_says_why_by_the_readers_clock() -> None:
    plan = ExperimentPlan(NCCL_BLOCKED, decide(order(), ground(lease(minutes=21)), NOW))

    assert plan.lines(clock)[-1].endswith("ends at at 20:21: lamplighter extend gpu 1m")
    assert not [line for line in plan.lines(clock) if "felt by" in line or "restored by" in line]
    assert (plan.to_json()["lease"], plan.to_json()["undone_by"]) == (None, None)


@pytest.mark.parametrize("generation", [0, 5])
def test_an_experiment_is_for_the_pool_as_it_is(generation: int) -> None:
    assert decide(order(generation=generation), ground(lease()), NOW).outcome == "granted"


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("experiment", CATALOGUE.values(), ids=CATALOGUE)
def test_every_text_of_an_experiment_is_in_the_catalogue_of_texts(
    experiment: Experiment, language: str
) -> None:
    for text in (experiment.hypothesis, *experiment.changes, experiment.symptom, *experiment.breaks):
        assert text.code in catalogue(language)
