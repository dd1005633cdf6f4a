"""The state of a workflow's run: the step to run, the command, and the results of earlier steps."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from lamplighter.domain.commands.command import Command
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

Step = TypeVar("Step", bound=Callable[..., object])


def step_of(event: Mapping[str, object], steps: Mapping[str, Step]) -> tuple[Step, Mapping[str, object]]:
    """The step that an event names, and its run. Raises BadInput for an unknown step."""
    step, run = event.get("step"), event.get("run")
    if not isinstance(step, str) or step not in steps:
        raise BadInput(reason("command.no-step", step=str(step), steps=", ".join(steps)))
    if not isinstance(run, Mapping):
        raise BadInput(reason("command.step-without-run", step=step))
    return steps[step], run


def pool_of(run: Mapping[str, object], lab: "Lab") -> str:
    """The pool of a run. Raises BadInput if the lab has no such pool."""
    command = run.get("command")
    pool = command.get("pool") if isinstance(command, Mapping) else None
    if pool not in lab.pools:
        raise BadInput(
            reason("command.run-without-pool", lab=lab.name, pool=str(pool), pools=", ".join(lab.pools))
        )
    return str(pool)


def result(run: Mapping[str, object], step: str) -> Mapping[str, object]:
    """The result of an earlier step of the run; empty if it did not run."""
    results = run.get("results")
    found = results.get(step) if isinstance(results, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def drained(run: Mapping[str, object], step: str = "Drain") -> tuple[str, ...]:
    """The instances that the run's Drain, or another step that drains nodes, has drained."""
    nodes = result(run, step).get("nodes")
    if not isinstance(nodes, Sequence):
        return ()
    return tuple(str(node["instance"]) for node in nodes if isinstance(node, Mapping) and "instance" in node)


def command_of(run: Mapping[str, object]) -> Command:
    """The command that started a run. Raises BadInput if there is none."""
    found = run.get("command")
    if not isinstance(found, Mapping):
        raise BadInput(reason("command.run-without-command"))
    return Command.from_json(found)
