"""Whether the guard takes a pool back to zero that somebody raised without a lease."""

from datetime import timedelta

from cli.verification.account import Account
from cli.verification.outcome import Unfit
from cli.verification.step import Play, Step
from cli.verification.undo import MINUTES_TO_ZERO, Undo, UndoKind

SEEN_WITHIN = timedelta(minutes=2)
NOTICED_WITHIN = timedelta(minutes=12)
"""A sweep every five minutes, a first one that only sees it, and the order."""
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
        f"the guard ordered zero nodes of {account.pool}", NOTICED_WITHIN, lambda: account.see().size == 0
    )
    noticed = account.clock() - raised
    play.evidence(
        f"the guard ordered zero {noticed.total_seconds():.0f} s after somebody had ordered one node"
    )
    account.until(f"EC2 has no instance of {account.pool}", GONE_WITHIN, lambda: not account.see().existing)
    gone = account.clock() - raised
    play.evidence(f"EC2 had no instance of the pool after {gone.total_seconds() / 60:.1f} minutes")


STEP = Step(
    name="unleased",
    asks="order a node past the lab, and see the guard take it back",
    passes="the guard orders zero within 12 minutes, and EC2 has no instance 18 minutes later",
    longest=NOTICED_WITHIN + GONE_WITHIN + timedelta(minutes=MINUTES_TO_ZERO),
    play=_play,
    fits=fits,
    nodes=1,
    makes="one node, ordered at its group",
)
