"""Whether a bus refuses an event whose source its policy denies, alone and beside an event that it takes."""

from datetime import timedelta

from cli.verification.account import Account
from cli.verification.outcome import Differs
from cli.verification.step import Play, Step
from cli.verification.steps import throwaway
from cli.verification.undo import Undo, UndoKind

TAKEN_SOURCE = "lamplighter-verify.taken"
TAKES_EFFECT_WITHIN = timedelta(minutes=2)
REFUSED = frozenset({"AccessDeniedException", "NotAuthorizedForSourceException"})


def _play(play: Play) -> None:
    account = play.account
    play.undo(Undo(UndoKind.STACK, throwaway.STACK))
    account.create_stack(throwaway.STACK, throwaway.bus())
    account.until(
        "the bus refuses the denied source",
        TAKES_EFFECT_WITHIN,
        lambda: _refused(account, throwaway.DENIED_SOURCE) == ["all"],
    )
    play.evidence("an event of a denied source alone is refused")
    if _refused(account, TAKEN_SOURCE):
        raise Differs("an event of another source alone is refused too")
    both = _refused(account, TAKEN_SOURCE, throwaway.DENIED_SOURCE)
    if both not in (["all"], [throwaway.DENIED_SOURCE]):
        raise Differs("a denied event beside one that is not denied was taken")
    play.evidence(
        f"beside an event that is not denied, AWS refuses {'both' if both == ['all'] else 'it alone'}"
    )


def _refused(account: Account, *sources: str) -> list[str]:
    """The sources that the bus did not take, or `all` where it refused the whole call."""
    entries = [
        {"Source": source, "DetailType": "verify", "Detail": "{}", "EventBusName": throwaway.STACK}
        for source in sources
    ]
    reply = account.attempt(REFUSED, "events", "put_events", throwaway.STACK, Entries=entries)
    if reply is None:
        return ["all"]
    answers = zip(sources, reply["Entries"], strict=True)
    refused = [source for source, answer in answers if "ErrorCode" in answer]
    return ["all"] if refused == list(sources) else refused


STEP = Step(
    name="bus",
    asks="put events on a throw-away bus whose policy denies one source",
    passes="the denied event is taken neither alone nor beside another, and an event of another source is taken",
    longest=timedelta(minutes=20),
    play=_play,
    makes="a stack with a bus",
)
