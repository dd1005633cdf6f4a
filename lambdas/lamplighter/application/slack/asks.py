"""Requests for approval in Slack, and the decisions on them.

The request is kept here, and the board shows it to the approvers. An approval gives the command with the asker as its
owner and the approver as its giver, so that the receipt names both.
"""

from dataclasses import replace

from lamplighter.adapters.slack import reply
from lamplighter.application.slack import changes as slack_changes
from lamplighter.application.slack.context import RequestContext
from lamplighter.domain.commands import orders
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.slack import answers
from lamplighter.domain.slack.answers import SlackAnswer
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.roles import Wanted
from lamplighter.domain.slack.asked.understand import Understood, Word
from lamplighter.domain.slack.asked.understood import ends, extended, sentence
from lamplighter.domain.slack.blocks import Marked
from lamplighter.domain.slack.kept import ASK_GOOD_FOR, ApprovalRequest
from lamplighter.errors import Refused
from lamplighter.reasons.reason import Reason, Said, reason


def ask(context: RequestContext, wants: Understood) -> SlackAnswer | None:
    """Keep a request for what a person may not do themselves. Where they may by now, it is done at once."""
    lease: Lease | None = None
    if wants.asks is Word.EXTEND:
        command, lease = slack_changes.extending(context, wants)
        why = slack_changes.why_not_extend(context, command, lease)
        # The end is the instant that the request shows, whatever happens to the lease before the approval.
        filed_as = replace(command, closes=extended(command, lease), lasting=None)
    else:
        command = slack_changes.opening(context, wants)
        why = slack_changes.why_not_open(context, command)
        filed_as = command
    if why is None:
        return slack_changes.give(context, command, lease)
    until = context.made + ASK_GOOD_FOR
    over = command.closes or (ends(command) if command.opens else until)
    filed = ApprovalRequest(
        id=context.key,
        pool=command.pool,
        user=context.person.id,
        owner=context.person.written,
        channel=context.request.channel,
        understood=sentence(command, lease, context.speech.times, context.speech.texts),
        command=filed_as.to_json(),
        at=context.made,
        until=min(until, over),
        zone=context.speech.times.zone.key,
        url=context.request.response_url if reply.allowed(context.request.response_url) else None,
    )
    context.slack_services.ledger.file_ask(filed)
    slack = context.slack_services.lab.slack
    seen_in = slack.channel if slack and slack.channel else context.request.channel
    text = context.speech.texts.say("slack.asked", channel=f"<#{seen_in}>")
    return SlackAnswer(Marked(text), context.speech.understood(filed.understood))


def settle(context: RequestContext, wants: Understood) -> SlackAnswer | None:
    """Approve or decline a request, if the roles allow it."""
    say, ledger = context.speech.texts.say, context.slack_services.ledger
    asked = ledger.ask(wants.ask) if wants.ask else None
    if asked is None or asked.until <= context.slack_services.now():
        return answers.plainly(say("slack.ask.lapsed.nobody"))
    base = Command.from_json(asked.command)
    lease = ledger.lease(base.pool, base.lease) if base.verb is Verb.EXTEND and base.lease else None
    if base.verb is Verb.EXTEND and lease is None:
        raise Refused(reason("slack.lease-over"))
    # The roles judge the command as it would be given now, by this approver.
    approved = _approved(context, base, asked)
    said = say("slack.ask.for", owner=asked.owner, what=asked.understood)
    if asked.state == "approved" and ledger.command(base.pool, approved.id) is not None:
        return answers.plainly(say("slack.ask.approved", by=asked.by or ""), said)
    why = _why_not(context, approved, lease, wants.word)
    if why is not None:
        return answers.may_not(why, None, said, context.speech)
    late = approved.too_old(context.slack_services.now(), generation=0)
    if late is not None and wants.word is Word.APPROVE and asked.state == "asked":
        raise Refused(late)
    state = "approved" if wants.word is Word.APPROVE else "declined"
    after = ledger.settle_ask(asked, state, context.person.written, context.key)
    theirs = after.state == state and after.request == context.key
    # An approval that was noted but whose command was not given is given by the next approval.
    unheard = wants.word is Word.APPROVE and ledger.command(base.pool, approved.id) is None
    if after.state == "approved" and (theirs or unheard):
        return slack_changes.give(context, approved, lease, said)
    if theirs:
        return answers.plainly(say("slack.ask.you-declined", owner=asked.owner), said)
    return answers.plainly(say(f"slack.ask.{after.state}", by=after.by or ""), said)


def _why_not(context: RequestContext, base: Command, lease: Lease | None, word: Word) -> Reason | None:
    """Why this person may not decide: nobody approves more than they may have themselves.

    Declining needs the role only, however much of its allowance is used.
    """
    if word is Word.DECLINE:
        asks = Wanted(Word.OPEN if lease is None else Word.EXTEND, base.pool, lease=lease)
        return roles.refusal(context.person, asks, context.slack_services.roles)
    if lease is not None:
        return slack_changes.why_not_extend(context, base, lease)
    return slack_changes.why_not_open(context, base)


def _approved(context: RequestContext, base: Command, asked: ApprovalRequest) -> Command:
    """The command as it would be given now: one for each request, however often a button is pressed."""
    by = context.person.written
    return replace(
        base,
        id=f"slack-{base.verb.value}-{asked.id}",
        by=by,
        issued=context.made,
        expires=context.made + orders.EXPIRES_AFTER,
        opens=base.opens if base.opens and base.opens - context.made > orders.SOON else None,
        because=_because(base.because, asked.owner, by),
    )


def _because(said: Said | None, owner: str, by: str) -> Reason:
    """Who asked for it and who approved it, with the asker's reason where they gave one."""
    if said:
        return reason("slack.asked-and-approved.because", owner=owner, because=said, by=by)
    return reason("slack.asked-and-approved", owner=owner, by=by)
