"""The stages of a warm-up: how long each usually takes, and those of NodeClaims, by their conditions."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lamplighter.domain.capacity.evidence import Claim
from lamplighter.domain.diagnosis.stages import ProvisioningStage as Normal
from lamplighter.domain.leases.claim_stages import CONDITIONS, claim_stages
from lamplighter.domain.leases.progress import (
    IN_ORDER,
    BootStage,
    ClaimStage,
    Noted,
    Progress,
    Stage,
    WarmUpStage,
    lengths,
)
from lamplighter.domain.leases.usual_times import NORMAL, Usual, UsualTimes, usual, usual_times
from tests.builders.leases import EIGHT, SECOND


def test_a_receipt_keeps_the_length_of_each_stage_that_was_done() -> None:
    progress: Progress = {
        Stage.NODES: Noted(2, 2, EIGHT, EIGHT + 90 * SECOND),
        BootStage.READY: Noted(2, 2, EIGHT, EIGHT + 10 * SECOND),
        Stage.GPUS: Noted(1, 2, EIGHT, EIGHT + 99 * SECOND),
    }

    assert lengths(progress) == {"nodes": 90, "node-ready": 10}


def test_the_middle_of_at_least_three_and_at_most_twenty_openings_is_usual() -> None:
    kept = [{"nodes": 90, "driver": 30}, None, {"nodes": 600}, {"nodes": 100, "driver": 40}, "odd", {}]
    assert usual_times(kept) == {Stage.NODES: Usual(100 * SECOND, measured=True)}
    kept = [*[{"nodes": 90}] * 20, *[{"nodes": 900}] * 30]
    assert usual_times(kept)[Stage.NODES].length == 90 * SECOND


def test_what_nobody_has_measured_has_its_normal_time() -> None:
    measured: UsualTimes = {Stage.CHECKS: Usual(70 * SECOND, measured=True)}
    assert usual(Stage.CHECKS, measured) == Usual(70 * SECOND, measured=True)
    assert usual(Stage.CHECKS, {}, 20 * SECOND) == Usual(20 * SECOND, measured=False)
    assert usual(BootStage.DRIVER, {}) == Usual(NORMAL[BootStage.DRIVER], measured=False)


def normal(stage: WarmUpStage) -> timedelta:
    """The length of a stage that nobody has measured."""
    return usual(stage, {}).length


def test_what_is_normal_of_a_boot_is_what_the_diagnosis_calls_normal() -> None:
    assert normal(BootStage.JOINED) == Normal.JOIN.normal
    assert normal(BootStage.READY) == Normal.READY.normal
    assert normal(BootStage.DRIVER) == Normal.OPERATOR.normal
    for stage in (BootStage.TOOLKIT, BootStage.CUDA, BootStage.PLUGIN):
        assert normal(stage) == Normal.VALIDATION.normal


OPENS = datetime(2026, 11, 20, 11, 0, 0, 400_000, tzinfo=UTC)
LAUNCHED, REGISTERED, INITIALIZED = ClaimStage


def at(seconds: int) -> datetime:
    return OPENS.replace(microsecond=0) + timedelta(seconds=seconds)


def claim(name: str, created: int, *ends: int) -> Claim:
    stages = {condition: at(end) for condition, end in zip(CONDITIONS.values(), ends, strict=False)}
    return Claim(name, created=at(created), stages=stages)


def test_each_stage_begins_as_the_one_before_it_ends() -> None:
    assert claim_stages([claim("a", 0)], OPENS, 1) == {LAUNCHED: Noted(0, 1, at(0), at(0))}
    found = claim_stages([claim("a", 1, 4, 40, 60)], OPENS, 1)

    assert found == {
        LAUNCHED: Noted(1, 1, at(1), at(4)),
        REGISTERED: Noted(1, 1, at(4), at(40)),
        INITIALIZED: Noted(1, 1, at(40), at(60)),
    }
    progress: Progress = dict(found.items())
    assert lengths(progress) == {"claim-launched": 3, "claim-registered": 36, "claim-initialized": 20}


def test_a_node_that_never_registers_holds_its_stage_open() -> None:
    assert claim_stages([claim("a", 1, 4, 40, 60), claim("b", 1, 5)], OPENS, 2) == {
        LAUNCHED: Noted(2, 2, at(1), at(5)),
        REGISTERED: Noted(1, 2, at(4), at(40)),
        INITIALIZED: Noted(1, 2, at(40), at(60)),
    }


def test_only_claims_of_the_opening_count_and_no_more_than_the_lease_has_nodes() -> None:
    before, going = claim("a", -1, 2), replace(claim("b", 1, 2), leaving=True)
    mine, of_another = claim("c", 1, 4), claim("d", 2, 9)
    assert claim_stages([before, going], OPENS, 2) == {}
    assert claim_stages([before, going, mine, of_another], OPENS, 1)[LAUNCHED] == Noted(1, 1, at(1), at(4))


def test_they_stand_between_the_stages_of_the_boot() -> None:
    words = [stage.value for stage in IN_ORDER]
    assert words[1:6] == ["nodes", "claim-launched", "joined", "claim-registered", "node-ready"]
    assert words[-3:] == ["claim-initialized", "gpus", "checks"]


def test_what_is_normal_of_a_claim_is_what_the_diagnosis_calls_normal() -> None:
    assert normal(LAUNCHED) == Normal.LAUNCH.normal
    assert normal(REGISTERED) == Normal.JOIN.normal
    assert normal(INITIALIZED) == normal(Stage.GPUS)
