"""Whether the names of a destroyed lab can be deployed again: a throw-away stack of its named kinds tries it."""

from datetime import timedelta

from cli.verification.outcome import Differs
from cli.verification.step import Play, Step
from cli.verification.steps import throwaway
from cli.verification.undo import Undo, UndoKind, table_is_absent

RECEIPT = {throwaway.PARTITION_KEY: {"S": "a receipt"}}


def _play(play: Play) -> None:
    account = play.account
    table = throwaway.TABLE
    play.undo(Undo(UndoKind.TABLE, table))
    play.undo(Undo(UndoKind.STACK, throwaway.STACK))
    account.create_stack(throwaway.STACK, throwaway.named())
    account.call("dynamodb", "put_item", table, TableName=table, Item=RECEIPT)
    account.delete_stack(throwaway.STACK)
    if table_is_absent(account, table):
        raise Differs(f"the destroy deleted the table {table}, which its policy keeps")
    play.evidence("the destroy kept the table")
    account.create_stack(throwaway.STACK, throwaway.deploy("FAILED"), throwaway.LATE, imports=True)
    if table_is_absent(account, table):
        raise Differs(f"the roll-back of a deploy that had imported the table {table} deleted it")
    play.evidence("a deploy that imported the table and failed late was rolled back, and kept it")
    account.delete_stack(throwaway.STACK)
    outputs = account.create_stack(throwaway.STACK, throwaway.named(), imports=True)
    request = {"TableName": table, "Key": RECEIPT, "ConsistentRead": True}
    if "Item" not in account.call("dynamodb", "get_item", table, **request):
        raise Differs(f"the next deploy has another table {table}, without its item")
    stream = account.call("dynamodb", "describe_table", table, TableName=table)["Table"]["LatestStreamArn"]
    if outputs["Stream"] != stream:
        raise Differs(f"the imported table has the stream {stream}, and the stack says {outputs['Stream']}")
    play.evidence("the next deploy took the table up with its item and its stream, and had every name")


STEP = Step(
    name="again",
    asks="destroy a throw-away stack with the kinds of a lab that have names, and deploy the same names again",
    passes="the table outlives the destroy and a failed deploy that imports it; the next one has it and every name",
    longest=timedelta(minutes=60),
    play=_play,
    makes="a stack with a table, a secret, a log group, a parameter, a queue, a bus, a schedule group and a function",
)
