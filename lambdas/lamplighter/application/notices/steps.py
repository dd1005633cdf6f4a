"""The steps of the notices function: Announce sends the outcome of a run, and Warn that a lease ends soon.

They also note in the ledger that GPUs are proven, and the verdicts of the checks. A notice that cannot be sent fails no
workflow: the ledger has it, and step Tell sends it later.
"""

from collections.abc import Mapping
from datetime import datetime

from lamplighter.adapters.aws.notices import Notices
from lamplighter.application import environment, metrics
from lamplighter.application.logs import logger
from lamplighter.application.notices.delivery import entry_of, say_once, send
from lamplighter.application.notices.services import NoticeServices
from lamplighter.application.run import command_of, pool_of, result
from lamplighter.domain.audit import trail
from lamplighter.domain.audit.findings import findings
from lamplighter.domain.checks.gpu_proof import GpuProof
from lamplighter.domain.commands.command import WHOLE_LAB, Command, Verb
from lamplighter.domain.gpu.offer import kept
from lamplighter.domain.granting import closing, extension
from lamplighter.domain.leases.at_stake import AtStake
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import terms as terms_of
from lamplighter.domain.notices import announcement, notification
from lamplighter.domain.notices import opening as announcement_opening
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.domain.pool.pool import Phase
from lamplighter.errors import BadInput, LamplighterError
from lamplighter.lab.notice_kinds import UNFILLED
from lamplighter.reasons.document import document
from lamplighter.reasons.fields import from_odd_document
from lamplighter.reasons.reason import reason
from lamplighter.values import instant


def announce(run: Mapping[str, object], notice_services: NoticeServices) -> dict[str, object]:
    """Step Announce: send the outcome of the run once; nothing when it was sent or no longer holds."""
    command = command_of(run)
    pool = command.pool if command.pool == WHOLE_LAB else pool_of(run, notice_services.lab)
    match command.verb:
        case Verb.OPEN:
            run = _with_rows(pool, run, notice_services)
            said = _opening(pool, run, notice_services)
        case Verb.CLOSE:
            said = _closing(pool, command, notice_services)
        case Verb.EXTEND:
            lease = _lease(pool, result(run, "Extend"), notice_services)
            said = announcement.of_extending(pool, lease, result(run, "Extend"))
        case Verb.EXPERIMENT | Verb.RESTORE:
            said = _of_experiment(run, notice_services)
        case _:
            said = announcement.of_change(command.verb, result(run, "Change"))
    before = result(run, "Announce")
    known, causes = _strings(before.get("causes")), {each.cause for each in findings(_diagnosis(run))}
    now_known = {"causes": sorted(known | causes), "diagnosed": result(run, "Diagnose").get("at")}
    told = before.get("subject")
    if said is None or (document(said.subject) == told and causes <= known):
        return {"announced": False, "kind": said.kind if said else None, "subject": told, **now_known}
    if said.kind in {"open", "degraded", "failed"}:
        _write_down(pool, run, notice_services)
    granted = result(run, "Admit").get("lease") or result(run, "Extend").get("lease")
    about = str(granted["id"]) if isinstance(granted, Mapping) else said.lease or command.lease
    say = _say_once if said.kind == UNFILLED else _say
    return {**say(pool, said, about, notice_services), "subject": document(said.subject), **now_known}


def announce_replacement(run: Mapping[str, object], notice_services: NoticeServices) -> dict[str, object]:
    """Step AnnounceReplacement: say which nodes are replaced and why, before that; keep the verdicts."""
    pool, admit = pool_of(run, notice_services.lab), result(run, "Admit")
    lease = _lease(pool, admit, notice_services)
    if lease is None or not lease.in_force(notice_services.now()):
        return {"announced": False, "kind": None}
    run = _with_rows(pool, run, notice_services)
    _keep_verdicts(lease, result(run, "Validate"), notice_services)
    _write_down(pool, run, notice_services)
    said = announcement_opening.of_replacing(pool, result(run, "Validate"))
    return _say(pool, said, lease.id, notice_services)


def _diagnosis(run: Mapping[str, object]) -> Mapping[str, object]:
    """The findings since the last notice. Earlier ones are told already, and may be over."""
    found = result(run, "Diagnose")
    told = result(run, "Announce").get("diagnosed")
    return {} if found.get("at") is None or found["at"] == told else found


def _strings(listed: object) -> set[str]:
    return {str(each) for each in listed} if isinstance(listed, list) else set()


def announce_change(run: Mapping[str, object], notice_services: NoticeServices) -> dict[str, object]:
    """Step AnnounceChange: say what an experiment will break, and until when."""
    from lamplighter.application.notices import experiments as notices_experiments  # noqa: PLC0415 -- seldom

    said = notices_experiments.of_change(run, notice_services)
    if said is None:
        return {"announced": False, "kind": None}
    return _say(pool_of(run, notice_services.lab), said, None, notice_services)


def _of_experiment(run: Mapping[str, object], notice_services: NoticeServices) -> Announcement | None:
    from lamplighter.application.notices import experiments as notices_experiments  # noqa: PLC0415 -- seldom

    return notices_experiments.of_report(run, notice_services)


def warn(run: Mapping[str, object], notice_services: NoticeServices) -> dict[str, object]:
    """Step Warn: say that a lease ends soon; nothing when its end moved or it is over."""
    pool, command = pool_of(run, notice_services.lab), command_of(run)
    lease = notice_services.ledger.lease(pool, command.lease) if command.lease else None
    if lease is None or not lease.in_force(notice_services.now()) or lease.closes != command.closes:
        return {"announced": False, "kind": None}
    said = announcement.of_warning(
        lease,
        notice_services.now(),
        furthest=_furthest(lease, notice_services),
        at_stake=from_odd_document(AtStake, _at_stake(run, notice_services)),
        word=notice_services.lab.slack.command if notice_services.lab.slack else None,
    )
    return _say(pool, said, lease.id, notice_services)


def tell(run: Mapping[str, object], _voice: NoticeServices) -> dict[str, object]:
    """Step Tell: send again what a topic did not take. It fails until the topic takes it, then it is a dead letter."""
    unsent = run.get("letter")
    if not isinstance(unsent, Mapping):
        raise BadInput(reason("notice.nothing-to-send"))
    again = notification.Notification.from_json(unsent)
    Notices(str(run.get("topic"))).send(again)
    return {"announced": True, "kind": again.kind}


def announce_shortage(run: Mapping[str, object], notice_services: NoticeServices) -> dict[str, object]:
    """Step AnnounceShortage: say once that AWS refuses nodes of an opening, while its other nodes come."""
    pool = pool_of(run, notice_services.lab)
    lease = notice_services.ledger.lease(pool, str(run.get("lease")))
    if lease is None or not lease.in_force(notice_services.now()):
        return {"announced": False, "kind": None}
    awaited = result(run, "AwaitNodes")
    into = notice_services.lab.pools[pool] if awaited.get("falls_back") else None
    said = announcement_opening.of_shortage(pool, lease, awaited, into)
    return _say_once(pool, said, lease.id, notice_services)


def _furthest(lease: Lease, notice_services: NoticeServices) -> datetime | None:
    """How far the lease may be extended; None where no price is known."""

    lab, ledger = notice_services.lab, notice_services.ledger
    try:
        reservation = ledger.reservation(lease.pool, lab.pools[lease.pool].reservation)
        terms = terms_of(environment.as_kept(lab, ledger), lease.pool, reservation=reservation)
    except BadInput:
        return None
    return extension.furthest(lease, terms)


def _at_stake(run: Mapping[str, object], notice_services: NoticeServices) -> Mapping[str, object]:
    """What ends with the lease; empty where the cluster does not answer, since the warning is sent in any case."""
    try:
        return notice_services.ask_cluster({"step": "AtStake", "run": run})
    except LamplighterError as error:
        logger().warning("the warning does not say whose work is at stake: %s", error)
        return {}


def _opening(pool: str, run: Mapping[str, object], notice_services: NoticeServices) -> Announcement | None:
    admit = result(run, "Admit")
    lease = _lease(pool, admit, notice_services)
    opened = admit.get("outcome") == "granted" and not admit.get("later")
    if opened and (lease is None or not lease.in_force(notice_services.now())):
        return None
    steps = ("Admit", "ApplyGpuSettings", "AwaitNodes", "FallBack", "AwaitGpus", "Validate", "Replace")
    results = {step: result(run, step) for step in steps} | {"Diagnose": _diagnosis(run)}
    said = announcement_opening.of_opening(pool, lease, results)
    if opened and lease is not None:
        _keep_verdicts(lease, result(run, "Validate"), notice_services)
        notice_services.ledger.keep_settings(lease, kept(results["ApplyGpuSettings"], results["AwaitGpus"]))
        if announcement_opening.is_proven(result(run, "Validate")):
            notice_services.ledger.advance(pool, lease.id, LeaseState.OPEN, notice_services.now())
        notice_services.ledger.set_phase(pool, Phase.OPEN)
    return said


def _with_rows(pool: str, run: Mapping[str, object], notice_services: NoticeServices) -> Mapping[str, object]:
    """The run with the verdict on each node from the ledger, since the workflow's state has no room for them."""
    validate, lease = result(run, "Validate"), result(run, "Admit").get("lease")
    # A run of an earlier release carries its rows.
    if "at" not in validate or "verdicts" in validate:
        return run
    whose = str(lease["id"]) if isinstance(lease, Mapping) else pool
    rows = notice_services.ledger.rows(pool, whose, instant.read(str(validate["at"])))
    results = run.get("results")
    before = results if isinstance(results, Mapping) else {}
    return {**run, "results": {**before, "Validate": {**validate, "verdicts": rows}}}


def _keep_verdicts(lease: Lease, validate: Mapping[str, object], notice_services: NoticeServices) -> None:
    """Keep the verdicts of this ladder, for the lease and for the history of the pool and its nodes."""

    rows = validate.get("verdicts")
    if not isinstance(rows, list) or not rows or "at" not in validate:
        return
    at = instant.read(str(validate["at"]))
    if "counts" not in validate:
        # An earlier release did not keep them before.
        notice_services.ledger.keep_rows(lease.pool, lease.id, at, rows)
    notice_services.ledger.keep_verdicts(lease, at)
    kept = environment.as_kept(notice_services.lab, notice_services.ledger)
    # A pool may have several types; its nodes usually are of one.
    types = [str(each) for each in judged] if isinstance(judged := validate.get("types"), list) else []
    proven = announcement_opening.is_proven(validate)
    ready = int((at - lease.opens).total_seconds()) if lease.ready is None and proven else None
    if ready is not None:
        progress = notice_services.ledger.progress(lease.pool, lease.id)
        metrics.ready(progress, lease.opens, notice_services.lab.name, pool=lease.pool, lease=lease.id)
    notice_services.ledger.keep_proof(
        GpuProof(
            at=at,
            pool=lease.pool,
            lease=lease.id,
            instance_type=types[0] if len(types) == 1 else kept.pools[lease.pool].instance_type,
            verdict=str(validate.get("verdict")),
            rows=tuple(row for row in rows if isinstance(row, Mapping)),
            seconds_to_ready=ready,
        )
    )


def _write_down(pool: str, run: Mapping[str, object], notice_services: NoticeServices) -> None:
    """Write the findings of the steps before into the audit trail."""
    lease = _lease(pool, result(run, "Admit"), notice_services)
    if lease is not None:
        results = {step: result(run, step) for step in ("ApplyGpuSettings", "AwaitGpus", "Validate")}
        results["Diagnose"] = _diagnosis(run)
        notice_services.ledger.append_audits(trail.of_opening(lease, results, notice_services.now()))


def _closing(pool: str, command: Command, notice_services: NoticeServices) -> Announcement | None:
    from lamplighter.application.notices import unfilled  # noqa: PLC0415 -- most runs of the function close nothing

    opened = notice_services.ledger.command(pool, command.opened_by) if command.opened_by else None
    leases = notice_services.ledger.leases(pool)
    decided = closing.decide(command, opened.granted if opened else None, leases, notice_services.now())
    if decided.over:
        return None
    said = unfilled.letter(decided.leases, decided.reason, notice_services)
    return said or announcement.of_closing(pool, decided.leases, decided.reason)


def _lease(pool: str, found: Mapping[str, object], notice_services: NoticeServices) -> Lease | None:
    """The lease that an earlier step's result names, as the ledger has it now."""
    lease = found.get("lease")
    return notice_services.ledger.lease(pool, str(lease["id"])) if isinstance(lease, Mapping) else None


def _say(
    pool: str, said: Announcement, lease: str | None, notice_services: NoticeServices
) -> dict[str, object]:
    sent = send(pool, said, notice_services)
    notice_services.ledger.append_audit(entry_of(pool, said, lease, notice_services, sent=sent))
    return {"announced": sent == "yes", "kind": said.kind}


def _say_once(
    pool: str, said: Announcement, lease: str | None, notice_services: NoticeServices
) -> dict[str, object]:
    """The same, once for a lease, however many runs come to it."""
    return say_once(pool, said, lease, notice_services, f"{said.kind}-{lease}", free=said.free)
