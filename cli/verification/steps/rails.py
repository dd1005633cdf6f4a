"""Whether each rail of Karpenter's failsafe ends a node by itself, and whether the pool still opens after both."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

from cli.verification.account import Account
from cli.verification.outcome import Differs, Unfit
from cli.verification.step import Play, Step
from cli.verification.steps import failsafe, throwaway, unleased
from cli.verification.undo import MINUTES_OF_RUN, MINUTES_TO_ZERO, RAILS, Undo, UndoKind, run_of
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.capacity.node_pool.lock import policy_name
from lamplighter.domain.capacity.node_pool.off_switch import Rail, call
from lamplighter.domain.capacity.node_pool.roles import launching_role
from lamplighter.domain.leases.lease import LeaseState

OPEN_WITHIN = timedelta(minutes=15)
RUN_WITHIN = timedelta(minutes=MINUTES_OF_RUN)
GONE_WITHIN = timedelta(minutes=3)
"""A run on the rail kubernetes gives up after seven minutes, and leaves what still drains to the next start."""
STAYS_AT_ZERO = timedelta(minutes=3)
"""Karpenter misses its node within two minutes. The failsafe's own first start comes ten minutes after the lease."""
PAST_KUBERNETES = "PastKubernetes"
"""The state of the machine in which a rail through Kubernetes has failed."""


def _fits(account: Account) -> None:
    unleased.fits(account)
    if launching_role(account.lab.lab, account.pool) is None:
        raise Unfit("the lab does not know Karpenter's role, so its failsafe puts no lock on it")


def _play(play: Play) -> None:
    play.undo(Undo(UndoKind.LOCK, f"{play.account.lab.name}/{play.account.pool}/{throwaway.STACK}"))
    _ended_by(play, Rail.KUBERNETES)
    try:
        _ended_by(play, Rail.EC2)
        _opens(play)
    except Unfit as why:
        raise Differs(f"after a rail the pool did not open: {why}") from why


def _ended_by(play: Play, rail: Rail) -> None:
    """A node whose lease is over, while no function of the lab runs: one rail alone ends it."""
    account = play.account
    with _undone(play) as noted:
        closes = failsafe.leased(noted, run_of(throwaway.STACK, rail))
        failsafe.stop_functions(noted)
        account.until("the lease is over", 2 * failsafe.LENGTH, lambda: account.clock() > closes)
        if not account.see().alive:
            raise Differs("the node was gone when the lease ended, so this proves nothing")
        play.evidence("the lease is over, and its node still runs")
        _run(play, rail)
        if _is_locked(account) is not (rail is Rail.EC2):
            raise Differs(
                f"after the rail {rail.value} Karpenter's role has {'no' if rail is Rail.EC2 else 'a'} lock"
            )
        _stays_at_zero(play)


@contextmanager
def _undone(play: Play) -> Iterator[Play]:
    """The same play; what it makes is undone at the end. At any other end the step as a whole is undone."""
    made: list[Undo] = []

    def promise(one: Undo) -> None:
        made.append(one)
        play.undo(one)

    yield replace(play, undo=promise)
    for one in reversed(made):
        play.back(one)


def _is_locked(account: Account) -> bool:
    lab = account.lab.lab
    policy, role = policy_name(lab.node_pool_name(account.pool)), launching_role(lab, account.pool)
    request = {"RoleName": role, "PolicyName": policy}
    return account.attempt({"NoSuchEntity"}, "iam", "get_role_policy", policy, **request) is not None


def _run(play: Play, rail: Rail) -> None:
    """Starts the failsafe on one rail, and sees EC2 without an instance when it has ended."""
    account, name = play.account, run_of(throwaway.STACK, rail)
    start, began = call(account.failsafe, account.pool, rail), account.clock()
    Workflows().start_with(account.failsafe, name, json.dumps(start.sent))
    account.until(
        f"the failsafe's run on the rail {rail.value} has ended",
        RUN_WITHIN,
        lambda: not Workflows().running(account.failsafe, name),
    )
    end, states = Workflows().ended(account.failsafe, name), _states(account, name)
    if end is not None:
        raise Differs(f"the rail {rail.value} ended as {end.value}, after {', '.join(states[-3:])}")
    if PAST_KUBERNETES in states:
        before = states[states.index(PAST_KUBERNETES) - 1]
        raise Differs(f"the rail {rail.value} failed in its step {before}, so EC2 ended the node instead")
    account.until(
        f"EC2 has no instance after the rail {rail.value}", GONE_WITHIN, lambda: not account.see().existing
    )
    minutes = (account.clock() - began).total_seconds() / 60
    play.evidence(f"the rail {rail.value} alone: EC2 had no instance after {minutes:.1f} minutes")


def _states(account: Account, name: str) -> Sequence[str]:
    """The states that a run of the failsafe entered."""
    run = f"{account.failsafe.replace(':stateMachine:', ':execution:')}:{name}"
    request = {"executionArn": run, "maxResults": 1000, "includeExecutionData": False}
    events = account.call("stepfunctions", "get_execution_history", run, **request)["events"]
    return [
        event["stateEnteredEventDetails"]["name"] for event in events if "stateEnteredEventDetails" in event
    ]


def _stays_at_zero(play: Play) -> None:
    account = play.account
    try:
        account.until("another instance", STAYS_AT_ZERO, lambda: bool(account.see().existing))
    except Differs:
        play.evidence(f"Karpenter started no other node in {STAYS_AT_ZERO.seconds // 60} minutes")
        return
    raise Differs("Karpenter started another node after the rail")


def _opens(play: Play) -> None:
    """A normal opening and close, with whatever the rails have left: IAM may still have the lock."""
    account = play.account
    with _undone(play) as noted:
        lease = failsafe.opened(noted, f"{throwaway.STACK}-last")
        account.until(f"the lease {lease} is open", OPEN_WITHIN, lambda: _is_open(account, lease))
    if account.see().existing or _is_locked(account):
        raise Differs("the pool opened and closed, and is not as before")
    play.evidence("after both rails the pool opened and closed, and the lock is gone")


def _is_open(account: Account, lease: str) -> bool:
    found = account.lab.ledger.lease(account.pool, lease)
    return found is not None and found.state is LeaseState.OPEN and bool(account.see().alive)


STEP = Step(
    name="rails",
    asks="open a node of Karpenter, stop every function of the lab, end the node by one rail of the failsafe; the same"
    " by the other rail; open once more",
    passes="EC2 has no instance after each rail and gets no other for three minutes, and the pool opens after both",
    longest=len(RAILS)
    * (failsafe.LENGTH + RUN_WITHIN + GONE_WITHIN + STAYS_AT_ZERO + timedelta(minutes=MINUTES_TO_ZERO))
    + OPEN_WITHIN
    + timedelta(minutes=MINUTES_TO_ZERO),
    play=_play,
    fits=_fits,
    nodes=1,
    makes="three leases of one node, one after the other, an inline policy on Karpenter's role, and a stack with"
    " schedules; no function runs for up to half an hour, twice",
    kind=KARPENTER.code,
)
