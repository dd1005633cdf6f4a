"""What everybody may see in Slack, read from the ledger: the same as in the terminal and on the pages."""

from dataclasses import replace

from lamplighter.application.slack.context import RequestContext
from lamplighter.domain.commands import meant, orders
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.slack import answers
from lamplighter.domain.slack.answers import SlackAnswer
from lamplighter.domain.slack.asked.understand import Understood
from lamplighter.errors import Refused
from lamplighter.reasons.reason import reason


def status(context: RequestContext, _wants: Understood) -> SlackAnswer:
    """Every pool now."""
    from lamplighter.adapters.aws.view_reading import ViewReading  # noqa: PLC0415 -- the calendar is paid for here
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    slack_services = context.slack_services
    reading = ViewReading(slack_services.ledger, slack_services.lab, slack_services.now())
    return seeing.status(reading.pools, reading.pause, context.speech)


def windows(context: RequestContext, _wants: Understood) -> SlackAnswer:
    """What opens next."""
    from lamplighter.adapters.aws.view_reading import read_lab  # noqa: PLC0415 -- the calendar is paid for here
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    slack_services = context.slack_services
    return seeing.windows(
        read_lab(slack_services.ledger, slack_services.lab, slack_services.now()), context.speech
    )


def free(context: RequestContext, wants: Understood) -> SlackAnswer:
    """When pools are free for so long; without an end it looks a week ahead."""
    from lamplighter.application.leases.outlook import why_never  # noqa: PLC0415 -- the calendar is paid for here
    from lamplighter.application.views.free_times import FURTHEST, asked_range, read  # noqa: PLC0415
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    lab, ledger = context.slack_services.lab, context.slack_services.ledger
    now, said = context.slack_services.now(), wants.said
    pools = [meant.pool_meant(said.pool, list(lab.pools))] if said.pool else list(lab.pools)
    wished = replace(said, opens=None, closes=None, duration=said.duration or lab.guard.default_lease)
    wishes = [
        orders.opening(context.order(Verb.OPEN, pool), wished, lab.guard.default_lease, add=True)
        for pool in pools
    ]
    asked = asked_range(said.opens, said.closes, now)
    if asked is None:
        raise Refused(reason("lease.too-far-ahead", opens=said.opens or now))
    since, until = asked[0], min(asked[1], asked[0] + FURTHEST)
    found = read(lab, ledger, wishes, since, until, now=now)
    never = why_never(wishes[0], ledger, lab, now) if not found and len(wishes) == 1 else None
    if never is not None:
        return answers.plainly(context.speech.sentence(never))
    return seeing.free(found, wishes[0], until, context.speech)


def leases(context: RequestContext, _wants: Understood) -> SlackAnswer:
    """Who has nodes, or will have some."""
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    return seeing.leases(context.all_leases(), context.speech)


def cost(context: RequestContext, _wants: Understood) -> SlackAnswer:
    """What was spent and what is left."""
    from lamplighter.adapters.aws.view_reading import read_lab  # noqa: PLC0415 -- the calendar is paid for here
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    slack_services = context.slack_services
    return seeing.cost(
        read_lab(slack_services.ledger, slack_services.lab, slack_services.now()), context.speech
    )


def why(context: RequestContext, wants: Understood) -> SlackAnswer:
    """Why a pool has the nodes it has."""
    from lamplighter.application.views.why import REACHES_BACK, explained  # noqa: PLC0415 -- the calendar is paid for here
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    slack_services = context.slack_services
    lab, ledger, now = slack_services.lab, slack_services.ledger, slack_services.now()
    pool = meant.pool_meant(wants.said.pool or wants.what, list(lab.pools))
    explanation = explained(lab, ledger, pool, now, now)
    return seeing.why(pool, explanation, REACHES_BACK.days, context.speech)


def help_(context: RequestContext, _wants: Understood, before: str = "") -> SlackAnswer:
    """Every word, and the asker's own id."""
    return answers.help_text(context.slack_services.word, context.person.id, before, context.speech)
