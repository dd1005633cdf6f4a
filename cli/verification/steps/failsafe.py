"""Whether the failsafe alone brings a pool to zero: every function of the lab may run at no time."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from cli.use import orders
from cli.verification.account import Account
from cli.verification.outcome import Differs, Unfit
from cli.verification.step import Play, Step
from cli.verification.steps import scheduler, throwaway
from cli.verification.steps.unleased import fits
from cli.verification.undo import Undo, UndoKind
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.orders import opening
from lamplighter.domain.commands.words import OpenWords
from lamplighter.errors import BadInput, Refused

LENGTH = timedelta(minutes=15)
STARTED_WITHIN = timedelta(minutes=10)
ENDED_WITHIN = timedelta(minutes=40)
"""After the lease's end: the first schedule runs ten minutes after it, the last one half an hour."""
NET_AFTER = timedelta(minutes=100)


def _play(play: Play) -> None:
    account = play.account
    closes = leased(play, throwaway.STACK)
    stopped = stop_functions(play)
    within = closes - account.clock() + ENDED_WITHIN
    account.until(f"EC2 has no instance of {account.pool}", within, lambda: not account.see().existing)
    late = account.clock() - closes
    if late < timedelta(0):
        raise Differs(
            f"the node was gone {-late.total_seconds():.0f} s before the lease ended, so this proves nothing"
        )
    for function in stopped:
        if _concurrency(account, function) != 0:
            raise Differs(f"somebody let the function {function} run again, so this proves nothing")
    play.evidence(
        f"no function ran, and EC2 had no instance {late.total_seconds() / 60:.1f} minutes after the end"
    )


def leased(play: Play, because: str) -> datetime:
    """Opens one node for a quarter of an hour, and waits for it. Returns the end of the lease."""
    account = play.account
    lease = opened(play, because)
    try:
        account.until(
            f"EC2 has an instance of {account.pool}", STARTED_WITHIN, lambda: bool(account.see().alive)
        )
    except Differs as none:
        # EC2 may have no capacity: that says nothing of the failsafe.
        raise Unfit(str(none)) from none
    play.evidence(f"the lease {lease} has a node")
    return _closes(account, lease)


def opened(play: Play, because: str) -> str:
    """Opens one node, for a reason that is this opening's alone. Returns the lease."""
    account = play.account
    order = orders.order(account.lab, Verb.OPEN, account.pool)
    order = replace(opening(order, OpenWords(because=because), LENGTH), nodes=1)
    name = f"{account.lab.name}/{account.pool}/{because}"
    lease = Undo(UndoKind.LEASE, name, int(order.expires.timestamp()))
    play.undo(lease)
    try:
        decision = orders.give(account.lab, order)
    except (BadInput, Refused):
        # The lab's address took no order.
        play.not_made(lease)
        raise
    if decision.outcome != "granted" or decision.lease is None:
        # The order has its answer: none comes any more.
        play.not_made(lease)
        raise Unfit(f"the lab did not grant a lease of one node: {decision.reason}")
    return decision.lease


def _closes(account: Account, lease: str) -> datetime:
    found = account.lab.ledger.lease(account.pool, lease)
    if found is None:
        raise Differs(f"the ledger has no lease {lease}")
    return found.closes


def stop_functions(play: Play) -> Collection[str]:
    """Sets the concurrency of every function to 0, after AWS itself has been told to give it back. Returns them."""
    account = play.account
    reserved: dict[str, int | None] = {}
    arns: list[str] = []
    for name in account.functions():
        reserved[name] = _concurrency(account, name)
        arns.append(f"arn:aws:lambda:{account.region}:{account.id}:function:{name}")
    play.undo(Undo(UndoKind.STACK, throwaway.STACK))
    role = account.create_stack(throwaway.STACK, throwaway.concurrency_net(arns))[throwaway.ROLE]
    calls = [_gives_back(name, before) for name, before in reserved.items()]
    scheduler.create(account, role, account.clock() + NET_AFTER, calls)
    for name, before in reserved.items():
        play.undo(Undo(UndoKind.CONCURRENCY, name, before))
        request = {"FunctionName": name, "ReservedConcurrentExecutions": 0}
        account.call("lambda", "put_function_concurrency", name, **request)
    play.evidence(f"{len(reserved)} functions may not run; a schedule gives that back if this program cannot")
    return reserved


def _gives_back(function: str, reserved: int | None) -> tuple[str, Mapping[str, object]]:
    """The call by which a function has its reserved concurrency again."""
    if reserved is None:
        return "lambda:deleteFunctionConcurrency", {"FunctionName": function}
    request = {"FunctionName": function, "ReservedConcurrentExecutions": reserved}
    return "lambda:putFunctionConcurrency", request


def _concurrency(account: Account, function: str) -> int | None:
    found = account.call("lambda", "get_function_concurrency", function, FunctionName=function)
    reserved: int | None = found.get("ReservedConcurrentExecutions")
    return reserved


STEP = Step(
    name="failsafe",
    asks="open a node, stop every function of the lab, and see AWS end the node",
    passes="EC2 has no instance 40 minutes after the end of the lease, and had one until then",
    longest=timedelta(minutes=150),
    play=_play,
    fits=fits,
    nodes=1,
    makes="a lease of one node, and a stack with schedules; no function runs for up to an hour",
)
