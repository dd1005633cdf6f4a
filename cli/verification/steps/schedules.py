"""Whether EventBridge Scheduler calls a universal target within its minute."""

from datetime import timedelta

from cli.verification.step import Play, Step
from cli.verification.steps import scheduler, throwaway
from cli.verification.undo import Undo, UndoKind

AHEAD = timedelta(minutes=4)
"""Of it the cut to a whole minute takes one, and Scheduler may need two to know the role."""
FIRES_WITHIN = timedelta(minutes=2)


def _play(play: Play) -> None:
    account = play.account
    play.undo(Undo(UndoKind.STACK, throwaway.STACK))
    role = account.create_stack(throwaway.STACK, throwaway.schedule())[throwaway.ROLE]
    at = (account.clock() + AHEAD).replace(second=0, microsecond=0)
    item = {"TableName": throwaway.TABLE, "Item": {throwaway.PARTITION_KEY: {"S": "fired"}}}
    scheduler.create(account, role, at, [("dynamodb:putItem", item)])
    play.evidence(f"a schedule is set for {at:%H:%M} UTC")

    def fired() -> bool:
        key = {throwaway.PARTITION_KEY: {"S": "fired"}}
        request = {"TableName": throwaway.TABLE, "Key": key, "ConsistentRead": True}
        return "Item" in account.call("dynamodb", "get_item", throwaway.TABLE, **request)

    within = at - account.clock() + FIRES_WITHIN
    account.until("a schedule called dynamodb:PutItem", within, fired)
    late = (account.clock() - at).total_seconds()
    play.evidence(
        f"a schedule of {at:%H:%M} UTC called dynamodb:PutItem by itself, at most {late:.0f} s later"
    )


STEP = Step(
    name="schedules",
    asks="let EventBridge Scheduler call AWS with no code of the lab",
    passes="the schedule calls `dynamodb:PutItem` within two minutes of its minute",
    longest=timedelta(minutes=20),
    play=_play,
    makes="a stack with a table and a role, and a schedule",
)
