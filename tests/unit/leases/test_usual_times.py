"""How long each stage usually takes: what three openings or more have measured, else what is normal."""

from lamplighter.domain.diagnosis.stages import ProvisioningStage as Normal
from lamplighter.domain.leases.progress import BootStage, Noted, Progress, Stage, lengths
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
    kept = [{"nodes": 90}] * 20 + [{"nodes": 900}] * 30
    assert usual_times(kept)[Stage.NODES].length == 90 * SECOND


def test_what_nobody_has_measured_has_its_normal_time() -> None:
    measured: UsualTimes = {Stage.CHECKS: Usual(70 * SECOND, measured=True)}
    assert usual(Stage.CHECKS, measured) == Usual(70 * SECOND, measured=True)
    assert usual(Stage.CHECKS, {}, 20 * SECOND) == Usual(20 * SECOND, measured=False)
    assert usual(BootStage.DRIVER, {}) == Usual(NORMAL[BootStage.DRIVER], measured=False)


def test_what_is_normal_of_a_boot_is_what_the_diagnosis_calls_normal() -> None:
    assert NORMAL[BootStage.JOINED] == Normal.JOIN.normal
    assert NORMAL[BootStage.READY] == Normal.READY.normal
    assert NORMAL[BootStage.DRIVER] == Normal.OPERATOR.normal
    for stage in (BootStage.TOOLKIT, BootStage.CUDA, BootStage.PLUGIN):
        assert NORMAL[stage] == Normal.VALIDATION.normal
