"""What the lab tells people when a pool opens, or does not: what came of it, and what is missing.

Chooses among the catalogue's sentences. announcement.py has every other notice of a run.
"""

from collections.abc import Mapping, Sequence

from lamplighter.domain.audit import findings
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices.announcement import Announcement, Result
from lamplighter.domain.notices.phrases import decision_sentence
from lamplighter.lab.notice_kinds import SHORT
from lamplighter.lab.pools import Pool
from lamplighter.reasons.document import read, read_line
from lamplighter.reasons.fields import from_odd_document
from lamplighter.reasons.reason import Reason, Said, Sentences, paragraph, reason
from lamplighter.values import instant

MOST_TROUBLES = 10
"""So many troubles of nodes a notice names: SNS takes 256 KB, and nobody reads that much."""


def of_opening(pool: str, lease: Lease | None, results: Mapping[str, Result]) -> Announcement:
    """The outcome of an open command."""
    admit = results.get("Admit", {})
    why = read(admit.get("reason"))
    if admit.get("outcome") == "already-open":
        return Announcement(
            "already-open", reason("notice.already-open.subject", pool=pool), decision_sentence(why)
        )
    if admit.get("outcome") != "granted" or lease is None:
        text = paragraph(reason("words.reason", reason=why) if why else "", _earliest(admit))
        return Announcement("refused", reason("notice.refused.subject", pool=pool), text)
    if admit.get("later"):
        subject = reason("notice.planned.subject", pool=pool, at=lease.opens)
        return Announcement("planned", subject, decision_sentence(why))
    return _of_gpus(pool, lease, results)


def _of_gpus(pool: str, lease: Lease, results: Mapping[str, Result]) -> Announcement:
    ready = [node for node in _rows(results, "AwaitGpus", "nodes") if node.get("ready")]
    # Beside another lease the pool has the nodes of that lease as well.
    came = int(str(results.get("AwaitNodes", {}).get("wanted") or 0))
    with_pods = read_line(results.get("AwaitNodes", {}).get("with_pods"))
    wanted = came if with_pods else max(lease.nodes, came)
    shortage = results.get("AwaitNodes", {}).get("shortage")
    troubles = _troubles(results)
    remarks = (
        _seats(ready, results.get("ApplyGpuSettings", {})),
        _not_judged(results),
        _replaced(results),
        with_pods,
        reason("notice.open.moved", pool=lease.moved_from.pool) if lease.moved_from else "",
    )
    if with_pods and not wanted:
        subject = reason("notice.degraded.subject.no-node-yet", pool=pool, until=lease.closes)
        causes = findings.sentences(results.get("Diagnose", {}), None)
        return Announcement("degraded", subject, paragraph(with_pods, *troubles, *causes))
    if not troubles and len(ready) >= wanted:
        opened = reason("notice.open.text", owner=lease.owner, ready=len(ready), wanted=wanted)
        subject = reason("notice.open.subject", pool=pool, until=lease.closes)
        return Announcement("open", subject, paragraph(opened, *remarks))
    told_already = str(results["AwaitNodes"].get("cause")) if shortage else None
    troubles += [*remarks, *findings.sentences(results.get("Diagnose", {}), told_already)]
    # An earlier round may have asked other pools, when no node was there.
    fallback = results.get("FallBack", {}) if results.get("AwaitNodes", {}).get("falls_back") else {}
    if shortage:
        told = read(fallback.get("reason")) if fallback.get("step") in {"ask", "nothing"} else ""
        troubles += [told, reason("notice.degraded.tried-again")]
    validate = results.get("Validate", {})
    if validate.get("consequence") and validate.get("verdict") == "failed":
        troubles.append(read(validate["consequence"]))
    if validate.get("then") == "close":
        return Announcement("failed", reason("notice.failed.subject", pool=pool), paragraph(*troubles))
    if shortage and fallback.get("step") == "ask" and not ready:
        to = _text(fallback, "pool")
        subject = reason("notice.fallback.subject", pool=pool, to=to)
        return Announcement("degraded", subject, paragraph(*troubles), lease=lease.id, move=to)
    key = _WITHOUT_PROOF.get(str(validate.get("verdict")), "notice.degraded.subject")
    subject = reason(key, pool=pool, until=lease.closes, ready=len(ready), wanted=wanted)
    return Announcement(
        "degraded", subject, paragraph(*troubles), refusal=_refusal(results.get("AwaitNodes", {}))
    )


def of_shortage(pool: str, lease: Lease, awaited: Result, moves: Pool | None = None) -> Announcement:
    """Of an opening that goes on: AWS refuses nodes. `awaited` is what AwaitNodes found.

    `moves` is the pool whose lease will leave for its fallback if no node comes.
    """
    nexts = [reason("notice.short.next"), reason("notice.degraded.tried-again")]
    if moves is not None:
        key = "notice.short.asks" if moves.fallback_ask else "notice.short.moves"
        nexts = [reason(key, to=str(moves.fallback))]
    text = paragraph(read_line(awaited.get("shortage")), *nexts)
    subject = reason("notice.short.subject", pool=pool, lease=lease.called())
    return Announcement(SHORT, subject, text, refusal=_refusal(awaited))


def _refusal(awaited: Result) -> Mapping[str, str]:
    """Why nodes are missing, as values; empty where none is, or where an earlier release wrote the result."""
    found = awaited.get("refusal")
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, Mapping) else {}


_WITHOUT_PROOF = {
    "failed": "notice.degraded.subject.failed",
    "not-proven": "notice.degraded.subject.not-proven",
}
"""The subject by the verdict of the checks, where nobody may trust the GPUs."""


def _troubles(results: Mapping[str, Result]) -> list[Said]:
    """Whatever is not as the lab asks, a sentence each."""
    shortage, applied = results.get("AwaitNodes", {}).get("shortage"), results.get("ApplyGpuSettings", {})
    of_nodes = [
        reason("notice.degraded.node", node=_text(node, "name"), why=read(node.get("why")))
        for node in _rows(results, "AwaitGpus", "not_ready")
    ]
    of_nodes += [
        _of_check(verdict)
        for verdict in _rows(results, "Validate", "verdicts")
        if verdict.get("verdict") != "passed"
    ]
    more = len(of_nodes) - MOST_TROUBLES
    troubles: list[Said] = [read_line(shortage)] if shortage else []
    troubles += [*of_nodes[:MOST_TROUBLES], *([reason("finding.more", more=more)] if more > 0 else [])]
    if applied.get("state") == "differs":
        troubles += [
            reason(
                "notice.degraded.setting",
                path=_text(setting, "path"),
                cluster=_text(setting, "cluster"),
                lab=_text(setting, "lab"),
            )
            for setting in _rows(results, "ApplyGpuSettings", "differs")
        ]
    if why := applied.get("reason"):
        troubles.append(read(why))
    return troubles


def _of_check(verdict: Result) -> Reason:
    check, node, why = _text(verdict, "check"), _text(verdict, "node"), read(verdict.get("reason"))
    if verdict.get("verdict") == "failed":
        return reason("notice.degraded.check-failed", check=check, node=node, reason=why)
    return reason("notice.degraded.check-not-proven", check=check, node=node, reason=why)


def of_replacing(pool: str, validate: Result) -> Announcement:
    """Nodes are being replaced since their GPUs failed: which nodes, and which checks they failed."""
    rows = validate.get("replace")
    nodes = (
        tuple(_text(row, "name") for row in rows if isinstance(row, Mapping))
        if isinstance(rows, list)
        else ()
    )
    return Announcement(
        "replacing",
        reason("notice.replacing.subject", nodes=nodes, pool=pool),
        paragraph(reason("notice.replacing.text", because=read_line(validate.get("because")))),
    )


def _replaced(results: Mapping[str, Result]) -> Said:
    nodes = results.get("Replace", {}).get("replaced")
    if not isinstance(nodes, list) or not nodes:
        return ""
    return reason("notice.open.replaced", nodes=tuple(map(str, nodes)), count=len(nodes))


def _not_judged(results: Mapping[str, Result]) -> Said:
    """Checks that could not judge these nodes, and why: no trouble, but no proof either."""
    checks = tuple(
        reason("notice.open.not-judged.check", check=_text(row, "check"), why=read(row.get("why")))
        for row in _rows(results, "Validate", "not_judged")
    )
    return reason("notice.open.not-judged", checks=Sentences(checks)) if checks else ""


def _seats(ready: Sequence[Result], applied: Result) -> Said:
    """How many pods may hold GPUs at once, where that is not simply the number of GPUs."""
    offer = from_odd_document(Offer, applied.get("offer"))
    units = sum(int(str(node.get("gpus") or 0)) for node in ready)
    if offer.seats(1) <= 1 or not units:
        return ""
    offered: list[Reason] = []
    if offer.slices > 1:
        offered.append(reason("notice.open.sliced", slices=offer.slices, mig=str(offer.mig)))
    if offer.replicas > 1:
        offered.append(reason("notice.open.shared", replicas=offer.replicas, strategy=str(offer.strategy)))
    return reason("notice.open.seats", seats=units, offer=tuple(offered))


def is_proven(validate: Result) -> bool:
    """Whether GPUs were proven: all checks of at least one node passed, and none failed."""
    return validate.get("verdict") == "passed"


def _earliest(admit: Result) -> Said:
    earliest = admit.get("earliest")
    return reason("notice.refused.earliest", at=instant.read(str(earliest))) if earliest else ""


def _rows(results: Mapping[str, Result], step: str, key: str) -> list[Result]:
    rows = results.get(step, {}).get(key)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) else []


def _text(row: Result, key: str) -> str:
    return str(row.get(key))
