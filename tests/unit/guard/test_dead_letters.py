"""What failed for good pages with the next sweep, and again for each further message and each further day."""

from dataclasses import replace

import boto3
import pytest

from lamplighter.adapters.aws.dead_letters import DeadLetters
from lamplighter.application.guard.services import GuardServices
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.errors import OutsideFailed
from tests.builders.leases import EIGHT
from tests.unit.guard.test_acts import sent, unheard
from tests.unit.lab_on_moto import LabOnMoto

A_DAY = 24 * 60


class Queue:
    """The queue of dead letters, and a sweep that counts it."""

    def __init__(self, lab: LabOnMoto) -> None:
        self._lab, self._sqs = lab, boto3.client("sqs")
        self._url = self._sqs.create_queue(QueueName="lab-dead-letters")["QueueUrl"]

    def takes(self) -> None:
        self._sqs.send_message(QueueUrl=self._url, MessageBody="a plan")

    def purge(self) -> None:
        self._sqs.purge_queue(QueueUrl=self._url)

    def sweep(self, minutes: int, guard_services: GuardServices | None = None) -> list[str]:
        """The pages about it after a sweep so many minutes after eight."""
        self._lab.at(minutes)
        letters = DeadLetters(self._url)
        sweep_all(replace(guard_services or self._lab.guard_services, dead_letters=letters.count))
        return [page.splitlines()[0] for page in sent("pages") if "dead letters" in page]


@pytest.fixture
def queue(lab: LabOnMoto) -> Queue:
    return Queue(lab)


def test_a_dead_letter_pages_once_and_a_second_one_again(queue: Queue) -> None:
    assert queue.sweep(0) == []
    queue.takes()
    for minutes in (5, 10):
        (first,) = queue.sweep(minutes)
    assert first.startswith("lab: 1 message in the queue of dead letters")
    queue.takes()

    assert len(queue.sweep(15)) == 2


def test_it_pages_every_day_until_somebody_purges_the_queue(queue: Queue) -> None:
    queue.takes()
    assert len(queue.sweep(0)) == 1
    assert len(queue.sweep(A_DAY)) == 2
    queue.purge()

    assert len(queue.sweep(2 * A_DAY)) == 2


def test_a_page_that_nobody_took_comes_with_the_next_sweep(lab: LabOnMoto, queue: Queue) -> None:
    queue.takes()
    assert queue.sweep(0, unheard(lab)) == []

    assert len(queue.sweep(5)) == 1


def test_a_sweep_that_cannot_count_them_has_no_heartbeat(lab: LabOnMoto) -> None:
    beats: list[int] = []
    lab.capacity.ledger.note_planned(EIGHT)
    gone = DeadLetters("https://sqs.ap-northeast-2.amazonaws.com/123456789012/gone")
    services = replace(lab.guard_services, heartbeat=lambda: beats.append(1), dead_letters=gone.count)

    with pytest.raises(OutsideFailed, match="dead letters"):
        sweep_all(services)
    assert beats == []
