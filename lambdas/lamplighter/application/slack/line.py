"""The waiting list, as people in Slack meet it: a place in line, and taking what is offered.

The board makes the offers (board/waiting.py). A place in line holds nothing; what is offered is one command,
however often its button is pressed.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.application.slack import changes as slack_changes
from lamplighter.application.slack.visit import Visit
from lamplighter.domain.commands import meant
from lamplighter.domain.commands.command import Command
from lamplighter.domain.slack import answers
from lamplighter.domain.slack.answers import Answer
from lamplighter.domain.slack.asked.understand import Understood
from lamplighter.domain.slack.asked.understood import sentence
from lamplighter.domain.slack.kept import WISH_GOOD_FOR, Wish

HOUR = timedelta(hours=1)


def tell_me(visit: Visit, wants: Understood) -> Answer:
    """Put somebody on the waiting list of a full pool, once; it holds nothing."""
    pool = meant.pool_meant(wants.said.pool, list(visit.office.lab.pools))
    unnamed = replace(wants.said, closes=None, opens=None)
    command = slack_changes.opening(visit, replace(wants, said=unnamed, add=True))
    why = slack_changes.why_not_open(visit, command)
    if why is not None:
        said = sentence(command, None, visit.voice.times, visit.voice.texts)
        return answers.may_not(why, command, said, visit.voice)
    ledger, say = visit.office.ledger, visit.voice.texts.say
    line = ledger.wishes(pool, visit.office.now())
    theirs = next((each for each in line if each.user == visit.person.id), None)
    if theirs is not None and _still_theirs(visit, theirs):
        until = visit.voice.times.with_zone(theirs.offered_until or theirs.until)
        return answers.plainly(say("slack.offered", pool=pool, until=until))
    if theirs is None or theirs.offered is not None:
        visit.patience.check()
        if theirs is not None:
            ledger.unwish(theirs)
        line = [each for each in line if each is not theirs]
        theirs = _wish(visit, command, wants.said.closes)
        ledger.wish(theirs)
        line = sorted([*line, theirs], key=lambda each: each.turn)
    place, hours = line.index(theirs) + 1, WISH_GOOD_FOR // HOUR
    return answers.plainly(say("slack.told-when", place=place, pool=pool, hours=hours))


def take(visit: Visit, wants: Understood) -> Answer:
    """Open what was offered, while it is good; later it opens nothing."""
    command = slack_changes.opening(visit, replace(wants, add=True))
    command, ledger = replace(command, id=_taking(wants.ask)), visit.office.ledger
    if ledger.command(command.pool, command.id) is None:
        now = visit.office.now()
        wish = next((each for each in ledger.wishes(command.pool, now) if each.id == wants.ask), None)
        if wish is None or wish.user != visit.person.id or not wish.on_offer(now):
            word = f"/{visit.office.word}"
            return answers.plainly(visit.voice.texts.say("slack.offer-lapsed", word=word))
        why = slack_changes.why_not_open(visit, command)
        if why is not None:
            said = sentence(command, None, visit.voice.times, visit.voice.texts)
            return answers.may_not(why, command, said, visit.voice)
    return slack_changes.give(visit, command, None)


def _wish(visit: Visit, command: Command, earliest: datetime | None) -> Wish:
    return Wish(
        pool=command.pool,
        at=visit.made,
        user=visit.person.id,
        owner=visit.person.written,
        channel=visit.request.channel,
        nodes=command.nodes or 1,
        lasting=command.lasting,
        until=visit.made + WISH_GOOD_FOR,
        zone=visit.voice.times.zone.key,
        because=None if command.because is None else str(command.because),
        earliest=earliest,
        heard=visit.office.now(),
    )


def _still_theirs(visit: Visit, wish: Wish) -> bool:
    """Whether a place is offered that they have not tried to take: somebody else may have been quicker."""
    tried = visit.office.ledger.command(wish.pool, _taking(wish.id))
    return tried is None and wish.on_offer(visit.office.now())


def _taking(wish: str | None) -> str:
    """The one command that takes what a wish is offered."""
    return f"slack-open-{wish}"
