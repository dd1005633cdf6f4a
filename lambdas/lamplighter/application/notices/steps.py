"""The notices function: Announce says what came of a run, Warn that a lease ends soon.

Notes in the ledger that GPUs are proven, and what the checks said. A notice that cannot be sent fails
nothing: the ledger has it, and step Tell says it again behind the workflow's back.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.notices import Notices
from lamplighter.application import environment
from lamplighter.application.logs import logger
from lamplighter.application.notices.voice import Voice
from lamplighter.application.run import command_of, pool_of, result
from lamplighter.domain.audit import trail
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.commands.command import WHOLE_LAB, Command, Verb
from lamplighter.domain.gpu.offer import kept
from lamplighter.domain.leases import closing
from lamplighter.domain.leases.at_stake import AtStake
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import terms as terms_of
from lamplighter.domain.notices import announcement
from lamplighter.domain.notices import notification as letter
from lamplighter.domain.notices import opening as announcement_opening
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.domain.notices.findings import findings
from lamplighter.domain.pool.pool import Phase
from lamplighter.errors import BadInput, LamplighterError
from lamplighter.values import instant

if TYPE_CHECKING:
    pass


def announce(run: Mapping[str, object], voice: Voice) -> dict[str, object]:
    """Step Announce: say what came of the run, once; nothing when it was said or is no longer true."""
    command = command_of(run)
    pool = command.pool if command.pool == WHOLE_LAB else pool_of(run, voice.lab)
    match command.verb:
        case Verb.OPEN:
            run = _with_rows(pool, run, voice)
            said = _opening(pool, run, voice)
        case Verb.CLOSE:
            said = _closing(pool, command, voice)
        case Verb.EXTEND:
            lease = _lease(pool, result(run, "Extend"), voice)
            said = announcement.of_extending(pool, lease, result(run, "Extend"), voice.zone, voice.texts)
        case Verb.EXPERIMENT | Verb.RESTORE:
            said = _of_experiment(run, voice)
        case _:
            said = announcement.of_change(command.verb, result(run, "Change"), voice.texts)
    before = result(run, "Announce")
    known, causes = _strings(before.get("causes")), {each.cause for each in findings(_diagnosis(run))}
    now_known = {"causes": sorted(known | causes), "diagnosed": result(run, "Diagnose").get("at")}
    if said is None or (said.subject == before.get("subject") and causes <= known):
        subject = before.get("subject")
        return {"announced": False, "kind": said.kind if said else None, "subject": subject, **now_known}
    if said.kind in {"open", "degraded", "failed"}:
        _write_down(pool, run, voice)
    document = result(run, "Admit").get("lease") or result(run, "Extend").get("lease")
    about = str(document["id"]) if isinstance(document, Mapping) else command.lease
    return {**_say(pool, said, about, voice), "subject": said.subject, **now_known}


def announce_replacement(run: Mapping[str, object], voice: Voice) -> dict[str, object]:
    """Step AnnounceReplacement: say which nodes go and why, before they do; what was found is kept and written down."""
    pool, admit = pool_of(run, voice.lab), result(run, "Admit")
    lease = _lease(pool, admit, voice)
    if lease is None or not lease.in_force(voice.now()):
        return {"announced": False, "kind": None}
    run = _with_rows(pool, run, voice)
    _keep_verdicts(lease, result(run, "Validate"), voice)
    _write_down(pool, run, voice)
    said = announcement_opening.of_replacing(pool, result(run, "Validate"), voice.texts)
    return _say(pool, said, lease.id, voice)


def _diagnosis(run: Mapping[str, object]) -> Mapping[str, object]:
    """What was found since the last notice; an earlier round's findings are told already, and may be over."""
    found = result(run, "Diagnose")
    told = result(run, "Announce").get("diagnosed")
    return {} if found.get("at") is None or found["at"] == told else found


def _strings(listed: object) -> set[str]:
    return {str(each) for each in listed} if isinstance(listed, list) else set()


def announce_change(run: Mapping[str, object], voice: Voice) -> dict[str, object]:
    """Step AnnounceChange: say what an experiment is about to break, and until when."""
    from lamplighter.application.notices import experiments as notices_experiments  # noqa: PLC0415 -- seldom

    said = notices_experiments.of_change(run, voice)
    if said is None:
        return {"announced": False, "kind": None}
    return _say(pool_of(run, voice.lab), said, None, voice)


def _of_experiment(run: Mapping[str, object], voice: Voice) -> Announcement | None:
    from lamplighter.application.notices import experiments as notices_experiments  # noqa: PLC0415 -- seldom

    return notices_experiments.of_report(run, voice)


def warn(run: Mapping[str, object], voice: Voice) -> dict[str, object]:
    """Step Warn: a lease ends soon. Says nothing when it was moved or is over."""
    pool, command = pool_of(run, voice.lab), command_of(run)
    lease = voice.ledger.lease(pool, command.lease) if command.lease else None
    if lease is None or not lease.in_force(voice.now()) or lease.closes != command.closes:
        return {"announced": False, "kind": None}
    said = announcement.of_warning(
        lease,
        voice.now(),
        voice.zone,
        furthest=_furthest(lease, voice),
        at_stake=AtStake.from_json(_at_stake(run, voice)),
        word=voice.lab.slack.command if voice.lab.slack else None,
        texts=voice.texts,
    )
    return _say(pool, said, lease.id, voice)


def tell(run: Mapping[str, object], _voice: Voice) -> dict[str, object]:
    """Step Tell: say again what a topic did not take; fails until it does, and ends in the dead letters."""
    document = run.get("letter")
    if not isinstance(document, Mapping):
        raise BadInput("run.letter: Tell needs the notice that was not sent")
    again = letter.Letter.from_json(document)
    Notices(str(run.get("topic"))).send(again)
    return {"announced": True, "kind": again.kind}


def _furthest(lease: Lease, voice: Voice) -> datetime | None:
    """How far the lease may be extended; None where nobody knows, for want of a price."""
    from lamplighter.domain.leases import extension  # noqa: PLC0415 -- only to warn

    try:
        terms = terms_of(environment.as_kept(voice.lab, voice.ledger), lease.pool)
    except BadInput:
        return None
    return extension.furthest(lease, terms)


def _at_stake(run: Mapping[str, object], voice: Voice) -> Mapping[str, object]:
    """What goes with the lease; a warning is said in any case."""
    try:
        return voice.ask_cluster({"step": "AtStake", "run": run})
    except LamplighterError as error:
        logger().warning("the warning does not say whose work is at stake: %s", error)
        return {}


def _opening(pool: str, run: Mapping[str, object], voice: Voice) -> Announcement | None:
    admit = result(run, "Admit")
    lease = _lease(pool, admit, voice)
    opened = admit.get("outcome") == "granted" and not admit.get("later")
    if opened and (lease is None or not lease.in_force(voice.now())):
        return None
    steps = ("Admit", "ApplyGpuSettings", "AwaitNodes", "AwaitGpus", "Validate", "Replace")
    results = {step: result(run, step) for step in steps} | {"Diagnose": _diagnosis(run)}
    said = announcement_opening.of_opening(pool, lease, results, voice.zone, voice.texts)
    if opened and lease is not None:
        _keep_verdicts(lease, result(run, "Validate"), voice)
        voice.ledger.keep_settings(lease, kept(results["ApplyGpuSettings"], results["AwaitGpus"]))
        if announcement_opening.is_proven(result(run, "Validate")):
            voice.ledger.advance(pool, lease.id, LeaseState.OPEN, voice.now())
        voice.ledger.set_phase(pool, Phase.OPEN)
    return said


def _with_rows(pool: str, run: Mapping[str, object], voice: Voice) -> Mapping[str, object]:
    """The run with what Validate said of each node: it stands in the ledger, a state has no room for it."""
    validate, lease = result(run, "Validate"), result(run, "Admit").get("lease")
    # A run that an earlier release began carries its rows.
    if "at" not in validate or "verdicts" in validate:
        return run
    whose = str(lease["id"]) if isinstance(lease, Mapping) else pool
    rows = voice.ledger.rows(pool, whose, instant.read(str(validate["at"])))
    results = run.get("results")
    before = results if isinstance(results, Mapping) else {}
    return {**run, "results": {**before, "Validate": {**validate, "verdicts": rows}}}


def _keep_verdicts(lease: Lease, validate: Mapping[str, object], voice: Voice) -> None:
    """What this ladder found: the last word on the lease, and the history of the pool and its nodes."""
    from lamplighter.domain.checks.gpu_proof import Proof  # noqa: PLC0415 -- a refusal needs none

    rows = validate.get("verdicts")
    if not isinstance(rows, list) or not rows or "at" not in validate:
        return
    at = instant.read(str(validate["at"]))
    if "counts" not in validate:
        # An earlier release did not keep them before.
        voice.ledger.keep_rows(lease.pool, lease.id, at, rows)
    voice.ledger.keep_verdicts(lease, at)
    kept = environment.as_kept(voice.lab, voice.ledger)
    ready = int((at - lease.opens).total_seconds()) if lease.ready is None else None
    voice.ledger.keep_proof(
        Proof(
            at=at,
            pool=lease.pool,
            lease=lease.id,
            instance_type=kept.pools[lease.pool].instance_type,
            verdict=str(validate.get("verdict")),
            rows=tuple(row for row in rows if isinstance(row, Mapping)),
            seconds_to_ready=ready if announcement_opening.is_proven(validate) else None,
        )
    )


def _write_down(pool: str, run: Mapping[str, object], voice: Voice) -> None:
    """What the steps before found, for `why` and for whoever reads the day."""
    lease = _lease(pool, result(run, "Admit"), voice)
    if lease is not None:
        results = {step: result(run, step) for step in ("ApplyGpuSettings", "AwaitGpus", "Validate")}
        results["Diagnose"] = _diagnosis(run)
        voice.ledger.append_audits(trail.of_opening(lease, results, voice.now()))


def _closing(pool: str, command: Command, voice: Voice) -> Announcement | None:
    opened = voice.ledger.command(pool, command.opened_by) if command.opened_by else None
    leases = voice.ledger.leases(pool)
    decided = closing.decide(command, opened.granted if opened else None, leases, voice.now())
    if decided.over:
        return None
    return announcement.of_closing(pool, decided.leases, str(decided.reason), voice.texts)


def _lease(pool: str, found: Mapping[str, object], voice: Voice) -> Lease | None:
    """The lease of an earlier step's result, as the ledger has it now."""
    lease = found.get("lease")
    return voice.ledger.lease(pool, str(lease["id"])) if isinstance(lease, Mapping) else None


def _say(pool: str, said: Announcement, lease: str | None, voice: Voice) -> dict[str, object]:
    said = said.told_by(clock_of(voice.zone))
    sent = voice.notices.say(letter.of(voice.lab.name, pool, said))
    voice.ledger.append_audit(
        Entry(
            at=voice.now(),
            pool=pool,
            kind="warned" if said.kind == "warned" else "announced",
            who="notices",
            what=said.plain,
            why=said.text,
            lease=lease,
            details={"notice": said.kind, "sent": sent},
        )
    )
    return {"announced": sent == "yes", "kind": said.kind}
