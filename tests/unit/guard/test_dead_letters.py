"""What failed for good pages with the next sweep, and again as rarely as any incident that goes on."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import boto3
import pytest

from lamplighter.adapters.aws.dead_letters import DeadLetters
from lamplighter.application.guard.services import GuardServices
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.guard.dead_letters import incident
from lamplighter.errors import OutsideFailed
from tests.builders.leases import EIGHT
from tests.unit.guard.test_acts import sent, unheard
from tests.unit.lab_on_moto import LabOnMoto

HOUR = 60
A_DAY = 24 * HOUR


class Queue:
    """The queue of dead letters, and a sweep that counts it."""

    def __init__(self, lab: LabOnMoto) -> None:
        self._lab, self._sqs = lab, boto3.client("sqs")
        self._url = self._sqs.create_queue(QueueName="lab-dead-letters")["QueueUrl"]

    def takes(self) -> None:
        self._sqs.send_message(QueueUrl=self._url, MessageBody="a plan")

    def purge(self) -> None:
        self._sqs.purge_queue(QueueUrl=self._url)

    def read(self) -> None:
        self._sqs.receive_message(QueueUrl=self._url, VisibilityTimeout=12 * 60 * 60)

    def sweep(self, minutes: int, guard_services: GuardServices | None = None) -> list[str]:
        """The pages about it after a sweep so many minutes after eight."""
        self._lab.at(minutes)
        letters = DeadLetters(self._url)
        sweep_all(replace(guard_services or self._lab.guard_services, dead_letters=letters.count))
        return [page.splitlines()[0] for page in sent("pages") if "dead letters" in page]


@pytest.fixture
def queue(lab: LabOnMoto) -> Queue:
    return Queue(lab)


def test_a_dead_letter_pages_once(queue: Queue) -> None:
    assert queue.sweep(0) == []
    queue.takes()
    for minutes in (5, 10, 15, 20, 25):
        (first,) = queue.sweep(minutes)
    assert first.startswith("lab: 1 message in the queue of dead letters")


def pages(counts: Mapping[int, int]) -> list[int]:
    """The minutes at which sweeps page that find so many messages at these minutes."""
    before, paged = None, []
    for minutes, count in counts.items():
        before = incident(before, count, EIGHT + timedelta(minutes=minutes))
        if before.pages_again(count):
            paged.append(minutes)
            before = before.paged(count)
    return paged


def test_the_same_ones_page_every_day_and_one_more_in_each_sweep_ever_more_rarely() -> None:
    sweeps = range(0, 3 * A_DAY, 5)

    assert pages(dict.fromkeys(sweeps, 1)) == [0, A_DAY, 2 * A_DAY]
    assert pages({minutes: minutes + 1 for minutes in sweeps}) == [
        0, 15, HOUR, 4 * HOUR, A_DAY + 4 * HOUR, 2 * A_DAY + 4 * HOUR,
    ]  # fmt: skip


def test_what_comes_after_some_were_taken_out_is_news() -> None:
    assert pages({0: 5, 5: 2, 10: 2, 15: 2, 20: 3, 25: 3, 30: 3}) == [0, 20]


def test_after_a_purge_as_many_as_before_are_news(queue: Queue) -> None:
    queue.takes()
    assert len(queue.sweep(0)) == 1
    queue.purge()
    for minutes in (5, 10):
        assert len(queue.sweep(minutes)) == 1
    queue.takes()

    assert len(queue.sweep(15)) == 2


def test_one_that_somebody_is_reading_is_still_there(queue: Queue) -> None:
    queue.takes()
    queue.read()

    assert len(queue.sweep(0)) == 1


def test_of_two_sweeps_at_once_one_pages(lab: LabOnMoto) -> None:
    ledger, first = lab.capacity.ledger, incident(None, 1, EIGHT)
    later = incident(first, 1, EIGHT + timedelta(minutes=5))

    assert ledger.note_dead_letters(first, None)
    assert not ledger.note_dead_letters(first, None)
    assert ledger.note_dead_letters(later, first)
    assert not ledger.note_dead_letters(later, first)


def test_a_page_that_nobody_took_comes_with_the_next_sweep(lab: LabOnMoto, queue: Queue) -> None:
    queue.takes()
    for minutes in range(0, 4 * HOUR, 5):
        assert queue.sweep(minutes, unheard(lab)) == []

    assert len(queue.sweep(4 * HOUR)) == len(queue.sweep(4 * HOUR + 5)) == 1


def test_a_sweep_that_cannot_count_them_has_no_heartbeat(lab: LabOnMoto) -> None:
    beats: list[int] = []
    lab.capacity.ledger.note_planned(EIGHT)
    gone = DeadLetters("https://sqs.ap-northeast-2.amazonaws.com/123456789012/gone")
    services = replace(lab.guard_services, heartbeat=lambda: beats.append(1), dead_letters=gone.count)

    with pytest.raises(OutsideFailed, match="dead letters"):
        sweep_all(services)
    assert beats == []
