"""The answer to a signed request: who asks, what they mean, and whether the request came before.

Words and buttons take one path from here. changes.py and asks.py change something, and shows.py only shows something.
"""

from collections.abc import Callable, Mapping

from lamplighter.adapters.slack import reply
from lamplighter.application.slack import asks as slack_asks
from lamplighter.application.slack import changes as slack_changes
from lamplighter.application.slack import line as slack_line
from lamplighter.application.slack import log as slack_log
from lamplighter.application.slack import shows as slack_shows
from lamplighter.application.slack.context import NotStarted, RequestContext, SlackServices
from lamplighter.application.slack.receiving import SignedRequest
from lamplighter.domain.commands.command import Command
from lamplighter.domain.people.person import Person
from lamplighter.domain.slack import answers
from lamplighter.domain.slack.answers import SlackAnswer, Speech
from lamplighter.domain.slack.asked import buttons, roles, understand
from lamplighter.domain.slack.asked.request import Press, SlashCommand, SslCheck
from lamplighter.domain.slack.asked.understand import SEEING, NotUnderstood, Understood, Word, WordContext
from lamplighter.domain.slack.times import Times
from lamplighter.errors import BadInput, LamplighterError, OutsideFailed, Refused, TryLater
from lamplighter.reasons.reason import paragraph, reason
from lamplighter.values import zones

WHO_SECONDS = 2
"""The time for asking Slack about a person. After it they count as a person without groups, at the lab's time."""

_DOES: Mapping[Word, Callable[[RequestContext, Understood], SlackAnswer | None]] = {
    Word.OPEN: slack_changes.open_,
    Word.EXTEND: slack_changes.extend,
    Word.CLOSE: slack_changes.close,
    Word.KEEP: slack_changes.keep,
    Word.SKIP: slack_changes.of_the_calendar,
    Word.UNSKIP: slack_changes.of_the_calendar,
    Word.PAUSE: slack_changes.of_the_calendar,
    Word.RESUME: slack_changes.of_the_calendar,
    Word.ASK: slack_asks.ask,
    Word.APPROVE: slack_asks.settle,
    Word.DECLINE: slack_asks.settle,
    Word.TELL_ME: slack_line.tell_me,
    Word.TAKE: slack_line.take,
    Word.BOOK: slack_line.book,
    Word.MOVE: slack_changes.move,
    Word.STATUS: slack_shows.status,
    Word.WINDOWS: slack_shows.windows,
    Word.FREE: slack_shows.free,
    Word.LEASES: slack_shows.leases,
    Word.COST: slack_shows.cost,
    Word.WHY: slack_shows.why,
    Word.HELP: slack_shows.help_,
}


def respond(signed: SignedRequest, slack_services: SlackServices) -> None:
    """Answers a signed request at its response_url, once; a repeated request does nothing and has its answer.

    Where a command is given, the board answers as soon as the lab has decided. Raises where the message is to come
    again: NotStarted, and OutsideFailed or TryLater where Slack did not take the answer.
    """
    if isinstance(signed.request, SslCheck):
        return
    try:
        said = _answered(signed, signed.request, slack_services)
    except NotStarted as error:
        if signed.last_try:
            said = _failed(error.said, slack_services, _speech(slack_services, None))
            _reply(signed.request.response_url, said, slack_services)
        raise
    except (BadInput, Refused, TryLater, OutsideFailed) as error:
        said = _failed(error, slack_services, _speech(slack_services, None))
    except Exception as error:  # noqa: BLE001 -- a fault of ours, which would be the same the next time
        slack_log.failed(error)
        said = _failed(OutsideFailed(reason("slack.outside")), slack_services, _speech(slack_services, None))
    if said is None:
        return
    _reply(signed.request.response_url, said, slack_services)
    slack_log.answered_in((slack_services.now() - signed.came).total_seconds(), slack_services.lab.name)
    try:
        slack_services.ledger.note_seen(signed.key, slack_services.now())
    except LamplighterError as error:
        # The person has the answer: the request need not come again.
        slack_log.failed(error)


def _answered(
    signed: SignedRequest, asked: SlashCommand | Press, slack_services: SlackServices
) -> Mapping[str, object] | None:
    """The answer; None where there is one already, or where the board gives it."""
    before = slack_services.ledger.seen(signed.key)
    if before is not None:
        # The run before may have died before it started the workflow.
        if before.ordered is not None:
            slack_services.start(Command.from_json(before.ordered))
        return None
    team = slack_services.lab.slack.team if slack_services.lab.slack else None
    if team is not None and asked.team != team:
        said = slack_services.texts.say("slack.other-workspace", team=team)
        return answers.plainly(said).to_json()
    context = _context(signed, asked, slack_services)
    try:
        meant = _meant(context)
    except NotUnderstood as error:
        said = context.speech.drawn(reason("slack.not-understood", why=paragraph(error.said)))
        return slack_shows.help_(context, Understood(Word.HELP), said).to_json()
    answer = _DOES[meant.word](context, meant)
    if meant.word not in SEEING:
        slack_log.answered(meant.word.value, context.person.id, signed.key)
    return None if answer is None else answer.to_json()


def _context(
    signed: SignedRequest, asked: SlashCommand | Press, slack_services: SlackServices
) -> RequestContext:
    groups = roles.groups_named(slack_services.roles)
    person = slack_services.people.person(asked.user, asked.user_name, groups, WHO_SECONDS)
    speech = _speech(slack_services, person)
    return RequestContext(slack_services, asked, signed.key, signed.made, person, speech)


def _speech(slack_services: SlackServices, person: Person | None) -> Speech:
    """The lab's language, and the asker's own clock where Slack gives their zone."""
    theirs = person.zone if person is not None else None
    known = theirs if theirs in zones.names() else None
    times = Times(zones.zone(known or slack_services.lab.time_zone), slack_services.now())
    return Speech(slack_services.texts, times, zone_known=person is None or known is not None)


def _meant(context: RequestContext) -> Understood:
    lab, request = context.slack_services.lab, context.request
    if isinstance(request, Press):
        return understand.pressed(request.action, buttons.read(request.value))
    names = [window.name for window in lab.windows]
    place = WordContext(list(lab.pools), names, context.made, context.speech.times.zone)
    return understand.typed(request.text, place)


def _failed(error: LamplighterError, slack_services: SlackServices, speech: Speech) -> Mapping[str, object]:
    """One line about a request that is refused or not understood, or that a call outside failed."""
    if isinstance(error, Refused):
        return answers.plainly(speech.sentence(error.said)).to_json()
    if isinstance(error, BadInput):
        return answers.plainly(
            speech.drawn(reason("slack.not-understood", why=paragraph(error.said)))
        ).to_json()
    slack_log.failed(error)
    # AWS's own words name tables and roles. They are for the log, and not for a channel.
    what = (error.call or reason("slack.outside")) if isinstance(error, OutsideFailed) else error.said
    return answers.plainly(
        speech.drawn(reason("slack.went-wrong", what=what, word=f"/{slack_services.word}"))
    ).to_json()


def _reply(url: str | None, said: Mapping[str, object], slack_services: SlackServices) -> None:
    """Sends the answer; an address that is not Slack's, or that takes no more answers, gets none."""
    if url is None or not reply.allowed(url):
        return
    try:
        slack_services.reply(url, said)
    except reply.NoLonger as error:
        slack_log.failed(error)
