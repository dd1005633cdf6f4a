"""Whether a first deploy that fails late leaves nothing, and whether the next one takes a custom resource's text."""

from datetime import timedelta

from cli.verification.outcome import Differs
from cli.verification.step import Play, Step
from cli.verification.steps import throwaway
from cli.verification.undo import Undo, UndoKind, table_is_absent

JOINED = "size-7"


def _play(play: Play) -> None:
    account = play.account
    play.undo(Undo(UndoKind.TABLE, throwaway.TABLE))
    play.undo(Undo(UndoKind.STACK, throwaway.STACK))
    account.create_stack(throwaway.STACK, throwaway.deploy("FAILED"), throwaway.LATE)
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
    makes="a stack with a table, a role and a function",
)
