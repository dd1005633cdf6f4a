"""What the lab says aloud when a pool opens, or does not: with what came of it, and what keeps the rest away.

Chooses among the catalogue's sentences; every other notice is announcement.py's.
"""

from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices import findings as findings_told
from lamplighter.domain.notices.announcement import Announcement, Result, notice, together
from lamplighter.domain.notices.phrases import clock, clock_and_date, detail, reason, sentence
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import draw
from lamplighter.values import instant
from lamplighter.values.clock_time import clock_time

SAID = 10
"""So many troubles of nodes a notice tells; SNS takes 256 KB, and nobody reads as much."""


def of_opening(
    pool: str,
    lease: Lease | None,
    results: Mapping[str, Result],
    zone: ZoneInfo,
    texts: Texts = ENGLISH,
) -> Announcement:
    """What came of an open command."""
    admit = results.get("Admit", {})
    why = str(read(admit.get("reason")))
    if admit.get("outcome") == "already-open":
        return notice(
            "already-open",
            texts,
            lambda texts: texts.say("notice.already-open.subject", pool=pool),
            detail(texts, why),
        )
    if admit.get("outcome") != "granted" or lease is None:
        return notice(
            "refused",
            texts,
            lambda texts: texts.say("notice.refused.subject", pool=pool),
            together(reason(texts, why), _earliest(admit, zone, texts)),
        )
    if admit.get("later"):
        opens = lease.opens
        return notice(
            "planned",
            texts,
            lambda texts: texts.say(
                "notice.planned.subject", pool=pool, at=clock_and_date(texts, zone)(opens)
            ),
            detail(texts, why),
        )
    return _of_gpus(pool, lease, results, zone, texts)


def _of_gpus(
    pool: str, lease: Lease, results: Mapping[str, Result], zone: ZoneInfo, texts: Texts
) -> Announcement:
    ready = [node for node in _rows(results, "AwaitGpus", "nodes") if node.get("ready")]
    # Beside another lease the pool has that one's nodes as well.
    wanted = max(lease.nodes, int(str(results.get("AwaitNodes", {}).get("wanted") or 0)))
    counts = {"ready": len(ready), "wanted": wanted}
    shortage = results.get("AwaitNodes", {}).get("shortage")
    troubles = _troubles(results, zone, texts)
    remarks = together(
        _seats(ready, results.get("ApplyGpuSettings", {}), texts),
        _not_judged(results, zone, texts),
        _replaced(results, texts),
    )
    if not troubles and len(ready) >= wanted:
        return notice(
            "open",
            texts,
            lambda texts: texts.say("notice.open.subject", pool=pool, until=clock(texts, zone)(lease.closes)),
            together(texts.say("notice.open.text", owner=lease.owner, **counts), remarks),
        )
    troubles.append(remarks)
    troubles += findings_told.sentences(
        results.get("Diagnose", {}), str(results["AwaitNodes"].get("cause")) if shortage else None, texts
    )
    if shortage:
        troubles.append(texts.say("notice.degraded.tried-again"))
    validate = results.get("Validate", {})
    if validate.get("consequence") and validate.get("verdict") == "failed":
        troubles.append(sentence(draw(read(validate["consequence"]), texts, clock(texts, zone))))
    if validate.get("then") == "close":
        return notice(
            "failed",
            texts,
            lambda texts: texts.say("notice.failed.subject", pool=pool),
            together(*troubles),
        )
    subject = _LOUDLY.get(str(validate.get("verdict")), "notice.degraded.subject")
    return notice(
        "degraded",
        texts,
        lambda texts: texts.say(subject, pool=pool, until=clock(texts, zone)(lease.closes), **counts),
        together(*troubles),
    )


_LOUDLY = {
    "failed": "notice.degraded.subject.failed",
    "not-proven": "notice.degraded.subject.not-proven",
}
"""What the checks said, where nobody may take the pool for proven."""


def _troubles(results: Mapping[str, Result], zone: ZoneInfo, texts: Texts) -> list[str]:
    """Whatever is not as the lab wants it, a sentence each."""
    shortage, applied = results.get("AwaitNodes", {}).get("shortage"), results.get("ApplyGpuSettings", {})
    troubles = [sentence(str(shortage))] if shortage else []
    of_nodes = [
        texts.say("notice.degraded.node", node=node.get("name"), why=_drawn(node.get("why"), zone, texts))
        for node in _rows(results, "AwaitGpus", "not_ready")
    ]
    of_nodes += [
        texts.say(
            "notice.degraded.check-failed"
            if verdict.get("verdict") == "failed"
            else "notice.degraded.check-not-proven",
            check=verdict.get("check"),
            node=verdict.get("node"),
            reason=_drawn(verdict.get("reason"), zone, texts),
        )
        for verdict in _rows(results, "Validate", "verdicts")
        if verdict.get("verdict") != "passed"
    ]
    more = len(of_nodes) - SAID
    troubles += [*of_nodes[:SAID], *([texts.say("finding.more", more=more)] if more > 0 else [])]
    if applied.get("state") == "differs":
        troubles += [
            texts.say(
                "notice.degraded.setting",
                path=each.get("path"),
                cluster=each.get("cluster"),
                lab=each.get("lab"),
            )
            for each in _rows(results, "ApplyGpuSettings", "differs")
        ]
    if why := _drawn(applied.get("reason"), zone, texts):
        troubles.append(sentence(why))
    return troubles


def _drawn(kept: object, zone: ZoneInfo, texts: Texts) -> str:
    return draw(read(kept), texts, clock(texts, zone))


def of_replacing(pool: str, validate: Result, texts: Texts = ENGLISH) -> Announcement:
    """That nodes go since their GPUs failed, and what they failed."""
    because, nodes = draw(read(validate.get("because")), texts, clock_time), validate.get("replace")
    named = (
        [str(row.get("name")) for row in nodes if isinstance(row, Mapping)] if isinstance(nodes, list) else []
    )
    return notice(
        "replacing",
        texts,
        lambda texts: texts.say("notice.replacing.subject", nodes=texts.joined(named), pool=pool),
        texts.say("notice.replacing.text", because=because),
    )


def _replaced(results: Mapping[str, Result], texts: Texts) -> str:
    named = results.get("Replace", {}).get("replaced")
    if not isinstance(named, list) or not named:
        return ""
    return texts.say("notice.open.replaced", nodes=texts.joined(map(str, named)), count=len(named))


def _not_judged(results: Mapping[str, Result], zone: ZoneInfo, texts: Texts) -> str:
    """Checks of the ladder that say nothing here, and why: no trouble, and not to be taken for a proof either."""
    said = [
        f"{row.get('check')} ({_drawn(row.get('why'), zone, texts)})"
        for row in _rows(results, "Validate", "not_judged")
    ]
    return texts.say("notice.open.not-judged", checks="; ".join(said)) if said else ""


def _seats(ready: Sequence[Result], applied: Result, texts: Texts) -> str:
    """How many may work at once, where that is not simply the number of GPUs."""
    found = applied.get("offer")
    shall = Offer.from_json(found) if isinstance(found, Mapping) else Offer()
    units = sum(int(str(node.get("gpus") or 0)) for node in ready)
    if shall.seats(1) <= 1 or not units:
        return ""
    offered = []
    if shall.slices > 1:
        offered.append(texts.say("notice.open.sliced", slices=shall.slices, mig=shall.mig))
    if shall.replicas > 1:
        offered.append(texts.say("notice.open.shared", replicas=shall.replicas, strategy=shall.strategy))
    return texts.say("notice.open.seats", seats=units, offer=texts.joined(offered))


def is_proven(validate: Result) -> bool:
    """Whether GPUs were proven: all checks of at least one node passed, and none failed."""
    return validate.get("verdict") == "passed"


def _earliest(admit: Result, zone: ZoneInfo, texts: Texts) -> str:
    earliest = admit.get("earliest")
    at = clock(texts, zone)(instant.read(str(earliest))) if earliest else ""
    return texts.say("notice.refused.earliest", at=at) if at else ""


def _rows(results: Mapping[str, Result], step: str, key: str) -> list[Result]:
    rows = results.get(step, {}).get(key)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) else []
