"""What the lab says aloud about a run, in words a student understands; or nothing, when nothing is new.

Chooses among the catalogue's sentences; sending them is the notices adapter's. Times are by the lab's own clock.
Reasons and findings inside are English sentences in every language: they are kept that way in the ledger.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.leases.at_stake import AtStake
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices.phrases import begun, called, clock, clock_and_date, detail, reason
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Reason, Said, draw
from lamplighter.values import instant

Result = Mapping[str, object]
NOTHING = AtStake()


@dataclass(frozen=True, slots=True)
class Announcement:
    """One notice: its kind (one of kinds.py), a subject and a text in the lab's language."""

    kind: str
    subject: str
    text: str
    plain: str
    """The subject in English, which every way of telling can carry."""

    @property
    def message(self) -> str:
        """All of it for whoever sees the plain subject only: in another language the text begins with its own."""
        return self.text if self.subject == self.plain else f"{self.subject}\n\n{self.text}"

    def told_by(self, clock: Callable[[datetime], str]) -> "Announcement":
        """The same, also where a reason in it was kept by another clock."""
        told = {name: instant.told_by(clock, getattr(self, name)) for name in ("subject", "text", "plain")}
        return replace(self, **told)


def notice(kind: str, texts: Texts, subject: Callable[[Texts], str], text: str) -> Announcement:
    """One notice in a language; its subject is also written in English."""
    said = subject(texts)
    return Announcement(kind, said, text, said if texts == ENGLISH else subject(ENGLISH))


def of_closing(
    pool: str, leases: Sequence[Lease], why: Said, zone: ZoneInfo, texts: Texts = ENGLISH
) -> Announcement:
    """That a close begins, and why."""
    names = texts.joined(called(texts, lease) for lease in leases)
    told = draw(why, texts, clock_and_date(texts, zone))
    # At its end the reason names the lease already.
    named = isinstance(why, Reason) and why.values.get("lease") in [lease.called() for lease in leases]
    said = (
        begun(texts, texts.say("notice.closing.text", lease=names, reason=told))
        if names and not named
        else reason(texts, told)
    )
    return notice("closing", texts, lambda texts: texts.say("notice.closing.subject", pool=pool), said)


def of_extending(
    pool: str, lease: Lease | None, extend: Result, zone: ZoneInfo, texts: Texts = ENGLISH
) -> Announcement:
    """What came of an extend command."""
    why, outcome = str(read(extend.get("reason"))), extend.get("outcome")
    if lease is None or outcome not in {"shortened", "extended"}:
        return notice(
            "refused",
            texts,
            lambda texts: texts.say("notice.not-extended.subject", pool=pool),
            reason(texts, why),
        )
    key = "notice.shortened.subject" if outcome == "shortened" else "notice.extended.subject"
    return notice(
        str(outcome),
        texts,
        lambda texts: texts.say(key, pool=pool, at=clock(texts, zone)(lease.closes)),
        detail(texts, why),
    )


def of_change(verb: Verb, change: Result, texts: Texts = ENGLISH) -> Announcement | None:
    """What a person changed without a deploy, and who; nothing where nothing changed: the asker has the answer."""
    outcome = str(change.get("outcome", "refused"))
    if outcome in {"refused", "unchanged"}:
        return None
    key = _CHANGED[verb]
    return notice(
        verb.value, texts, lambda texts: texts.say(key), detail(texts, str(read(change.get("reason"))))
    )


_CHANGED = {
    Verb.SKIP: "notice.skip.subject",
    Verb.UNSKIP: "notice.unskip.subject",
    Verb.PAUSE: "notice.pause.subject",
    Verb.RESUME: "notice.resume.subject",
    Verb.ARM: "notice.arm.subject",
    Verb.WATCH: "notice.watch.subject",
    Verb.ACK: "notice.ack.subject",
    Verb.KEEP: "notice.keep.subject",
}


def of_warning(
    lease: Lease,
    now: datetime,
    zone: ZoneInfo,
    *,
    furthest: datetime | None = None,
    at_stake: AtStake = NOTHING,
    word: str | None = None,
    texts: Texts = ENGLISH,
) -> Announcement:
    """That a lease ends soon, whose work goes with it, and what to do about it.

    `furthest` is the latest end that an extension may have, where it is known; `word` the slash command, where
    the lab has Slack.
    """
    minutes = max(1, round((lease.closes - now) / timedelta(minutes=1)))
    nodes = len(at_stake.nodes)

    def subject(texts: Texts) -> str:
        if not at_stake.partial:
            return texts.say("notice.warned.subject", pool=lease.pool, minutes=minutes)
        return texts.say(
            "notice.warned.subject.partly",
            nodes=nodes,
            all=nodes + at_stake.staying,
            pool=lease.pool,
            minutes=minutes,
        )

    at = clock(texts, zone)(lease.closes)
    ends = begun(texts, texts.say("notice.warned.ends", lease=called(texts, lease), at=at))
    advice = _advice(lease, zone, furthest, word, texts)
    return notice("warned", texts, subject, together(ends, at_stake.said(texts), advice))


def _advice(lease: Lease, zone: ZoneInfo, furthest: datetime | None, word: str | None, texts: Texts) -> str:
    """What somebody can do who wants to go on."""
    if furthest is not None and furthest <= lease.closes:
        return texts.say("notice.warned.advice.last")
    how = (
        texts.say("notice.warned.how.slack", pool=lease.pool, word=f"/{word}")
        if word
        else texts.say("notice.warned.how", pool=lease.pool)
    )
    if furthest is None:
        return texts.say("notice.warned.advice", how=how)
    return texts.say("notice.warned.advice.bounded", how=how, at=clock(texts, zone)(furthest))


def together(*sentences: str) -> str:
    """Sentences one after the other, without those that nobody says."""
    return " ".join(filter(None, sentences))
