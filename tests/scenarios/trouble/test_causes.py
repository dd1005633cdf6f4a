"""The embedded cloud plays every cause of a diagnosis, and the diagnosis finds it: first, live, and in snapshots."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from lamplighter.domain.diagnosis.causes import CAUSES
from local.cloud import Cloud
from local.faults.catalogue import FAULTS, Reach
from tests.scenarios.trouble.troubled_lab import Findings, TroubledLab, causes
from tests.steady.hang import HANG_SECONDS

pytestmark = pytest.mark.long

LAB = Path(__file__).with_name("causes.yaml")
#: A deploy takes minutes; the faults are on before the windows open.
BEGINS, OPENS = (datetime(2026, 12, 1, *at, tzinfo=UTC) for at in ((9, 45), (10, 0)))
#: Until the last of them is late: an instance that did not join in five minutes, a GPU that did not come.
OPENED, WITHIN = timedelta(minutes=8), timedelta(minutes=25)
OF_A_POOL = [name for name, fault in FAULTS.items() if fault.reach is Reach.POOL and fault.diagnosed]
OF_ALL = [name for name, fault in FAULTS.items() if fault.reach is not Reach.POOL]
#: Pools that stay broken until each has a second cause.
PAIRED = {"xid", "validator-stuck", "driver-too-old", "bandwidth-throttled"}
#: What does not heal before the node is replaced, and past events, which stay in the report: of the pod, by the event.
STAYS = {"xid", "gpu-count-short", "wrong-ami"} | {
    *("gpu-lost", "image-pull-slow", "bandwidth-throttled", "driver-too-old")
}


def kept(make: Callable[..., Any]) -> Callable[..., Any]:
    """One client of each service for a hundred reads: each new client would read AWS's model of the service again."""
    clients: dict[str, Any] = {}

    def client(service: str, **settings: object) -> Any:
        if service not in clients:
            clients[service] = make(service, **settings)
        return clients[service]

    return client


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TroubledLab]:
    """The open lab with the fault of each pool on; people work where they would."""
    folder = tmp_path_factory.mktemp("snapshots")
    with Cloud(LAB, start=BEGINS, progress=print) as cloud, pytest.MonkeyPatch.context() as environment:
        cloud.up()
        for name, value in cloud.played().items():
            environment.setenv(name, value)
        environment.setattr(boto3, "client", kept(boto3.client))
        lab = TroubledLab(cloud, folder)
        for name in OF_A_POOL:
            lab.fault("on", name, "--pool", name)
        lab.student("gpu-lost")
        assert cloud.clock.now() < OPENS
        lab.pass_time(OPENS + OPENED - cloud.clock.now())
        yield lab


@pytest.fixture(scope="module")
def of_pools(lab: TroubledLab) -> dict[str, Findings]:
    """The findings of each pool, by the name of the pool and of its cause."""
    return lab.until({name: [name] for name in OF_A_POOL}, WITHIN)


@pytest.fixture(scope="module")
def healed(lab: TroubledLab, of_pools: dict[str, Findings]) -> dict[str, Findings]:
    """The findings from before most faults were switched off. A well pool costs the machine little."""
    for name in OF_A_POOL:
        if name not in PAIRED:
            lab.fault("off", name, "--pool", name)
    lab.pass_time(timedelta(minutes=6))
    lab.until_well(set(OF_A_POOL) - STAYS - PAIRED, WITHIN)
    return of_pools


@pytest.fixture(scope="module")
def of_all(lab: TroubledLab, healed: dict[str, Findings]) -> dict[str, Findings]:
    """The same for findings that all pools share: in pools that were healthy until then."""
    assert healed
    for name in OF_ALL:
        lab.fault("on", name)
    lab.training("nccl-path-blocked")
    lab.open("vcpu-quota")
    wanted = {
        "vcpu-quota": ["vcpu-quota"],
        "nccl-path-blocked": ["nccl-path-blocked", "operator-not-ready"],
    }
    # A broken operator is late after five minutes; a job's ranks give up a little earlier.
    lab.pass_time(timedelta(minutes=6))
    found = lab.until(wanted, WITHIN, no_more=["nccl-path-blocked"])
    return {**found, "operator-not-ready": found["nccl-path-blocked"]}


@pytest.mark.parametrize("cause", OF_A_POOL)
def test_a_cause_of_one_pool_is_found_first_live_and_in_its_snapshot(
    lab: TroubledLab, of_pools: dict[str, Findings], cause: str
) -> None:
    found = of_pools[cause]["findings"][0]
    assert (found["cause"], found["layer"]) == (cause, CAUSES[cause].layer)
    assert found["evidence"]
    assert found["advice"]
    assert lab.saved(cause) == of_pools[cause]


def test_what_heals_is_well_again_once_its_fault_is_off(healed: dict[str, Findings]) -> None:
    assert healed


def test_what_all_pools_share_is_found_too(lab: TroubledLab, of_all: dict[str, Findings]) -> None:
    assert causes(of_all["vcpu-quota"])[0] == "vcpu-quota"
    assert causes(of_all["nccl-path-blocked"]) == ["nccl-path-blocked", "operator-not-ready"]
    for pool in ("vcpu-quota", "nccl-path-blocked"):
        assert lab.saved(pool) == of_all[pool]


def test_the_command_says_the_same_and_keeps_what_it_read(
    lab: TroubledLab, of_all: dict[str, Findings]
) -> None:
    kept = lab.folder / "kept.json"

    def diagnosed(*words: str) -> Findings:
        command = [sys.executable, "-m", "cli.main", "diagnose", *words, "--json", "-"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)
        assert done.returncode == 0, done.stderr
        said: Findings = json.loads(done.stdout)
        return said

    live = diagnosed("xid", "--save", str(kept))
    assert of_all
    assert causes(live)[0] == "xid"
    assert diagnosed("--snapshot", str(kept)) == live


def test_two_independent_causes_are_both_found_and_heal(
    lab: TroubledLab, of_all: dict[str, Findings]
) -> None:
    """One node is broken; the second does not come, or its pods have another problem."""
    assert of_all
    for name in OF_ALL:
        lab.fault("off", name)
    lab.fault("on", "no-capacity", "--pool", "xid")
    lab.open("xid", add=True)
    lab.fault("on", "node-not-joined", "--pool", "validator-stuck")
    lab.open("validator-stuck", add=True)
    lab.fault("on", "bandwidth-throttled", "--pool", "driver-too-old")
    lab.fault("on", "image-pull-slow", "--pool", "bandwidth-throttled")
    lab.student("bandwidth-throttled", "nvcr.io/nvidia/cuda:12.9.0-devel-ubuntu24.04")
    pairs = {
        "xid": ["no-capacity", "xid"],
        "validator-stuck": ["node-not-joined", "validator-stuck"],
        "driver-too-old": ["bandwidth-throttled", "driver-too-old"],
        "bandwidth-throttled": ["bandwidth-throttled", "image-pull-slow"],
    }
    lab.pass_time(timedelta(minutes=5))
    found = lab.until(pairs, WITHIN, no_more=pairs)
    for pool, pair in pairs.items():
        assert causes(found[pool]) == pair
        assert lab.saved(pool) == found[pool]
    lab.fault("off", "--all")
    lab.pass_time(timedelta(minutes=6))
    lab.until_well(PAIRED - STAYS, WITHIN)
