"""GPUs that fail their checks: kept and reported, closed, or replaced once, whatever else fails."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.why import explain
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.reasons.document import read
from tests.world.aws.functions import Trouble
from tests.world.aws.machines import Machine
from tests.world.judge.laws import Laws
from tests.world.judge.truth import Truth
from tests.world.world import World

BEGINS = datetime(2026, 11, 20, 19, 50, tzinfo=UTC)
OPENS = timedelta(minutes=10)
TRIES = 6
"""How often one run of the workflow tries a step that always fails."""


def lab(on_failure: str) -> dict[str, Any]:
    return {
        "name": "gpu-lab",
        "time_zone": "Etc/UTC",
        "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 3, "price_per_hour": "1"}},
        "windows": [{"name": "evening", "days": "daily", "start": "20:00", "end": "21:00", "nodes": 2}],
        "checks": {"on_failure": on_failure},
    }


class Story:
    """A window of two nodes; of all that come, by number, some are `broken`."""

    def __init__(self, world: World, broken: tuple[int, ...] = (1,)) -> None:
        self.world, self.broken = world, broken
        self.laws = Laws(world, Truth(world))
        self.known: list[Machine] = []
        world.machines.changed.append(self._comes)

    def _comes(self, machine: Machine) -> None:
        if machine not in self.known:
            self.known.append(machine)
            if len(self.known) in self.broken:
                self.world.kubernetes.health.broken_on.add(machine.node)
        machine.gpus_after = 10.0

    def opens(self, minutes: int = 20) -> "Story":
        self.world.run(OPENS + timedelta(minutes=minutes))
        return self

    def ends(self) -> "Story":
        self.world.run(timedelta(hours=2))
        return self

    @property
    def ledger(self) -> Ledger:
        return Ledger("gpu-lab-ledger")

    @property
    def lease(self) -> Lease:
        found = self.ledger.lease("gpu", "evening-2026-11-20")
        assert found is not None
        return found

    @property
    def subjects(self) -> list[str]:
        return [text.partition("\n")[0] for _, topic, text in self.world.said if topic == "notices"]

    @property
    def steps(self) -> list[str]:
        runs = self.world.workflows.executions.values()
        (run,) = (each for each in runs if each.name.startswith("open-evening"))
        return run.steps

    @property
    def terminated(self) -> list[Machine]:
        return [machine for machine in self.known if machine.shutting_down is not None]

    def kinds(self, kind: str) -> list[str]:
        return [f"{each.what}: {each.why}" for each in self.ledger.audit("gpu", BEGINS) if each.kind == kind]


def test_by_default_failed_gpus_are_kept_and_nobody_can_take_them_for_proven() -> None:
    with World(lab("keep"), BEGINS) as world:
        story = Story(world).opens()

        (said,) = (each for each in story.subjects if "open" in each)
        assert said == "gpu-lab: Pool gpu is open with 2 of 2 nodes until 21:00 (Etc/UTC), its GPUs FAILED"
        assert (story.lease.state, story.lease.ready) == (LeaseState.OPENING, None)
        assert "Diagnose" in story.steps
        assert story.terminated == []
        (proof,) = story.ledger.proofs("gpu", 5)
        assert (proof.verdict, proof.seconds_to_ready, len(proof.nodes)) == ("failed", None, 2)
        assert story.ends().laws.finish() == []


def test_where_the_lab_says_so_failed_gpus_close_the_lease_and_everything_says_why() -> None:
    with World(lab("close"), BEGINS) as world:
        story = Story(world).opens()

        assert "gpu-lab: The GPUs of pool gpu FAILED, so the lab is closing it" in story.subjects
        assert not [each for each in story.subjects if "is open" in each]
        assert story.lease.state is LeaseState.CLOSED
        (receipt,) = story.ledger.receipts("gpu")
        assert "failed" in {row["verdict"] for row in receipt["verdicts"]}
        (closing,) = story.kinds("closing")
        assert "ChecksFailed: " in closing
        assert "nvidia-smi failed on" in closing
        assert "checks.on_failure: close" in closing
        assert story.ends().laws.finish() == []


def test_a_node_that_fails_is_changed_once_for_a_fresh_one_and_that_is_proven() -> None:
    with World(lab("replace"), BEGINS) as world:
        story = Story(world).opens()
        failed = story.known[0]

        assert story.steps.count("Replace") == 1
        assert [machine.id for machine in story.terminated] == [failed.id]
        assert (story.lease.state, story.lease.replaced) == (LeaseState.OPEN, (failed.id,))
        assert [each.partition("gpu-lab: ")[2] for each in story.subjects if "gpu" in each][-2:] == [
            f"The GPUs of {failed.node} in pool gpu FAILED",
            "Pool gpu is open until 21:00 (Etc/UTC)",
        ]
        last = world.said[-1][2]
        assert "2 of 2 nodes are ready and their GPUs are proven" in last
        assert last.endswith(f"A node failed a check and was replaced: {failed.id}.")
        (replaced,) = story.kinds("replaced")
        assert (
            f"replaces {failed.id} of the evening lease with fresh nodes, once: nvidia-smi failed on"
            in replaced
        )
        after, before = story.ledger.proofs("gpu", 5)
        assert (before.verdict, after.verdict) == ("failed", "passed")
        assert failed.node in before.nodes
        assert failed.node not in after.nodes
        assert after.seconds_to_ready
        assert not any(machine.cordoned for machine in world.kubernetes.nodes())
        assert story.kinds("breach") == []
        # It was said before the node went, and `why` tells it.
        (said,) = [at for at, _, text in world.said if "FAILED" in text.partition("\n")[0]]
        assert failed.shutting_down is not None
        assert said < failed.shutting_down
        told = explain(story.ledger.leases("gpu"), story.ledger.audit("gpu", BEGINS), world.now, 3)
        assert told.decision is not None
        assert told.decision.kind == "replaced"
        assert "nvidia-smi failed on" in str(told.decision.why)

        assert story.ends().laws.finish() == []
        (receipt,) = story.ledger.receipts("gpu")
        assert (receipt["lease"], receipt["replaced"]) == (story.lease.id, [failed.id])
        # Both lives are the lease's own; where they overlap stands on its receipt.
        budget = story.ledger.budget("2026-11", "USD")
        assert budget.unleased is None or budget.unleased.amount == 0
        assert receipt["overrun"]["node_seconds"] < 600


def test_a_fresh_node_that_fails_too_is_kept_and_that_is_said_loudly() -> None:
    with World(lab("replace"), BEGINS) as world:
        story = Story(world, broken=(1, 3)).opens()

        assert story.steps.count("Replace") == 1
        assert len(story.terminated) == 1
        assert story.subjects[-1].endswith("open with 2 of 2 nodes until 21:00 (Etc/UTC), its GPUs FAILED")
        assert "Nodes were replaced once already, so it is kept as it is." in world.said[-1][2]
        assert story.lease.state is LeaseState.OPENING
        assert story.ends().laws.finish() == []


def close_after(step: str, world: World) -> Callable[[Any, str], None]:
    """Somebody closes the lease when the step is done, and the workflow is slower than the close."""
    command = {
        "id": "close-1", "verb": "close", "pool": "gpu", "lease": "evening-2026-11-20", "owner": "a", "by": "a",
        "source": "cli", "issued": "2026-11-20T20:00:00Z", "expires": "2026-11-20T23:00:00Z",
    }  # fmt: skip

    def seen(invocation: Any, _outcome: str) -> None:
        if invocation.step == step and not world.functions.deleted:
            world.give("close", command)
            world.functions.deleted.add({"AnnounceReplacement": "cluster", "Empty": "nodegroups"}[step])
            world.event_queue.after(20.0, world.functions.deleted.clear)

    return seen


@pytest.mark.parametrize("step", ["AnnounceReplacement", "Empty"])
def test_a_lease_that_is_over_meanwhile_replaces_nothing(step: str) -> None:
    with World(lab("replace"), BEGINS) as world:
        story = Story(world)
        world.functions.seen = close_after(step, world)
        story.opens()

        assert "Empty" in story.steps
        assert (story.lease.state, story.lease.replaced) == (LeaseState.CLOSED, ())
        assert story.kinds("replaced") == []
        assert len(story.known) == 2
        assert story.ends().laws.finish() == []


CALLS = {
    "AnnounceReplacement": (1, 4, 9, 18),
    "Empty": range(1, 6),
    "Replace": range(1, 12),
    "AwaitNodes": (1, 3, 5),
}
"""The calls at which a step is killed. AnnounceReplacement makes one for each row of the trail."""


def dies(step: str, at: int, kind: str, tries: int) -> Callable[[str, str], tuple[Trouble, ...]]:
    left = [tries]

    def troubles(_function: str, made: str) -> tuple[Trouble, ...]:
        if made != step or left[0] <= 0:
            return ()
        left[0] -= 1
        return (Trouble(at, kind),)

    return troubles


@pytest.mark.parametrize(
    ("kind", "tries"),
    [
        ("twice", 1),
        ("die", TRIES),
        *(pytest.param(kind, 1, marks=pytest.mark.long) for kind in ("die", "lost")),
    ],
)
@pytest.mark.parametrize("step", CALLS)
def test_killed_at_whatever_call_one_node_goes_for_one(step: str, kind: str, tries: int) -> None:
    for at in CALLS[step]:
        with World(lab("replace"), BEGINS) as world:
            story = Story(world)
            world.functions.troubles = dies(step, at, kind, tries)
            story.opens(30)

            gone = [machine.id for machine in story.terminated]
            if story.lease.state is LeaseState.OPEN:
                assert gone == [story.known[0].id] == [*story.lease.replaced], (at, gone)
                assert not any(machine.cordoned for machine in world.kubernetes.nodes()), at
                assert story.kinds("breach") == [], at
                assert len(story.kinds("replaced")) == 1, at
            else:
                # All of a step's tries failed: a failure of ours closes.
                assert (story.lease.state, tries) == (LeaseState.CLOSED, TRIES), at
            story.ends()
            broken = story.laws.finish()
            assert broken == [], (at, broken)


def test_a_second_lease_has_what_a_busy_node_last_showed_with_its_age() -> None:
    with World(lab("keep"), BEGINS) as world:
        story = Story(world, broken=()).opens()
        for machine in story.known:
            world.kubernetes.work_on(machine)
        world.give("open", {
            "id": "cli-open-1", "verb": "open", "pool": "gpu", "nodes": 1, "for_seconds": 1500, "owner": "alice",
            "by": "alice", "source": "cli", "issued": "2026-11-20T20:20:00Z", "expires": "2026-11-20T20:30:00Z",
            "add": True,
        })  # fmt: skip
        world.run(timedelta(minutes=8))

        newest, first = story.ledger.proofs("gpu", 5)
        assert (first.verdict, newest.verdict) == ("passed", "passed")
        rows = [
            row for row in newest.rows if row["node"] == story.known[0].node and row["check"] == "vectoradd"
        ]
        assert [row["verdict"] for row in rows] == ["passed"]
        assert " min ago; vectoradd: the GPUs are in use by class/notebook-" in str(read(rows[0]["reason"]))
        assert len(newest.nodes) == 3
        assert story.ends().laws.finish() == []


def test_a_pod_that_may_not_be_evicted_is_given_four_minutes_and_no_longer() -> None:
    with World(lab("replace"), BEGINS) as world:
        story = Story(world)
        world.kubernetes.health.stubborn = True

        def works(machine: Machine) -> None:
            # Work that holds no GPU keeps nobody from replacing the node.
            if machine is story.known[0] and machine.state == "running":
                world.kubernetes.work_on(machine, gpus=0)
                # Once we have deleted it, EKS has nothing to drain.
                machine.working = False

        world.machines.changed.append(works)
        story.opens(25)

        assert story.lease.state is LeaseState.OPEN
        assert [machine.id for machine in story.terminated] == [story.known[0].id]
        world.kubernetes.health.stubborn = False
        assert story.ends().laws.finish() == []
