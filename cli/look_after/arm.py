"""`lamplighter arm`: lets the guard close what it finds on a pool, after showing what that is now; or not."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Annotated

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.look_after import known_names
from cli.options import AsJson, LabName, Yes
from cli.use import agreed, changes
from lamplighter.adapters.aws.capacity.autoscaling import AutoScaling
from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.adapters.aws.capacity.nodegroups import NodeGroups
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.words import reason_given
from lamplighter.domain.guard.breach import Breach, GuardAction
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import draw

TOUCHES = frozenset({GuardAction.CLOSE, GuardAction.TERMINATE, GuardAction.RESTORE_SIZES})


def command(
    pool: Annotated[
        str | None, typer.Argument(metavar="[POOL]", help="The pool.", autocompletion=known_names.pools)
    ] = None,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[because TEXT]", help="For the audit trail.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Only say what is found, close nothing.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Let the guard enforce its rules on a pool, after showing what it would close now.

    A pool that a lab adopts begins in watch: what is wrong is said and nothing is touched.
    Exit code 0: done, or so before. 1: not done.

    \b
    Examples:
      lamplighter arm gpu
      lamplighter arm gpu --yes because the old cron job is gone
      lamplighter arm gpu --watch
    """
    found = deployment.find(lab_name)
    name = found.pool(pool)
    because = reason_given(list(words or []))
    if not watch and not yes:
        plan = _plan(name, would_touch(found, name), partial(printing.local, zone=found.zone))
        must = "say --yes to enforce"
        agreed.agree(plan, f"Enforce on {name}?", "nothing was changed", as_json=as_json, must=must)
    verb = Verb.WATCH if watch else Verb.ARM
    changes.give(found, verb, pool=name, because=because, as_json=as_json)


def would_touch(found: Deployment, pool: str) -> list[Breach]:
    """What the guard would put right at this moment, if it enforced; nothing of what Kubernetes shows."""
    lab, state = found.lab, found.ledger.pool(pool)
    name, autoscaling = lab.nodegroup_name(pool), AutoScaling()
    nodegroup = NodeGroups(lab.cluster_name).read(name)
    if nodegroup is None:
        raise BadInput(f"pool {pool}: node group {name} is not in cluster {lab.cluster_name}")
    named = autoscaling.group(nodegroup.group) if nodegroup.group else None
    facts = PoolFacts(
        pool=pool,
        now=found.now,
        enforcing=True,
        ours=lab.pools[pool].existing is None,
        max_nodes=lab.pools[pool].max_nodes or nodegroup.maximum,
        leases=tuple(found.ledger.leases(pool)),
        closing_since=None,
        nodegroup=nodegroup,
        rolling=None,
        group=named or autoscaling.group_of(lab.cluster_name, name),
        instances=Instances().of_nodegroup(lab.cluster_name, name),
        kubernetes_nodes=None,
        failsafe_wanted=(),
        failsafe_found=None,
        over_since=state.over_since,
        longest_lease=lab.guard.longest_lease,
    )
    return [breach for breach in sweep(facts) if breach.action in TOUCHES]


def _plan(pool: str, breaches: list[Breach], clock: Callable[[datetime], str]) -> Iterator[str]:
    if not breaches:
        yield f"nothing on pool {pool} would be touched now"
    for breach in breaches:
        yield f"would {breach.action.value}: {draw(breach.reason, ENGLISH, clock)}"
