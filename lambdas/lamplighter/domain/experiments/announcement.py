"""The notices about an experiment: before the change what will not work, and afterwards the result."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.experiments.report import conclusion
from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices.announcement import Announcement, notice
from lamplighter.domain.notices.phrases import called, clock_and_date
from lamplighter.reasons.reason import draw


def of_change(
    run: ExperimentRun, others: Sequence[Lease], zone: ZoneInfo, texts: Texts = ENGLISH
) -> Announcement:
    """A fault is injected on purpose: until when, what else breaks, and for which leases."""
    until = clock_and_date(texts, zone)(run.ends)
    runs = (
        texts.say(
            "notice.experiment.text.because",
            by=run.by,
            name=run.name,
            because=draw(run.because, texts, clock_and_date(texts, zone)),
            until=until,
        )
        if run.because
        else texts.say("notice.experiment.text", by=run.by, name=run.name, until=until)
    )
    clock = clock_and_date(texts, zone)
    text = [runs, *(draw(each, texts, clock) for each in run.experiment.breaks)]
    if others:
        names = texts.joined(
            texts.say("lease.on-pool", lease=called(texts, lease), pool=lease.pool) for lease in others
        )
        text.append(texts.say("notice.experiment.felt", leases=names))
    return notice(
        "experiment",
        texts,
        lambda texts: texts.say("notice.experiment.subject", name=run.name, pool=run.pool),
        " ".join(text),
    )


def of_report(run: ExperimentRun, zone: ZoneInfo, texts: Texts = ENGLISH) -> Announcement:
    """The result of the experiment, and its restore."""
    told = draw(conclusion(run), texts, clock_and_date(texts, zone))
    return notice(
        "experiment-over",
        texts,
        lambda texts: texts.say("notice.experiment-over.subject", name=run.name, pool=run.pool),
        texts.say("notice.experiment-over.text", told=f"{told[:1].upper()}{told[1:]}", id=run.id),
    )
