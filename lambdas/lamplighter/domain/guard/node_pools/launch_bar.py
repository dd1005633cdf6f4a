"""Law 1 at admission: a NodePool's launch bar opens exactly as long as leases run, and the API server follows it."""

from collections.abc import Iterator

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.schedules.failsafe import bar_instant, failsafe_instant
from lamplighter.reasons.reason import reason


def launch_bar(facts: PoolFacts) -> Iterator[Breach]:
    """A bar that is missing, or that opens for longer or shorter than the leases run. A watched pool has none."""
    bar = facts.seen.bar
    if bar is None or not facts.enforcing:
        return
    until = bar_instant(failsafe_instant(facts.leases, facts.now), facts.now)
    # The API server may read an instant where we read none.
    opens = bar.unreadable or (bar.until is not None and bar.until > facts.now)
    # A lease that begins moves the bar before it orders nodes.
    if until > facts.now and bar.until != until and (facts.staying or opens):
        stands = bar.until or reason("guard.bar.no-instant" if bar.unreadable else "guard.bar.shut")
        yield Breach(
            Rule.LAUNCH_BAR_WRONG,
            reason("guard.bar.other", pool=facts.pool, until=until, at=stands),
            GuardAction.MOVE_BAR,
        )
    elif until <= facts.now and opens:
        said = (
            reason("guard.bar.unreadable", pool=facts.pool)
            if bar.until is None
            else reason("guard.bar.open", pool=facts.pool, at=bar.until)
        )
        yield Breach(Rule.LAUNCH_BAR_WRONG, said, GuardAction.MOVE_BAR)
    elif bar.wrong is not None:
        yield Breach(Rule.LAUNCH_BAR_WRONG, bar.wrong, GuardAction.PAGE)
