"""Later times in Slack: a place in the waiting list, taking what it offers, and booking a free time.

The board makes the offers (board/waiting.py). A place holds nothing. An offer is one command, however often its button
is pressed.
"""

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.application.slack import changes as slack_changes
from lamplighter.application.slack.context import RequestContext
from lamplighter.domain.commands import meant
from lamplighter.domain.commands.command import Command
from lamplighter.domain.slack import answers
from lamplighter.domain.slack.answers import SlackAnswer
from lamplighter.domain.slack.asked.understand import Understood
from lamplighter.domain.slack.asked.understood import sentence
from lamplighter.domain.slack.kept import WISH_GOOD_FOR, WaitingPlace

HOUR = timedelta(hours=1)


def tell_me(context: RequestContext, wants: Understood) -> SlackAnswer:
    """Put a person on the waiting list of a full pool, once."""
    pool = meant.pool_meant(wants.said.pool, list(context.slack_services.lab.pools))
    unnamed = replace(wants.said, closes=None, opens=None)
    command = slack_changes.opening(context, replace(wants, said=unnamed, add=True))
    why = slack_changes.why_not_open(context, command)
    if why is not None:
        said = sentence(command, None, context.speech.times, context.speech.texts)
        return answers.may_not(why, command, said, context.speech)
    ledger, say = context.slack_services.ledger, context.speech.texts.say
    line = ledger.wishes(pool, context.slack_services.now())
    theirs = next((each for each in line if each.user == context.person.id), None)
    if theirs is not None and _still_theirs(context, theirs):
        until = context.speech.times.with_zone(theirs.offered_until or theirs.until)
        return answers.plainly(say("slack.offered", pool=pool, until=until))
    if theirs is None or theirs.offered is not None:
        if theirs is not None:
            ledger.unwish(theirs)
        line = [each for each in line if each is not theirs]
        theirs = _wish(context, command, wants.said.closes)
        ledger.wish(theirs)
        line = sorted([*line, theirs], key=lambda each: each.turn)
    place, hours = line.index(theirs) + 1, WISH_GOOD_FOR // HOUR
    return answers.plainly(say("slack.told-when", place=place, pool=pool, hours=hours))


def take(context: RequestContext, wants: Understood) -> SlackAnswer | None:
    """Open what was offered while the offer is valid; after that open nothing."""
    command = slack_changes.opening(context, replace(wants, add=True))
    command, ledger = replace(command, id=_taking(wants.ask)), context.slack_services.ledger
    if ledger.command(command.pool, command.id) is None:
        now = context.slack_services.now()
        wish = next((each for each in ledger.wishes(command.pool, now) if each.id == wants.ask), None)
        if wish is None or wish.user != context.person.id or not wish.on_offer(now):
            word = f"/{context.slack_services.word}"
            return answers.plainly(context.speech.texts.say("slack.offer-lapsed", word=word))
        why = slack_changes.why_not_open(context, command)
        if why is not None:
            said = sentence(command, None, context.speech.times, context.speech.texts)
            return answers.may_not(why, command, said, context.speech)
    return slack_changes.give(context, command, None)


def book(context: RequestContext, wants: Understood) -> SlackAnswer | None:
    """Open at the time that a button names, once for a person; pressed again or too late it only says so."""
    command, say = slack_changes.opening(context, replace(wants, add=True)), context.speech.texts.say
    pressed = f"{wants.ask} {context.person.id} {wants.said.opens}"
    command = replace(command, id=f"slack-open-{hashlib.sha256(pressed.encode()).hexdigest()[:32]}")
    said = sentence(command, None, context.speech.times, context.speech.texts)
    before = context.slack_services.ledger.command(command.pool, command.id)
    if before is not None and before.granted is not None:
        return answers.plainly(say("slack.booked-before", id=before.granted), said)
    if before is None:
        if command.opens is None:
            return answers.plainly(say("slack.book-too-late", word=f"/{context.slack_services.word}"))
        why = slack_changes.why_not_open(context, command)
        if why is not None:
            return answers.may_not(why, command, said, context.speech)
    return slack_changes.give(context, command, None)


def _wish(context: RequestContext, command: Command, earliest: datetime | None) -> WaitingPlace:
    return WaitingPlace(
        pool=command.pool,
        at=context.made,
        user=context.person.id,
        owner=context.person.written,
        channel=context.request.channel,
        nodes=command.nodes or 1,
        lasting=command.lasting,
        until=context.made + WISH_GOOD_FOR,
        zone=context.speech.times.zone.key,
        because=answers.words_of(command.because),
        earliest=earliest,
        heard=context.slack_services.now(),
    )


def _still_theirs(context: RequestContext, wish: WaitingPlace) -> bool:
    """Whether a person has an offer that they did not try to take: another person may have been faster."""
    tried = context.slack_services.ledger.command(wish.pool, _taking(wish.id))
    return tried is None and wish.on_offer(context.slack_services.now())


def _taking(wish: str | None) -> str:
    """The one command that takes an offer."""
    return f"slack-open-{wish}"
