"""Changes from Slack: open, extend, close, keep, and the calendar. Each is allowed, ordered and answered.

The rules are in domain/slack/asked/roles.py. The command is the same as the command line's, and the lab decides.
"""

from collections.abc import Sequence
from dataclasses import replace

from lamplighter.adapters.slack import reply
from lamplighter.application.slack.context import RequestContext
from lamplighter.application.slack.room import kept, opened, room
from lamplighter.domain.commands import meant, orders
from lamplighter.domain.commands.command import WHOLE_LAB, Command, Verb
from lamplighter.domain.leases.allowance import Allowance
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.notices.phrases import called
from lamplighter.domain.slack import answers
from lamplighter.domain.slack.answers import SlackAnswer
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.request import Press
from lamplighter.domain.slack.asked.roles import Wanted
from lamplighter.domain.slack.asked.understand import Understood, Word
from lamplighter.domain.slack.asked.understood import sentence
from lamplighter.domain.slack.kept import REPLY_GOOD_FOR, Reply
from lamplighter.errors import Refused
from lamplighter.reasons.reason import Reason, reason


def open_(context: RequestContext, wants: Understood) -> SlackAnswer | None:
    """Ask for a lease. On a pool that is open already, only where the person wants more nodes."""
    command = opening(context, wants)
    running = [
        lease for lease in context.leases(command.pool) if lease.in_force(context.slack_services.now())
    ]
    if running and command.opens is None and not command.add:
        return answers.just_use_it(
            running,
            free(context, running),
            command,
            _said(context, command),
            context.speech,
            room=room(context, command, max(running, key=lambda lease: lease.closes)),
            no_node_yet=no_node_yet(context, running),
        )
    why = why_not_open(context, command)
    if why is not None:
        return answers.may_not(why, command, _said(context, command), context.speech)
    return give(context, command, None)


def opening(context: RequestContext, wants: Understood) -> Command:
    """The command that the words ask for."""
    lab = context.slack_services.lab
    pool = meant.pool_meant(wants.said.pool, list(lab.pools))
    given = context.order(Verb.OPEN, pool)
    return orders.opening(given, wants.said, lab.guard.default_lease, add=wants.add)


def why_not_open(context: RequestContext, command: Command) -> Reason | None:
    """Why the roles do not allow it."""
    return roles.refusal(context.person, opened(context, command), context.slack_services.roles)


def free(context: RequestContext, running: Sequence[Lease]) -> int | None:
    """GPUs that no pod held at the guard's last reading; None before its first reading of the open pool."""
    seen = context.slack_services.ledger.pool(running[0].pool).seen_gpus
    if seen is None or seen.at < min(lease.opens for lease in running):
        return None
    return max(0, seen.of - seen.in_use)


def no_node_yet(context: RequestContext, running: Sequence[Lease]) -> bool:
    """Whether the pool waits for pods, which bring the nodes of a dynamic NodePool."""
    pool, ledger = running[0].pool, context.slack_services.ledger
    if pool not in context.slack_services.lab.pools_with("dynamic"):
        return False
    nodes = [ledger.progress(pool, lease.id).get(Stage.NODES) for lease in running]
    return all(noted is not None and not noted.of for noted in nodes)


def extend(context: RequestContext, wants: Understood) -> SlackAnswer | None:
    """Ask for more time on a lease."""
    command, lease = extending(context, wants)
    why = why_not_extend(context, command, lease)
    if why is not None:
        return answers.may_not(why, command, _said(context, command, lease), context.speech)
    return give(context, command, lease)


def extending(context: RequestContext, wants: Understood) -> tuple[Command, Lease]:
    """The command that the words ask for; without a length it is the usual one."""
    lease = _lease(context, wants.what, "extend")
    command = orders.extending(context.order(Verb.EXTEND, lease.pool), lease, wants.said)
    if command.closes is None and command.lasting is None:
        command = replace(command, lasting=context.slack_services.lab.guard.default_lease)
    return command, lease


def why_not_extend(context: RequestContext, command: Command, lease: Lease) -> Reason | None:
    """Why the roles do not allow it."""
    return roles.refusal(context.person, kept(context, command, lease), context.slack_services.roles)


def close(context: RequestContext, wants: Understood) -> SlackAnswer | None:
    """End a lease early; another person's lease only after the answer named its owner."""
    lease = _lease(context, wants.what, "close", closing=True)
    command = orders.closing(context.order(Verb.CLOSE, lease.pool), lease)
    said = _said(context, command, lease)
    why = roles.refusal(
        context.person, Wanted(Word.CLOSE, lease.pool, lease=lease), context.slack_services.roles
    )
    if why is not None:
        return answers.may_not(why, command, said, context.speech)
    # A confirmation counts for the lease that it names: without a name the person may mean another one.
    if not roles.owns(context.person, lease) and not (wants.confirmed and wants.what == lease.id):
        return answers.sure(lease, context.slack_services.word, said, context.speech)
    return give(context, command, lease)


def keep(context: RequestContext, wants: Understood) -> SlackAnswer | None:
    """Keep a lease that the guard would close because nobody uses its GPUs."""
    lease = _lease(context, wants.what, "keep")
    command = context.order(Verb.KEEP, lease.pool)
    command = replace(command, lease=lease.id, because=wants.said.because)
    why = roles.refusal(
        context.person, Wanted(Word.KEEP, lease.pool, lease=lease), context.slack_services.roles
    )
    if why is not None:
        return answers.may_not(why, command, _said(context, command, lease), context.speech)
    return give(context, command, lease)


def move(context: RequestContext, wants: Understood) -> SlackAnswer | None:
    """Move a lease without nodes to a fallback pool, by the button that offered it; once, whoever presses it."""
    # Loaded only for such a button: everybody waits for Slack's function to start.
    from lamplighter.domain.granting import fallback  # noqa: PLC0415

    to, lease = wants.said.pool, next((one for one in context.all_leases() if one.id == wants.what), None)
    lab, now = context.slack_services.lab, context.slack_services.now()
    # The lab decides whether nodes came: at this moment it may try for them.
    stays = fallback.may_not_move(lease, now, came=False)
    if stays or lease is None:
        raise Refused(stays or "")
    if to is None or lease.pool not in lab.pools or to not in fallback.chain(lab, lease.pool):
        raise Refused(reason("lease.fallback.no-such", to=str(to), pool=lease.pool))
    given, said = context.order(Verb.OPEN, to), fallback.command(lease, to, context.made)
    command = replace(said, id=given.id, by=given.by, source=given.source, expires=given.expires)
    words = context.speech.texts.say(
        "slack.understood.move", lease=called(context.speech.texts, lease), pool=to
    )
    for pool in (lease.pool, to):
        wanted = Wanted(Word.MOVE, pool, lease=lease)
        why = roles.refusal(context.person, wanted, context.slack_services.roles)
        if why is not None:
            return answers.may_not(why, command, words, context.speech)
    return give(context, command, lease, words)


def of_the_calendar(context: RequestContext, wants: Understood) -> SlackAnswer | None:
    """Skip and unskip a window, pause and resume the lab."""
    lab = context.slack_services.lab
    pools = list(lab.pools)
    if wants.window is not None:
        name = meant.window_meant(wants.window, [window.name for window in lab.windows])
        pools = [lab.pool_of(window) for window in lab.windows if window.name == name]
    command = replace(
        context.order(Verb(wants.word), WHOLE_LAB),
        window=wants.window,
        date=wants.date,
        closes=wants.said.closes,
        lasting=wants.said.duration,
        because=wants.said.because,
    )
    wanted = (Wanted(wants.word, pool) for pool in pools)
    refused = (roles.refusal(context.person, each, context.slack_services.roles) for each in wanted)
    why = next(filter(None, refused), None)
    if why is not None:
        return answers.may_not(why, command, _said(context, command), context.speech)
    return give(context, command, None)


def give(
    context: RequestContext, command: Command, lease: Lease | None, said: str | None = None
) -> SlackAnswer | None:
    """Start the command's workflow; the board answers with the decision, once there is one.

    The answer to a command that was decided before. `said` is the command in words.
    """
    from lamplighter.application.views.free_times import after_refusal  # noqa: PLC0415 -- the calendar is paid for here

    slack_services, said = context.slack_services, said or _said(context, command, lease)
    decision = slack_services.ledger.command(command.pool, command.id)
    if decision is None:
        command = replace(command, allowance=_allowance(context, command, lease))
        # The answer is owed before anything starts, so that no decision finds nobody to tell.
        owed = _owed(context, command, said)
        theirs = slack_services.ledger.order(owed, context.key, slack_services.now())
        handled = None if theirs else slack_services.ledger.seen(context.key)
        if handled is not None and handled.ordered is None:
            return None  # a second copy of the message has told a failure meanwhile
        # Also where another request gave it before: that one may have died here, and a name starts once.
        slack_services.start(command)
        follows = answers.follows(said, context.speech, word=f"/{slack_services.word}")
        return None if theirs or handled is not None else follows
    if slack_services.ledger.seen(context.key) is not None:
        return None  # a second copy of the message ordered it meanwhile
    named = decision.lease or decision.about
    after = slack_services.ledger.lease(command.pool, named) if named else lease
    pool = slack_services.lab.pools.get(command.pool)
    return answers.decided(
        decision,
        command,
        after,
        said,
        context.speech,
        experimental=pool is not None and pool.has("experimental"),
        free=after_refusal(
            decision, command, slack_services.lab, slack_services.ledger, slack_services.now()
        ),
    )


def _allowance(context: RequestContext, command: Command, lease: Lease | None) -> Allowance | None:
    """The allowance that the lab checks when it decides, so that grants made meanwhile count as well."""
    if command.moved_from is not None:
        return None
    if command.verb is Verb.OPEN:
        wanted = opened(context, command)
    elif command.verb is Verb.EXTEND and lease is not None:
        wanted = kept(context, command, lease)
    else:
        return None
    return roles.allowance(context.person, wanted, context.slack_services.roles)


def _owed(context: RequestContext, command: Command, said: str) -> Reply:
    request = context.request
    return Reply(
        command=command.id,
        pool=command.pool,
        user=context.person.id,
        url=request.response_url if reply.allowed(request.response_url) else None,
        channel=request.channel,
        understood=said,
        until=context.slack_services.now() + REPLY_GOOD_FOR,
        thread=request.thread if isinstance(request, Press) else None,
        ordered=command.to_json(),
        zone=context.speech.times.zone.key if context.speech.zone_known else None,
    )


def _lease(context: RequestContext, what: str | None, verb: str, *, closing: bool = False) -> Lease:
    """The lease that the words mean: the person's own running lease, where they name no other."""
    pools, leases, now = context.slack_services.lab.pools, context.all_leases(), context.slack_services.now()
    if what is None or what in pools:
        own = [
            lease
            for lease in leases
            if roles.owns(context.person, lease) and lease.in_force(now) and what in (None, lease.pool)
        ]
        leases = own if len(own) == 1 else leases
    return meant.lease_meant(what, leases, pools, verb, now=now, closing=closing)


def _said(context: RequestContext, command: Command, lease: Lease | None = None) -> str:
    return sentence(command, lease, context.speech.times, context.speech.texts)
