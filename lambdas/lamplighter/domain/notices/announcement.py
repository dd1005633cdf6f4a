"""What the lab tells people about a run, as codes and values; None where nothing is new.

An announcement is drawn where it is sent or shown: in the lab's language, by the lab's clock. Opening a pool has its
own file, opening.py. Sending is the notices adapter's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.leases.at_stake import AtStake
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices.phrases import decision_sentence, reason_sentence
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Clock, Reason, Said, draw, paragraph, reason

Result = Mapping[str, object]
NOTHING = AtStake()


@dataclass(frozen=True, slots=True)
class DrawnAnnouncement:
    """One notice in a language."""

    kind: str
    subject: str
    text: str
    plain: str
    """The subject in English, which every channel can carry."""

    @property
    def message(self) -> str:
        """The text; where the subject is not English, the text begins with the subject."""
        return self.text if self.subject == self.plain else f"{self.subject}\n\n{self.text}"


@dataclass(frozen=True, slots=True)
class Announcement:
    """One notice: its kind (one of notice_kinds.py), its subject, and its text."""

    kind: str
    subject: Said
    text: Said
    plain: str = ""
    """The subject in English, where `subject` is drawn already."""
    free: str = ""
    """Free times that Slack offers below it, as free_times.py writes them."""
    move: str = ""
    """The pool to which a button in Slack moves the lease."""
    lease: str | None = None
    """The lease that it is about, where the command of the run need not name it."""
    refusal: Mapping[str, str] = field(default_factory=dict)
    """Of a shortage: its cause, and what AWS names as available, as Shortage.details writes them."""

    def drawn(self, texts: Texts, clock: Clock) -> DrawnAnnouncement:
        """The notice in a language, with its instants by a clock."""
        subject, text = draw(self.subject, texts, clock), draw(self.text, texts, clock)
        plain = self.plain or draw(self.subject, ENGLISH, clock)
        return DrawnAnnouncement(self.kind, subject, text, draw(plain, ENGLISH, clock))


def notice(kind: str, texts: Texts, subject: Callable[[Texts], str], text: Said) -> Announcement:
    """One notice with a drawn subject, which is also drawn in English."""
    said = subject(texts)
    return Announcement(kind, said, text, said if texts == ENGLISH else subject(ENGLISH))


def of_closing(pool: str, leases: Sequence[Lease], why: Said) -> Announcement:
    """A close begins: whose leases end, and why."""
    names = tuple(lease.called() for lease in leases)
    # The reason of a lease that reached its end names the lease itself.
    named = isinstance(why, Reason) and why.values.get("lease") in names
    text = (
        paragraph(reason("notice.closing.text", lease=names, reason=why))
        if names and not named
        else reason_sentence(why)
    )
    return Announcement("closing", reason("notice.closing.subject", pool=pool), text)


def of_extending(pool: str, lease: Lease | None, extend: Result) -> Announcement:
    """The outcome of an extend command."""
    why, outcome = read(extend.get("reason")), extend.get("outcome")
    if lease is None or outcome not in {"shortened", "extended"}:
        return Announcement("refused", reason("notice.not-extended.subject", pool=pool), reason_sentence(why))
    subject = (
        reason("notice.shortened.subject", pool=pool, at=lease.closes)
        if outcome == "shortened"
        else reason("notice.extended.subject", pool=pool, at=lease.closes)
    )
    return Announcement(str(outcome), subject, decision_sentence(why))


def of_change(verb: Verb, change: Result) -> Announcement | None:
    """What a person changed without a deploy, and who; None where nothing changed: the asker has the answer."""
    if str(change.get("outcome", "refused")) in {"refused", "unchanged"}:
        return None
    return Announcement(verb.value, _CHANGED[verb], decision_sentence(read(change.get("reason"))))


_CHANGED = {
    Verb.SKIP: reason("notice.skip.subject"),
    Verb.UNSKIP: reason("notice.unskip.subject"),
    Verb.PAUSE: reason("notice.pause.subject"),
    Verb.RESUME: reason("notice.resume.subject"),
    Verb.ARM: reason("notice.arm.subject"),
    Verb.WATCH: reason("notice.watch.subject"),
    Verb.ACK: reason("notice.ack.subject"),
    Verb.KEEP: reason("notice.keep.subject"),
}


def of_warning(
    lease: Lease,
    now: datetime,
    *,
    furthest: datetime | None = None,
    at_stake: AtStake = NOTHING,
    word: str | None = None,
) -> Announcement:
    """A lease ends soon: whose work ends with it, and what people can do.

    `furthest` is the latest end that an extension may have, where it is known. `word` is the slash command of a lab
    that has Slack.
    """
    minutes = max(1, round((lease.closes - now) / timedelta(minutes=1)))
    nodes = len(at_stake.nodes)
    subject = (
        reason(
            "notice.warned.subject.partly",
            nodes=nodes,
            all=nodes + at_stake.staying,
            pool=lease.pool,
            minutes=minutes,
        )
        if at_stake.partial
        else reason("notice.warned.subject", pool=lease.pool, minutes=minutes)
    )
    text = paragraph(
        reason("notice.warned.ends", lease=lease.called(), at=lease.closes),
        at_stake.said(),
        _advice(lease, furthest, word),
    )
    return Announcement("warned", subject, text)


def _advice(lease: Lease, furthest: datetime | None, word: str | None) -> Reason:
    """What people can do who want to go on."""
    if furthest is not None and furthest <= lease.closes:
        return reason("notice.warned.advice.last")
    how = (
        reason("notice.warned.how.slack", pool=lease.pool, word=f"/{word}")
        if word
        else reason("notice.warned.how", pool=lease.pool)
    )
    if furthest is None:
        return reason("notice.warned.advice", how=how)
    return reason("notice.warned.advice.bounded", how=how, at=furthest)
