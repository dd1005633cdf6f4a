"""The breakages: which mechanism of which law is taken out, as replacements of text.

Each text stands exactly once in its file; `law` is the law that must be found broken.
"""

from dataclasses import dataclass

APPLICATION, DOMAIN = "lambdas/lamplighter/application", "lambdas/lamplighter/domain"


@dataclass(frozen=True)
class Breakage:
    """`instead` takes the place of `text` in `file`."""

    law: int
    what: str
    file: str
    text: str
    instead: str
    more: tuple[tuple[str, str, str], ...] = ()
    """Where the same mechanism stands again: file, text, what takes its place."""


BREAKAGES = (
    Breakage(
        1,
        "the guard overlooks nodes without a lease",
        f"{DOMAIN}/guard/nodes.py",
        "if facts.staying <= target.nodes or waited_for(facts):",
        "if True:",
    ),
    Breakage(
        1,
        "the guard overlooks instances outside the group",
        f"{DOMAIN}/guard/nodes.py",
        "taken = tuple(stray.id for stray in facts.strays)[: max(0, surplus)]",
        "taken = ()",
    ),
    Breakage(
        1,
        "nobody ends EKS's own wait for a drained node",
        f"{APPLICATION}/guard/proof.py",
        "            guard_services.capacity.autoscaling.end_drain(group.name, member.instance)\n",
        "",
    ),
    Breakage(
        1,
        "watching only is not asked before acting",
        f"{DOMAIN}/guard/guard.py",
        "breach if facts.acting else _only_said(breach, facts)",
        "breach",
    ),
    Breakage(
        1,
        "a pool that cannot be judged keeps the others from it",
        f"{APPLICATION}/guard/sweep.py",
        '        with _going_on(failures, f"pool {pool}"):\n',
        "        if True:\n",
    ),
    Breakage(
        2,
        "an order down may be one up",
        f"{APPLICATION}/capacity/sizes.py",
        "return max(target, before) if direction is Direction.UP else min(target, before)",
        "return max(target, before) if direction is Direction.UP else target",
    ),
    Breakage(
        2,
        "the failsafe is not put",
        f"{APPLICATION}/leases/services.py",
        "                self.failsafes.put_and_read_back(shot)\n",
        "                pass\n",
    ),
    Breakage(
        2,
        "a lease is granted before the failsafe is moved",
        f"{APPLICATION}/leases/granting.py",
        "    lease_services.arm(command.pool, also=lease, read=(pool, leases))\n",
        "",
    ),
    Breakage(
        2,
        "a lease is extended before the failsafe is moved",
        f"{APPLICATION}/leases/extending.py",
        "    lease_services.arm(command.pool, also=answer.after)\n",
        "",
    ),
    Breakage(
        2,
        "the failsafe orders one node instead of none",
        f"{DOMAIN}/schedules/failsafe.py",
        '"ScalingConfig": {"MinSize": 0, "DesiredSize": 0}',
        '"ScalingConfig": {"MinSize": 0, "DesiredSize": 1}',
    ),
    Breakage(
        2,
        "nobody looks whether the failsafe still stands",
        f"{DOMAIN}/guard/guard.py",
        "    failsafe,\n    curfew,",
        "    curfew,",
    ),
    Breakage(
        3,
        "a command is never too old",
        f"{DOMAIN}/commands/command.py",
        "if now >= self.expires:",
        "if False:",
    ),
    Breakage(
        3,
        "an extension has no bound",
        f"{DOMAIN}/granting/extension.py",
        "if after.closes - after.begins > terms.longest:",
        "if False:",
    ),
    Breakage(
        3,
        "an opening has no bound",
        f"{DOMAIN}/granting/grant.py",
        "if lease.window is None and lease.closes - lease.opens > terms.longest:",
        "if False:",
    ),
    Breakage(
        3,
        "an opening may lie before now",
        f"{DOMAIN}/granting/grant.py",
        "opens = (opens if command.window else max(opens, now))",
        "opens = opens",
    ),
    Breakage(
        5,
        "an answer carries whichever lease it is about",
        f"{APPLICATION}/leases/granting.py",
        '"lease" if answer.outcome == "granted" else "about"',
        '"lease"',
        more=(
            (
                f"{DOMAIN}/commands/command.py",
                'return self.lease if self.outcome == "granted" else None',
                "return self.lease",
            ),
        ),
    ),
    Breakage(
        3,
        "a pool is promised to more than it has",
        f"{DOMAIN}/granting/admission.py",
        "    if nodes > free:",
        "    if False:",
    ),
    Breakage(
        3,
        "a lease does not end at the curfew",
        f"{DOMAIN}/leases/terms.py",
        "return self.curfew.ends(opens, closes) if self.curfew else closes",
        "return closes",
    ),
    Breakage(
        3,
        "a lease is not ended by its close",
        f"{APPLICATION}/leases/closing.py",
        "            lease_services.ledger.begin_closing(decided.leases, state, now, why)\n",
        "            pass\n",
    ),
    Breakage(
        4,
        "the budget is not asked",
        f"{DOMAIN}/granting/admission.py",
        "        if cost > amount:",
        "        if False:",
    ),
    Breakage(
        4,
        "the guard counts nothing",
        f"{APPLICATION}/guard/money.py",
        '        count_beyond(pool, now, lease_services, "guard", seen)\n',
        "        pass\n",
    ),
    Breakage(
        4,
        "a hold is not given back",
        "lambdas/lamplighter/domain/money/budget.py",
        "held=self.held - hold",
        "held=self.held",
    ),
    Breakage(
        5,
        "each lease takes the pool's missing node for its own",
        f"{APPLICATION}/capacity/missing.py",
        "    return lease.wanted - shares(claims, there(capacity.see(lease.pool))).get(lease.id, 0)\n",
        "    lacking = sum(claim.nodes for claim in claims) - there(capacity.see(lease.pool))\n"
        "    return max(0, min(lease.wanted, lacking))\n",
    ),
    Breakage(
        4,
        "what is missing is asked for again without its money",
        f"{DOMAIN}/billing/holds.py",
        "return replace(lease.wanting(lease.wanted + nodes, 0, now), hold=lease.hold + more)",
        "return lease.wanting(lease.wanted + nodes, 0, now)",
    ),
    Breakage(
        5,
        "closing takes everything, not what is too much",
        f"{APPLICATION}/capacity/sizes.py",
        "else min(target, before)",
        "else 0",
    ),
    Breakage(
        5,
        "Auto Scaling chooses which nodes go",
        f"{APPLICATION}/capacity/sizes.py",
        "    for instance in leaving:\n        capacity.autoscaling.remove(instance)\n",
        "",
    ),
    Breakage(
        5,
        "nobody hands the nodes over to the lease that begins",
        f"{APPLICATION}/leases/closing.py",
        "    _hand_over(pool, lease_services)\n",
        "",
    ),
    Breakage(
        5,
        "nothing waits for a shot of the failsafe that is in the air",
        f"{APPLICATION}/leases/services.py",
        "        if shot is None:\n",
        "        if shot is None or True:\n",
    ),
    Breakage(
        5,
        "the node that goes is one on which people work",
        f"{DOMAIN}/pool/shrink.py",
        "    if not node.gpu_leases:\n        return 0\n",
        "    if not node.gpu_leases:\n        return 3\n",
    ),
    Breakage(
        5,
        "a machine beside the group counts as one of the nodes that may go",
        f"{APPLICATION}/cluster/drain.py",
        "    here = [node for node in here if node.instance in members]\n",
        "",
    ),
    Breakage(
        5,
        "an opening does not wait for a deploy that has read the size",
        f"{APPLICATION}/capacity/sizes.py",
        "            _wait_for_a_deploy(capacity, order)\n",
        "            pass\n",
    ),
    Breakage(
        5,
        "all sweeps write under one name",
        f"{APPLICATION}/guard/services.py",
        'return f"guard {self.invocation}"',
        'return "guard"',
    ),
    Breakage(
        5,
        "the planner takes away what is about to fire",
        f"{APPLICATION}/planner/plan.py",
        " | set(made.firing)",
        "",
    ),
    Breakage(
        6,
        "what a check printed is not read",
        f"{APPLICATION}/cluster/judge.py",
        "    return check.judge(printed, shown.exit_code, taking_part, node.kind)\n",
        '    return verdict.passed("it ran", {})\n',
    ),
    Breakage(
        6,
        "a kernel is believed to have run that never said so",
        f"{DOMAIN}/checks/verdicts/vector_add.py",
        'if "Test PASSED" not in printed:',
        "if False:",
    ),
    Breakage(
        7,
        "zero is believed instead of seen",
        f"{DOMAIN}/pool/zero.py",
        "        if len(self.instances) > self.justified:\n",
        "        return tuple(found)\n        if len(self.instances) > self.justified:\n",
    ),
    Breakage(
        8,
        "a decision is kept without its reason",
        f"{APPLICATION}/leases/granting.py",
        "        reason=answer.reason,\n        at=now,",
        '        reason=" ",\n        at=now,',
    ),
    Breakage(
        9,
        "an ambiguous start is always the second of the two",
        f"{DOMAIN}/calendar/wall_clock.py",
        "opens = begins.first if closes - begins.first <= wall else begins.second",
        "opens = begins.second",
    ),
    Breakage(
        3,
        "a person is who the body says",
        f"{DOMAIN}/commands/asked.py",
        "by=caller.name,",
        'by=str(body.get("owner", caller.name)),',
    ),
    Breakage(
        3,
        "whoever may ask for their own may ask for another's",
        f"{DOMAIN}/commands/asked.py",
        "if not command.for_lab and not lease.is_of(command.by):",
        "if False:",
    ),
    Breakage(
        3,
        "what somebody lets others have is nobody's",
        f"{DOMAIN}/leases/allowance.py",
        "and (who(lease.owner) in people or (lease.by is not None and who(lease.by) == giver))",
        "and who(lease.owner) in people",
    ),
    Breakage(
        3,
        "a yes that was noted and not given is given no more",
        f"{APPLICATION}/slack/asks.py",
        'if after.state == "approved" and (theirs or unheard):',
        'if after.state == "approved" and theirs:',
    ),
    Breakage(
        3,
        "a yes is judged by what was had when it was asked for",
        f"{APPLICATION}/slack/asks.py",
        "why = _why_not(context, approved, lease, wants.word)",
        "why = _why_not(visit, base, lease, wants.word)",
        more=(
            (
                f"{DOMAIN}/slack/roles.py",
                "        return Allowance(0, timedelta())\n",
                "        return None\n",
            ),
        ),
    ),
    Breakage(
        4,
        "what somebody started beside the group is a lease's",
        f"{DOMAIN}/billing/metering.py",
        "present = [run for run in there if run.member]",
        "present = there",
    ),
    Breakage(
        1,
        "bounds are put back without the size",
        f"{APPLICATION}/capacity/sizes.py",
        "max(capacity.lab.pools[pool].max_nodes, desired), desired)",
        "max(capacity.lab.pools[pool].max_nodes, desired), nodegroup.desired)",
    ),
    Breakage(
        3,
        "what a role allows is asked only before a command is given",
        f"{DOMAIN}/leases/allowance.py",
        "    if allowance is None:",
        "    if True:",
    ),
    Breakage(
        4,
        "a lease that is granted late had nodes before that",
        f"{APPLICATION}/leases/granting.py",
        ".granted_at(now)",
        "",
    ),
    Breakage(
        4,
        "a new count holds backwards",
        f"{DOMAIN}/billing/charge.py",
        "lease.id, lease.wanted, lease.opens, lease.closes, frozenset(lease.replaced), lease.wanted_before",
        "lease.id, lease.wanted, lease.opens, lease.closes, frozenset(lease.replaced), ()",
    ),
    Breakage(
        4,
        "a change of currency is not refused",
        f"{APPLICATION}/deploy/currency.py",
        "        if used.currency != currency:\n",
        "        if False:\n",
        more=(
            (
                f"{APPLICATION}/deploy/currency.py",
                "            if _counts(lease) and lease.hold.currency != currency:\n",
                "            if False:\n",
            ),
        ),
    ),
    Breakage(
        4,
        "only the run that ended a lease gives its receipt",
        f"{APPLICATION}/leases/closing.py",
        "    ended += _without_receipt(pool, {lease.id for lease in ended}, lease_services)\n",
        "",
    ),
    Breakage(
        10,
        "the guard does not undo an experiment",
        f"{DOMAIN}/guard/guard.py",
        "    experiments,\n",
        "",
    ),
    Breakage(
        10,
        "an experiment is not undone as its lease is closed",
        f"{APPLICATION}/leases/closing.py",
        "        restored += undone_before_the_end(decided.leases, command, restored, lease_services)\n",
        "",
    ),
    Breakage(
        10,
        "the schedules of an experiment fire after its lease",
        f"{DOMAIN}/experiments/rails.py",
        'moments = {"end": min(run.ends + AFTER_END, last), "last": last}',
        'moments = {"end": closes + AFTER_END, "last": closes + AFTER_END}',
    ),
)
