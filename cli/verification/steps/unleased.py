"""Whether the guard takes a pool back to zero that somebody raised without a lease."""

from datetime import datetime, timedelta

from cli.verification.account import Account
from cli.verification.outcome import Differs, Unfit
from cli.verification.step import Play, Step
from cli.verification.undo import MINUTES_TO_ZERO, Undo, UndoKind
from lamplighter.reasons.reason import Reason

SEEN_WITHIN = timedelta(minutes=2)
NOTICED_WITHIN = timedelta(minutes=12)
"""A sweep every five minutes, a first one that only sees it, and the order."""
WRITTEN_WITHIN = timedelta(minutes=1)
"""The lab writes an order into the audit trail after it has given it."""
GONE_WITHIN = timedelta(minutes=18)


def fits(account: Account) -> None:
    """Raises Unfit where a lease runs, or where the guard only watches."""
    account.idle()
    if account.lab.lab.mode(account.pool) != "enforce":
        raise Unfit(f"the guard only watches the pool {account.pool}")


def _play(play: Play) -> None:
    account = play.account
    controller = account.see().controller
    if controller is None:
        raise Unfit(f"the pool {account.pool} has no group yet")
    play.undo(Undo(UndoKind.SIZE, f"{account.lab.name}/{account.pool}/{controller.name}"))
    raised = account.clock()
    request = {"AutoScalingGroupName": controller.name, "DesiredCapacity": 1}
    account.call("autoscaling", "set_desired_capacity", controller.name, **request)
    # Auto Scaling may answer the old size for a while, which proves nothing.
    account.until(f"the group of {account.pool} has the order", SEEN_WITHIN, lambda: account.see().size == 1)
    account.until(
        f"the group of {account.pool} has an order of zero", NOTICED_WITHIN, lambda: account.see().size == 0
    )
    noticed = account.clock() - raised
    play.evidence(f"zero was ordered {noticed.total_seconds():.0f} s after somebody had ordered one node")
    account.until(f"EC2 has no instance of {account.pool}", GONE_WITHIN, lambda: not account.see().existing)
    order = _labs_order(account, raised, raised + noticed + WRITTEN_WITHIN)
    play.evidence(f"the guard did so, by its audit trail: {order}")
    gone = account.clock() - raised
    play.evidence(f"EC2 had no instance of the pool after {gone.total_seconds() / 60:.1f} minutes")


def _labs_order(account: Account, since: datetime, until: datetime) -> str:
    """The lab's own order from a node to zero in the audit trail. Raises Differs where there is none.

    Without a lease only the guard gives it, or a CloseLab that the guard has started.
    """
    for entry in account.lab.ledger.audit(account.pool, since, until):
        before = entry.what.values.get("before") if isinstance(entry.what, Reason) else None
        if entry.kind == "scaled" and entry.nodes == 0 and before:
            return f"{entry.who} ordered 0 nodes, {before} before"
    raise Differs("something else ordered zero: the audit trail has no such order of the guard")


STEP = Step(
    name="unleased",
    asks="order a node past the lab, and see the guard take it back",
    passes="the guard itself orders zero within 12 minutes, and EC2 has no instance 18 minutes later",
    longest=NOTICED_WITHIN + GONE_WITHIN + timedelta(minutes=MINUTES_TO_ZERO),
    play=_play,
    fits=fits,
    nodes=1,
    makes="one node, ordered at its group",
)
