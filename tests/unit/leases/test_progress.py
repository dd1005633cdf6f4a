"""How far a warm-up has come: noted once for each change, never in anybody's way."""

from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.leases.progress import BootStage, Noted, Stage, lengths, share
from lamplighter.domain.pool.pool import SeenGpus
from tests.builders.leases import DAY, EIGHT, MINUTE, SECOND
from tests.ledger_table import kept


def writes(dynamodb: Any) -> list[str]:
    """Fills as updates are asked for."""
    seen: list[str] = []
    dynamodb.meta.events.register("before-call.dynamodb.UpdateItem", lambda **_: seen.append("update"))
    return seen


def test_a_stage_says_how_much_is_done_since_when_and_when_that_changed(ledger: Ledger) -> None:
    ledger.begin_stage("gpu", "cli-1", Stage.NODES, 2, EIGHT)
    ledger.note_progress("gpu", "cli-1", Stage.NODES, 1, 2, EIGHT + MINUTE)
    ledger.note_progress("gpu", "cli-1", Stage.NODES, 1, 2, EIGHT + 2 * MINUTE)

    assert ledger.progress("gpu", "cli-1") == {Stage.NODES: Noted(1, 2, EIGHT, EIGHT + MINUTE)}
    assert ledger.progress("gpu", "cli-2") == {}
    assert kept("PROGRESS#gpu", "cli-1")["ttl"] == int((EIGHT + MINUTE + 45 * DAY).timestamp())


def test_a_later_round_does_not_begin_a_stage_anew(ledger: Ledger) -> None:
    ledger.note_progress("gpu", "cli-1", Stage.NODES, 1, 2, EIGHT)
    ledger.begin_stage("gpu", "cli-1", Stage.NODES, 2, EIGHT + 5 * MINUTE)
    assert ledger.progress("gpu", "cli-1")[Stage.NODES] == Noted(1, 2, EIGHT, EIGHT)


def test_a_note_that_comes_late_takes_nothing_back(ledger: Ledger, dynamodb: Any) -> None:
    ledger.note_progress("gpu", "cli-1", Stage.CHECKS, 5, 6, EIGHT + MINUTE)
    Ledger("ledger", boto3.client("dynamodb")).note_progress("gpu", "cli-1", Stage.CHECKS, 4, 6, EIGHT)
    assert ledger.progress("gpu", "cli-1")[Stage.CHECKS].done == 5


def test_a_node_that_is_changed_for_a_fresh_one_is_counted_back(ledger: Ledger) -> None:
    ledger.note_progress("gpu", "cli-1", Stage.NODES, 2, 2, EIGHT)
    ledger.note_progress("gpu", "cli-1", Stage.NODES, 1, 2, EIGHT + MINUTE)
    assert ledger.progress("gpu", "cli-1")[Stage.NODES] == Noted(1, 2, EIGHT, EIGHT + MINUTE)


def test_a_stage_that_had_begun_already_is_still_counted_back_by_the_same_worker(ledger: Ledger) -> None:
    ledger.note_progress("gpu", "cli-1", Stage.NODES, 1, 2, EIGHT)
    ledger.begin_stage("gpu", "cli-1", Stage.NODES, 2, EIGHT + SECOND)
    ledger.note_progress("gpu", "cli-1", Stage.NODES, 0, 2, EIGHT + 2 * SECOND)
    assert ledger.progress("gpu", "cli-1")[Stage.NODES].done == 0


def test_a_boot_is_noted_as_kubernetes_has_it_however_often_it_is_read(dynamodb: Any) -> None:
    first = {BootStage.JOINED: Noted(1, 2, EIGHT, EIGHT + 40 * SECOND)}
    second = {
        BootStage.JOINED: Noted(2, 2, EIGHT, EIGHT + 50 * SECOND),
        BootStage.READY: Noted(0, 2, EIGHT + 40 * SECOND, EIGHT + 40 * SECOND),
    }
    asked = writes(dynamodb)

    for boot in (first, first, second, second, {}):
        Ledger("ledger", dynamodb).note_boot("gpu", "cli-1", boot, EIGHT + MINUTE)

    assert Ledger("ledger", dynamodb).progress("gpu", "cli-1") == second
    assert len(asked) == 2


def test_what_cannot_be_noted_fails_nothing(dynamodb: Any) -> None:
    missing = Ledger("no-such-table", dynamodb)
    missing.note_progress("gpu", "cli-1", Stage.NODES, 1, 2, EIGHT)
    missing.begin_stage("gpu", "cli-1", Stage.GPUS, 2, EIGHT)
    missing.note_boot("gpu", "cli-1", {BootStage.JOINED: Noted(0, 1, EIGHT, EIGHT)}, EIGHT)


@pytest.mark.parametrize(
    ("lease_nodes", "there", "wanted", "mine"),
    [
        (2, 1, 2, 1),
        (1, 1, 2, 0),  # the other lease's node was there before
        (1, 2, 2, 1),
        (2, 3, 2, 2),  # one that has yet to go is nobody's
        (2, 0, 0, 0),
        (1, 0, 2, 0),
        (1, 1, 3, 0),
    ],
)
def test_nodes_of_others_are_not_ones_own(lease_nodes: int, there: int, wanted: int, mine: int) -> None:
    assert share(lease_nodes, there, wanted) == mine


@pytest.mark.parametrize(("done", "whole"), [(1, False), (2, True), (3, True)])
def test_a_stage_is_whole_once_all_of_it_is_done(done: int, whole: bool) -> None:
    assert Noted(done, 2, EIGHT, EIGHT).whole is whole


def test_a_stage_that_waits_for_pods_is_not_whole() -> None:
    nothing_yet = Noted(0, 0, EIGHT, EIGHT)
    assert not nothing_yet.whole
    assert lengths({Stage.NODES: nothing_yet}) == {}


def test_gpus_seen_are_written_again_when_they_changed_or_aged(ledger: Ledger, dynamodb: Any) -> None:
    asked = writes(dynamodb)
    first = SeenGpus(1, 2, EIGHT)
    ledger.note_gpus("gpu", first, None)
    ledger.note_gpus("gpu", SeenGpus(1, 2, EIGHT + SECOND), first)
    assert (ledger.pool("gpu").seen_gpus, len(asked)) == (first, 1)

    ledger.note_gpus("gpu", SeenGpus(2, 2, EIGHT + SECOND), first)
    ledger.note_gpus("gpu", SeenGpus(0, 2, EIGHT - MINUTE), first)  # of a slower sweep

    assert ledger.pool("gpu").seen_gpus == SeenGpus(2, 2, EIGHT + SECOND)
