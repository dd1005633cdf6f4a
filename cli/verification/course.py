"""Plays the steps one after the other, within the money, and undoes each on every path."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from cli.verification.account import Account
from cli.verification.journal import Journal
from cli.verification.outcome import Differs, Unfit
from cli.verification.step import Play, Step, StepResult, StepVerdict
from cli.verification.undo import Undo, UndoKind, undo
from lamplighter.clock import monotonic
from lamplighter.domain.money.money import Money
from lamplighter.errors import LamplighterError, OutsideFailed


def unfit(account: Account, step: Step, left: Money) -> str | None:
    """Why a step is not tried; None where it can be."""
    try:
        step.fits(account)
        price = most(account, step)
    except Unfit as why:
        return str(why)
    return f"it can cost {price}, and {left} are left of --spend" if price > left else None


def most(account: Account, step: Step) -> Money:
    """The most that a step can cost. Raises Unfit where no price is known."""
    return account.cost(step.nodes, step.longest, step.instance_type)


def play(
    account: Account,
    steps: Sequence[Step],
    limit: Money,
    journal: Journal,
    tell: Callable[[str], None],
    record: Callable[[str], None],
) -> bool:
    """Play the steps that have no result yet, after what an earlier run left is undone.

    Returns whether AWS answered all that was asked. Raises OutsideFailed, and plays no further step, where something
    cannot be undone: the journal keeps it.
    """
    spent = journal.spent(limit.currency)
    _undo_all(account, journal, tell)
    done = {result.step for result in journal.results}
    answered = True
    for step in steps:
        if step.name in done:
            continue
        why = unfit(account.on(step.kind), step, limit - spent)
        if why is not None:
            tell(f"{step.name}: not tried: {why}")
            journal.end(StepResult(step.name, StepVerdict.NOT_TRIED, [why], 0, Money.zero(limit.currency)))
            continue
        record(step.name)
        tell(f"{step.name}: {step.asks}")
        result, known = _played(account.on(step.kind), step, journal, tell)
        answered = answered and known
        spent += result.cost
    return answered


def _played(
    account: Account, step: Step, journal: Journal, tell: Callable[[str], None]
) -> tuple[StepResult, bool]:
    """What came of a step, and whether AWS answered all that it asked. Its undoing counts in its time and cost.

    Raises OutsideFailed where something of it is not undone.
    """
    evidence: list[str] = []

    def note(line: str) -> None:
        evidence.append(line)
        tell(f"  {line}")

    def back(one: Undo) -> None:
        undo(account, one)
        journal.undone(one)

    began = monotonic()
    journal.begin(step.name, most(account, step))
    verdict, known = StepVerdict.PASSED, True
    try:
        step.play(Play(account, note, journal.promise, journal.undone, back))
    except Differs as differs:
        note(str(differs))
        verdict = StepVerdict.FAILED
    except Unfit as why:
        note(str(why))
        verdict = StepVerdict.NOT_TRIED
    except LamplighterError as error:
        note(str(error))
        verdict, known = StepVerdict.NOT_TRIED, False
    finally:
        left = _undone(account, journal, tell)
    evidence += left
    seconds = round(monotonic() - began)
    price = account.cost(step.nodes, timedelta(seconds=seconds), step.instance_type)
    result = StepResult(step.name, verdict, evidence, seconds, price)
    journal.end(result)
    tell(f"{step.name}: {result.verdict.value} after {result.seconds} s")
    if left:
        raise OutsideFailed(_not_undone(journal, left))
    return result, known


def _undo_all(account: Account, journal: Journal, tell: Callable[[str], None]) -> None:
    left = _undone(account, journal, tell)
    if left:
        raise OutsideFailed(_not_undone(journal, left))


def _not_undone(journal: Journal, left: Iterable[str]) -> str:
    return f"not undone: {'; '.join(left)}; `lamplighter verify --resume` tries again, from {journal.path}"


def _undone(account: Account, journal: Journal, tell: Callable[[str], None]) -> list[str]:
    """Undo what was made, the last first. Returns what could not be undone: it keeps none of the others.

    But a stack stays while a function may not run: its schedules still give that back.
    """
    left: list[str] = []
    for one in reversed(list(journal.open)):
        if one.kind is UndoKind.STACK and any(each.kind is UndoKind.CONCURRENCY for each in journal.open):
            left.append(f"{one.what} (its schedules give the functions their concurrency back)")
            continue
        tell(f"  undoing {one.what}")
        try:
            undo(account, one)
            journal.undone(one)
        except (LamplighterError, Differs, Unfit) as error:
            left.append(f"{one.what} ({error})")
        except KeyboardInterrupt:
            tell(_not_undone(journal, (each.what for each in journal.open)))
            raise
    return left
