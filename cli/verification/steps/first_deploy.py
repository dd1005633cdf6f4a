"""Whether a first deploy that fails late leaves nothing, and whether the next one takes a custom resource's text."""

from datetime import timedelta

from cli.verification.account import Account
from cli.verification.outcome import Differs, Unfit
from cli.verification.step import Play, Step
from cli.verification.steps import throwaway
from cli.verification.undo import Undo, UndoKind, table_is_absent

JOINED = "size-7"


def free(account: Account) -> None:
    """Raises Unfit where somebody has a table of that name: it would be deleted."""
    if not table_is_absent(account, throwaway.TABLE):
        raise Unfit(f"a table {throwaway.TABLE} exists already; delete it if nobody needs it")


def _play(play: Play) -> None:
    account = play.account
    play.undo(Undo(UndoKind.TABLE, throwaway.TABLE))
    play.undo(Undo(UndoKind.STACK, throwaway.STACK))
    account.create_stack(throwaway.STACK, throwaway.deploy("FAILED"), "ROLLBACK_COMPLETE")
    if not table_is_absent(account, throwaway.TABLE):
        raise Differs(f"the roll-back of a first deploy kept the table {throwaway.TABLE}")
    play.evidence(
        "a first deploy that failed late was rolled back, and its table is gone (RetainExceptOnCreate)"
    )
    account.delete_stack(throwaway.STACK)
    outputs = account.create_stack(throwaway.STACK, throwaway.deploy("SUCCESS"))
    if outputs["Joined"] != JOINED:
        raise Differs(f"the text of a custom resource, joined, is {outputs['Joined']!r}, not {JOINED!r}")
    play.evidence(f"the second deploy succeeded, and joined the text of a custom resource: {JOINED}")


STEP = Step(
    name="first-deploy",
    asks="deploy a throw-away stack that fails late, then deploy it again",
    passes="the roll-back keeps no table, and the second deploy joins the text that a custom resource answers",
    longest=timedelta(minutes=20),
    play=_play,
    fits=free,
    makes="a stack with a table, a role and a function",
)
