"""The imitation of Auto Mode beside the recording of the real Karpenter: the same stages, in the same order."""

import pytest

from local.auto_mode.definitions import CLAIMS, POOLS
from tests.karpenter_recording.recording import Moment, lives, moments
from tests.karpenter_recording.watching import Watch
from tests.local.cluster.auto_mode.conftest import POOL
from tests.local.cluster.lab import await_true, pass_time


@pytest.fixture
def watch(auto):
    watch = Watch(auto.lab.kubernetes)
    with watch.watching():
        watch.begin()
        yield watch


def seen(watch) -> tuple[Moment, ...]:
    return tuple(Moment(**each) for each in watch.moments)


def count(watch, what: str) -> int:
    return sum(1 for moment in seen(watch) if moment.what == what)


def test_a_claim_comes_and_goes_through_the_recorded_stages(auto, watch):
    auto.opened(1)
    auto.scale(0)
    auto.await_zero()
    await_true(lambda: count(watch, "gone"), "its end was seen")

    [life] = lives(seen(watch)).values()
    [came] = lives(moments("grow")).values()
    went = next(iter(lives(moments("close")).values()))
    assert life == came + went


def test_one_very_node_goes_and_no_other_comes(auto, watch):
    auto.opened(2)
    watch.begin()
    (oldest, _) = sorted(auto.claims(), key=lambda one: one["metadata"]["creationTimestamp"])
    auto.lab.kubernetes.merge(f"{POOLS}/{POOL}", {"spec": {"limits": {"nodes": "1"}}})
    auto.lab.kubernetes.delete(f"{CLAIMS}/{oldest['metadata']['name']}")
    auto.scale(1)
    await_true(lambda: count(watch, "gone"), "it is gone")
    auto.lab.kubernetes.merge(f"{POOLS}/{POOL}", {"spec": {"limits": {"nodes": "2"}}})
    pass_time(120)

    recorded = moments("shrink")
    assert list(lives(seen(watch)).values()) == list(lives(recorded).values())
    assert "created" not in [moment.what for moment in recorded]
    auto.scale(0)
    auto.await_zero()
