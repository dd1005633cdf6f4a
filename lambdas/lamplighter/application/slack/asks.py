"""What people ask of each other in Slack: to be let in, and a yes or a no to that.

Filed here; the board shows it to those whom it is about. A yes gives the command that was asked for, with the
asker as its owner and whoever said yes as its giver, so that the receipt names both.
"""

from dataclasses import replace

from lamplighter.adapters.slack import reply
from lamplighter.application.slack import changes as slack_changes
from lamplighter.application.slack.visit import Visit
from lamplighter.domain.commands import orders
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.slack import answers
from lamplighter.domain.slack.answers import Answer
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.roles import No, Wanted
from lamplighter.domain.slack.asked.understand import Understood, Word
from lamplighter.domain.slack.asked.understood import ends, extended, sentence
from lamplighter.domain.slack.blocks import Marked
from lamplighter.domain.slack.kept import ASK_GOOD_FOR, Ask
from lamplighter.errors import Refused


def ask(visit: Visit, wants: Understood) -> Answer:
    """File what somebody may not do themselves; who may by now, just does it."""
    lease: Lease | None = None
    if wants.asks is Word.EXTEND:
        command, lease = slack_changes.extending(visit, wants)
        why = slack_changes.why_not_extend(visit, command, lease)
        # Until the instant that was read out, whatever becomes of the lease before somebody says yes.
        filed_as = replace(command, closes=extended(command, lease), lasting=None)
    else:
        command = slack_changes.opening(visit, wants)
        why = slack_changes.why_not_open(visit, command)
        filed_as = command
    if why is None:
        return slack_changes.give(visit, command, lease)
    until = visit.made + ASK_GOOD_FOR
    over = command.closes or (ends(command) if command.opens else until)
    filed = Ask(
        id=visit.key,
        pool=command.pool,
        user=visit.person.id,
        owner=visit.person.written,
        channel=visit.request.channel,
        understood=sentence(command, lease, visit.voice.times, visit.voice.texts),
        command=filed_as.to_json(),
        at=visit.made,
        until=min(until, over),
        zone=visit.voice.times.zone.key,
        url=visit.request.response_url if reply.allowed(visit.request.response_url) else None,
    )
    visit.patience.check()
    visit.office.ledger.file_ask(filed)
    slack = visit.office.lab.slack
    seen_in = slack.channel if slack and slack.channel else visit.request.channel
    text = visit.voice.texts.say("slack.asked", channel=f"<#{seen_in}>")
    return Answer(Marked(text), visit.voice.understood(filed.understood))


def settle(visit: Visit, wants: Understood) -> Answer:
    """Say yes or no to what somebody asked for, if the roles let this one do it."""
    say, ledger = visit.voice.texts.say, visit.office.ledger
    asked = ledger.ask(wants.ask) if wants.ask else None
    if asked is None or asked.until <= visit.office.now():
        return answers.plainly(say("slack.ask.lapsed.nobody"))
    base = Command.from_json(asked.command)
    lease = ledger.lease(base.pool, base.lease) if base.verb is Verb.EXTEND and base.lease else None
    if base.verb is Verb.EXTEND and lease is None:
        raise Refused("the lease that was to be extended is over")
    # What is judged is what would be given: at this moment, by whoever says so now.
    approved = _approved(visit, base, asked)
    said = say("slack.ask.for", owner=asked.owner, what=asked.understood)
    if asked.state == "approved" and ledger.command(base.pool, approved.id) is not None:
        return answers.plainly(say("slack.ask.approved", by=asked.by or ""), said)
    why = _why_not(visit, approved, lease, wants.word)
    if why is not None:
        return answers.may_not(why, None, said, visit.voice)
    state = "approved" if wants.word is Word.APPROVE else "declined"
    visit.patience.check()
    after = ledger.settle_ask(asked, state, visit.person.written, visit.key)
    theirs = after.state == state and after.request == visit.key
    # A yes that was noted and then not given, for whatever kept it, is given by whoever says yes next.
    unheard = wants.word is Word.APPROVE and ledger.command(base.pool, approved.id) is None
    if after.state == "approved" and (theirs or unheard):
        return slack_changes.give(visit, approved, lease, said)
    if theirs:
        return answers.plainly(say("slack.ask.you-declined", owner=asked.owner), said)
    return answers.plainly(say(f"slack.ask.{after.state}", by=after.by or ""), said)


def _why_not(visit: Visit, base: Command, lease: Lease | None, word: Word) -> No | None:
    """Whether whoever says yes might do it themselves: nobody lets in more than they may have.

    A no takes the role, however much of it is used up.
    """
    if word is Word.DECLINE:
        asks = Wanted(Word.OPEN if lease is None else Word.EXTEND, base.pool, lease=lease)
        return roles.refusal(visit.person, asks, visit.office.roles)
    if lease is not None:
        return slack_changes.why_not_extend(visit, base, lease)
    return slack_changes.why_not_open(visit, base)


def _approved(visit: Visit, base: Command, asked: Ask) -> Command:
    """The command as it would be given now: one for each ask, whoever presses how often."""
    by = visit.person.written
    reason = f" because {base.because}" if base.because else ""
    return replace(
        base,
        id=f"slack-{base.verb.value}-{asked.id}",
        by=by,
        issued=visit.made,
        expires=visit.made + orders.EXPIRES_AFTER,
        opens=base.opens if base.opens and base.opens - visit.made > orders.SOON else None,
        because=f"{asked.owner} asked for it{reason}, and {by} approved it",
    )
