"""Document 004, the default lab: both GPU nodes are opened, proven and closed, and between that are the experiments.

They show their symptoms, and whatever step dies, everything is restored. One is run after the other, because a cluster
has one at a time.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import deployment
from cli.look_after import experiment, experiment_orders
from lamplighter.adapters.aws.capacity.security_groups import SecurityGroups
from lamplighter.domain.experiments.catalogue import CATALOGUE
from lamplighter.domain.experiments.policy import MANAGER
from lamplighter.domain.experiments.rules import TrafficRule, ephemeral, vpc_wide
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.scenarios.examples.opened import EXAMPLES, close, deployed
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

POLICY = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"
LOOK_EVERY, WITHIN = timedelta(seconds=10), timedelta(minutes=50)
TRIES = 6
"""A step of ours is tried this often before the workflow continues without it."""


class Lesson:
    """A lab with one lease in force, and the state in EC2 and Kubernetes."""

    def __init__(self, day: LabDay) -> None:
        self.day, self.cloud, self.found = day, day.cloud, deployment.find(None)
        self.groups = SecurityGroups()
        self.rules_at_first = self.rules()
        self.settings_at_first = self.settings()

    def rules(self) -> set[tuple[object, ...]]:
        """The rules of the nodes' two groups."""
        return {rule.key for rule in self._rules()}

    def settings(self) -> tuple[Any, bool]:
        """The operator's settings, and whether an experiment has changed any of them."""
        policy = self.cloud.control_plane.admin().get(POLICY)
        managers = {entry["manager"] for entry in policy["metadata"]["managedFields"]}
        return policy["spec"], MANAGER in managers

    def has_pair(self) -> bool:
        """Whether the two rules exist that the experiment removes."""
        node, auxiliary = self._ids()
        cidr = self.cloud.lab.cluster.vpc.cidr
        return None not in (ephemeral(self._rules(), node), vpc_wide(self._rules(), auxiliary, cidr))

    def lease(self) -> Lease | None:
        """The lease, once its GPUs are proven."""
        leases = self.found.ledger.leases("gpu")
        return next((lease for lease in leases if lease.state is LeaseState.OPEN), None)

    def begin(self, name: str) -> ExperimentRun:
        """Somebody starts it, as the command does."""
        found = deployment.find(None)
        begun = experiment_orders.run(found, experiment_orders.order(found, name, "gpu"))
        assert begun.decision.outcome == "granted", begun.decision.reason
        run = found.ledger.experiments()[0]
        assert run.name == name
        return run

    def until(self, run: ExperimentRun, *phases: ExperimentPhase) -> ExperimentRun:
        """Lets time pass until the run has reached this phase."""
        deadline = self.cloud.clock.now() + WITHIN
        while (now := self.found.ledger.experiment(run.id)) is None or now.phase not in phases:
            assert self.cloud.clock.now() < deadline, f"{run.id} is {now.phase if now else 'not there'}"
            self.pass_time(LOOK_EVERY)
        return now

    def changed(self, run: ExperimentRun) -> tuple[bool, bool]:
        """Whether the two rules exist, and the settings are changed, while the change of a run is in effect.

        After the experiment is observed, the change may be undone any moment. The observation takes the pods of a
        check, and at least ten seconds.
        """
        while self._phase(run) is ExperimentPhase.PREPARED:
            self.cloud.clock.sleep(0.2)
        pair, (_, borrowed) = self.has_pair(), self.settings()
        assert self._phase(run) is ExperimentPhase.CHANGED
        return pair, borrowed

    def _phase(self, run: ExperimentRun) -> ExperimentPhase:
        now = self.found.ledger.experiment(run.id)
        assert now is not None
        return now.phase

    def pass_time(self, time: timedelta) -> None:
        self.cloud.clock.sleep(time.total_seconds())

    def _ids(self) -> tuple[str, str]:
        name = self.cloud.lab.name
        names = (f"{name}-node", f"{name}-node-group-sg")
        found = self.groups.named(name, names)
        return found[names[0]], found[names[1]]

    def _rules(self) -> tuple[TrafficRule, ...]:
        return self.groups.rules(self._ids())


@pytest.fixture(scope="module")
def lesson() -> Iterator[Lesson]:
    with deployed(EXAMPLES / "004-troubleshooting.yaml") as day, pytest.MonkeyPatch.context() as environment:
        for name, value in day.cloud.played().items():
            environment.setenv(name, value)
        lesson = Lesson(day)
        lease = day.open(2, "8h")
        day.until_state(lease.id, LeaseState.OPEN)
        assert day.command("keep", "gpu").code == 0  # no pod holds a GPU between two experiments
        yield lesson


@pytest.mark.parametrize("name", CATALOGUE)
def test_what_is_expected_is_seen_and_everything_is_as_it_was(lesson: Lesson, name: str) -> None:
    begun = lesson.begin(name)
    if CATALOGUE[name].changes_cluster:
        assert lesson.changed(begun) == ((False, False) if name == "nccl-blocked" else (True, True))

    run = lesson.until(begun, ExperimentPhase.PROVEN)

    assert run.seen["as_expected"], run.seen
    assert run.proof["verdict"] == "passed", run.proof
    assert lesson.rules() == lesson.rules_at_first
    assert lesson.settings() == lesson.settings_at_first


@pytest.mark.parametrize(
    ("step", "name"),
    [
        ("Prepare", "device-plugin-off"),
        ("Change", "nccl-blocked"),
        ("Observe", "device-plugin-off"),
        ("Restore", "nccl-blocked"),
    ],
)
def test_whatever_step_dies_everything_is_as_it_was_before_the_lease_ends(
    lesson: Lesson, step: str, name: str
) -> None:
    lesson.cloud.faults.kill_step(step, "gpu", times=TRIES)
    begun = lesson.begin(name)

    run = lesson.until(begun, ExperimentPhase.PROVEN)

    lease = lesson.lease()
    assert lease is not None
    assert run.restored is not None
    assert run.restored < lease.closes
    assert lesson.rules() == lesson.rules_at_first
    assert lesson.settings() == lesson.settings_at_first


def test_the_command_runs_reports_and_finds_nothing_left_to_undo(lesson: Lesson) -> None:
    def said(*words: str) -> str:
        answer = CliRunner().invoke(experiment.app, list(words))
        assert answer.exit_code == 0, (answer.output, answer.exception)
        return answer.output

    lesson.begin("driver-image-too-new")
    run = lesson.until(lesson.found.ledger.experiments()[0], ExperimentPhase.PROVEN)

    listed = json.loads(said("list", "--json"))
    assert {each["experiment"] for each in listed} == set(CATALOGUE)
    assert all(each["possible"] for each in listed), listed
    assert "## Hypothesis" in said("report")
    assert json.loads(said("report", run.id, "--json"))["as_expected"] is True
    assert "no experiment is under way" in said("restore")
    assert "driver-image-too-new is undone" in said("restore", run.id)


def test_the_pool_closes_and_is_proven_to_be_at_zero(lesson: Lesson) -> None:
    lease = lesson.lease()
    assert lease is not None
    assert len(lesson.day.live()) == 2

    assert close(lesson.day, lease.id) >= {"allocatable", "nvidia-smi", "vectoradd"}
