"""What people change from Slack: open, extend, close, keep, and the calendar, each allowed, ordered and answered.

The rules are in domain/slack/asked/roles.py; the order is the same that the command line gives, and the lab decides.
"""

from collections.abc import Sequence
from dataclasses import replace

from lamplighter.adapters.slack import reply
from lamplighter.application.slack.room import full_until
from lamplighter.application.slack.visit import Visit
from lamplighter.clock import monotonic, sleep
from lamplighter.domain.commands import meant, orders
from lamplighter.domain.commands.command import WHOLE_LAB, Command, Decision, Verb
from lamplighter.domain.leases.allowance import Allowance, answered_for
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.slack import answers
from lamplighter.domain.slack.answers import Answer
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.request import Press
from lamplighter.domain.slack.asked.roles import No, Wanted
from lamplighter.domain.slack.asked.understand import Understood, Word
from lamplighter.domain.slack.asked.understood import ends, extended, sentence
from lamplighter.domain.slack.kept import REPLY_GOOD_FOR, Reply

DECISION_SECONDS = 1.8
LAST_SECONDS = 0.35
"""For saying that the answer follows."""
POLL_SECONDS = 0.1


def open_(visit: Visit, wants: Understood) -> Answer:
    """Ask for a lease; on a pool that is open already only where nodes are wanted beside those."""
    command = opening(visit, wants)
    running = [lease for lease in visit.leases(command.pool) if lease.in_force(visit.office.now())]
    if running and command.opens is None and not command.add:
        return answers.just_use_it(
            running,
            free(visit, running),
            command,
            _said(visit, command),
            visit.voice,
            full_until=full_until(visit, command),
        )
    why = why_not_open(visit, command)
    if why is not None:
        return answers.may_not(why, command, _said(visit, command), visit.voice)
    return give(visit, command, None)


def opening(visit: Visit, wants: Understood) -> Command:
    """The command that the words ask for."""
    lab = visit.office.lab
    pool = meant.pool_meant(wants.said.pool, list(lab.pools))
    given = visit.order(Verb.OPEN, pool)
    return orders.opening(given, wants.said, lab.guard.default_lease, add=wants.add)


def why_not_open(visit: Visit, command: Command) -> No | None:
    """Why the roles do not allow it; the nodes that they have, and that they let others have, count together."""
    return roles.refusal(visit.person, _opened(visit, command), visit.office.roles)


def free(visit: Visit, running: Sequence[Lease]) -> int | None:
    """GPUs that no pod held when the guard looked; None where it has not since the pool opened."""
    seen = visit.office.ledger.pool(running[0].pool).seen_gpus
    if seen is None or seen.at < min(lease.opens for lease in running):
        return None
    return max(0, seen.of - seen.in_use)


def extend(visit: Visit, wants: Understood) -> Answer:
    """Ask for more time on a lease."""
    command, lease = extending(visit, wants)
    why = why_not_extend(visit, command, lease)
    if why is not None:
        return answers.may_not(why, command, _said(visit, command, lease), visit.voice)
    return give(visit, command, lease)


def extending(visit: Visit, wants: Understood) -> tuple[Command, Lease]:
    """The command that the words ask for; no length named is the usual one."""
    lease = _lease(visit, wants.what, "extend")
    command = orders.extending(visit.order(Verb.EXTEND, lease.pool), lease, wants.said)
    if command.closes is None and command.lasting is None:
        command = replace(command, lasting=visit.office.lab.guard.default_lease)
    return command, lease


def why_not_extend(visit: Visit, command: Command, lease: Lease) -> No | None:
    """Why the roles do not allow it; its whole length counts, and what they have beside it by then."""
    return roles.refusal(visit.person, _extended(visit, command, lease), visit.office.roles)


def close(visit: Visit, wants: Understood) -> Answer:
    """End a lease before its time; another's only after its owner was named."""
    lease = _lease(visit, wants.what, "close", closing=True)
    command = orders.closing(visit.order(Verb.CLOSE, lease.pool), lease)
    said = _said(visit, command, lease)
    why = roles.refusal(visit.person, Wanted(Word.CLOSE, lease.pool, lease=lease), visit.office.roles)
    if why is not None:
        return answers.may_not(why, command, said, visit.voice)
    # A yes counts for the lease that it names: whoever names none may have another in mind.
    if not roles.owns(visit.person, lease) and not (wants.confirmed and wants.what == lease.id):
        return answers.sure(lease, visit.office.word, said, visit.voice)
    return give(visit, command, lease)


def keep(visit: Visit, wants: Understood) -> Answer:
    """Keep a lease that is to be closed because nobody uses its GPUs."""
    lease = _lease(visit, wants.what, "keep")
    command = visit.order(Verb.KEEP, lease.pool)
    command = replace(command, lease=lease.id, because=wants.said.because)
    why = roles.refusal(visit.person, Wanted(Word.KEEP, lease.pool, lease=lease), visit.office.roles)
    if why is not None:
        return answers.may_not(why, command, _said(visit, command, lease), visit.voice)
    return give(visit, command, lease)


def of_the_calendar(visit: Visit, wants: Understood) -> Answer:
    """Skip and unskip a window, pause and resume the lab."""
    lab = visit.office.lab
    pools = list(lab.pools)
    if wants.window is not None:
        name = meant.window_meant(wants.window, [window.name for window in lab.windows])
        pools = [lab.pool_of(window) for window in lab.windows if window.name == name]
    command = replace(
        visit.order(Verb(wants.word), WHOLE_LAB),
        window=wants.window,
        date=wants.date,
        closes=wants.said.closes,
        lasting=wants.said.duration,
        because=wants.said.because,
    )
    wanted = (Wanted(wants.word, pool) for pool in pools)
    refused = (roles.refusal(visit.person, each, visit.office.roles) for each in wanted)
    why = next(filter(None, refused), None)
    if why is not None:
        return answers.may_not(why, command, _said(visit, command), visit.voice)
    return give(visit, command, None)


def give(visit: Visit, command: Command, lease: Lease | None, said: str | None = None) -> Answer:
    """Start the command's workflow and answer with the decision on it, or that it follows."""
    office, said = visit.office, said or _said(visit, command, lease)
    decision = office.ledger.command(command.pool, command.id)
    if decision is None:
        command = replace(command, allowance=_allowance(visit, command, lease))
        visit.patience.say_at_the_end(_follows(visit, said).to_json())
        visit.patience.check()
        office.start(command)
        decision = _decision(visit, command) or _owe(visit, command, said)
    if decision is None:
        return _follows(visit, said)
    named = decision.lease or decision.about
    after = office.ledger.lease(command.pool, named) if named else lease
    return answers.decided(decision, command, after, said, visit.voice)


def _allowance(visit: Visit, command: Command, lease: Lease | None) -> Allowance | None:
    """What the lab holds the command against as it decides: what was given meanwhile counts as well."""
    if command.verb is Verb.OPEN:
        wanted = _opened(visit, command)
    elif command.verb is Verb.EXTEND and lease is not None:
        wanted = _extended(visit, command, lease)
    else:
        return None
    return roles.allowance(visit.person, wanted, visit.office.roles)


def _opened(visit: Visit, command: Command) -> Wanted:
    begins, until = command.opens or command.issued, ends(command)
    theirs = answered_for(visit.leases(command.pool), visit.person.written, command.owner, begins, until)
    return Wanted(Word.OPEN, command.pool, theirs + (command.nodes or 1), until - begins)


def _extended(visit: Visit, command: Command, lease: Lease) -> Wanted:
    until = extended(command, lease)
    others = (other for other in visit.leases(lease.pool) if other.id != lease.id)
    theirs = answered_for(others, visit.person.written, lease.owner, lease.closes, until)
    # Whoever has more nodes than they may open, since somebody let them, may go on with those.
    nodes = theirs + lease.nodes if theirs else None
    return Wanted(Word.EXTEND, lease.pool, nodes, until - lease.begins, lease)


def _decision(visit: Visit, command: Command) -> Decision | None:
    """The decision, if it comes while Slack waits."""
    over = monotonic() + min(DECISION_SECONDS, visit.patience.left() - LAST_SECONDS)
    while monotonic() < over:
        decision = visit.office.ledger.command(command.pool, command.id)
        if decision is not None:
            return decision
        sleep(POLL_SECONDS)
    return None


def _owe(visit: Visit, command: Command, said: str) -> Decision | None:
    """Leave the answer to the board; the decision, where it has come meanwhile and is the door's to say."""
    ledger, request = visit.office.ledger, visit.request
    visit.patience.check()
    ledger.owe(
        Reply(
            command=command.id,
            pool=command.pool,
            user=visit.person.id,
            url=request.response_url if reply.allowed(request.response_url) else None,
            channel=request.channel,
            understood=said,
            until=visit.office.now() + REPLY_GOOD_FOR,
            thread=request.thread if isinstance(request, Press) else None,
            ordered=command.to_json(),
            zone=visit.voice.times.zone.key,
        )
    )
    decision = ledger.command(command.pool, command.id)
    return decision if decision is not None and ledger.answered(command.id) else None


def _follows(visit: Visit, said: str) -> Answer:
    here = reply.allowed(visit.request.response_url)
    return answers.follows(said, visit.voice, here=here, word=f"/{visit.office.word}")


def _lease(visit: Visit, what: str | None, verb: str, *, closing: bool = False) -> Lease:
    """The lease that is meant; their own, where they have one that runs and named no other."""
    pools, leases, now = visit.office.lab.pools, visit.all_leases(), visit.office.now()
    if what is None or what in pools:
        own = [
            lease
            for lease in leases
            if roles.owns(visit.person, lease) and lease.in_force(now) and what in (None, lease.pool)
        ]
        leases = own if len(own) == 1 else leases
    return meant.lease_meant(what, leases, pools, verb, now=now, closing=closing)


def _said(visit: Visit, command: Command, lease: Lease | None = None) -> str:
    return sentence(command, lease, visit.voice.times, visit.voice.texts)
