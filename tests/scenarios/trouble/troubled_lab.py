"""A lab in which every pool has a problem, on one embedded cloud: opened, broken, observed and healed.

This file waits in virtual time, and starts what people start by hand. The tests judge the findings.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from cli import deployment
from cli.local import fault as local_fault
from cli.understand import diagnose
from cli.use import open as opening
from lamplighter.domain.diagnosis import Snapshot
from lamplighter.domain.diagnosis import diagnose as judged
from local.cloud import Cloud
from local.kubernetes.api import KubernetesApi, Object

LOOK_EVERY = timedelta(seconds=30)
_OPEN = typer.Typer()
_OPEN.command()(opening.command)
Findings = Mapping[str, Any]


class TroubledLab:
    """The lab of a running cloud that this process's environment names; snapshots go to `folder`."""

    def __init__(self, cloud: Cloud, folder: Path) -> None:
        self.cloud = cloud
        self.clock = cloud.clock
        self.folder = folder
        self.kubernetes: KubernetesApi = cloud.control_plane.admin()

    # what people do

    def fault(self, *words: str) -> None:
        said = CliRunner().invoke(local_fault.app, list(words))
        assert said.exit_code == 0, said.exception

    def open(self, pool: str, *, add: bool = False) -> None:
        """Asks for one node; for one more if the pool is open."""
        said = CliRunner().invoke(_OPEN, [pool, "1", "for", "2h", *(["--add"] if add else [])])
        assert said.exit_code == 0, said.output

    def student(self, pool: str, image: str = "nvcr.io/nvidia/cuda:12.9.0-base-ubuntu24.04") -> None:
        """A pod that takes a GPU of the pool and keeps it."""
        name = f"student-{pool}-{len(self.kubernetes.get('/api/v1/namespaces/default/pods')['items'])}"
        self._create(
            "/api/v1/namespaces/default/pods", {"metadata": {"name": name}, "spec": self._spec(pool, image)}
        )

    def training(self, pool: str) -> None:
        """A job of two ranks, one on each node, that must connect."""
        spec = self._spec(pool, "public.ecr.aws/hpc-cloud/nccl-tests:latest")
        words = (
            "torchrun --master-addr train-0.train --master-port 29500 bench.py all_reduce 1048576 268435456"
        )
        spec["containers"][0]["command"] = ["sh", "-c", words]
        apart = {"labelSelector": {"matchLabels": {"app": "train"}}, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
        both = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimit": 0}
        template = {"metadata": {"labels": {"app": "train"}}, "spec": spec}
        job = {"metadata": {"name": "train"}, "spec": {**both, "template": template}}
        self._create("/apis/batch/v1/namespaces/default/jobs", job)

    # what is seen

    def live(self, pool: str) -> Findings:
        """A live diagnosis, as the command collects it; the snapshot is kept."""
        document = diagnose.collected(deployment.find(None), pool)
        self._saved(pool).write_text(json.dumps(document), "utf-8")
        found: Findings = judged(Snapshot.read(document)).to_json()
        return found

    def saved(self, pool: str) -> Findings:
        """The output of `lamplighter diagnose --snapshot` for the snapshot of the last live diagnosis."""
        out = self.folder / "findings.json"
        diagnose.command(snapshot=self._saved(pool), as_json=str(out))
        found: Findings = json.loads(out.read_text("utf-8"))
        return found

    def until(
        self, wanted: Mapping[str, list[str]], within: timedelta, *, no_more: Collection[str] = ()
    ) -> dict[str, Findings]:
        """Lets time pass until the diagnosis of each pool begins with its expected causes.

        The pools in `no_more` must have no other finding.
        """
        found: dict[str, Findings] = {}

        def missing() -> list[str]:
            for pool in wanted.keys() - found.keys():
                seen = self.live(pool)
                named = causes(seen)
                if (named if pool in no_more else named[: len(wanted[pool])]) == wanted[pool]:
                    found[pool] = seen
            return sorted(wanted.keys() - found.keys())

        left = self._wait(missing, within)
        assert not left, {pool: self.live(pool) for pool in left}
        return found

    def until_well(self, pools: Iterable[str], within: timedelta) -> None:
        """Lets time pass until these pools have no finding any more."""
        ill = set(pools)

        def missing() -> list[str]:
            ill.difference_update([pool for pool in ill if not self.live(pool)["findings"]])
            return sorted(ill)

        left = self._wait(missing, within)
        assert not left, {pool: self.live(pool) for pool in left}

    def pass_time(self, time: timedelta) -> None:
        self.clock.sleep(time.total_seconds())

    def _wait(self, missing: Callable[[], list[str]], within: timedelta) -> list[str]:
        deadline = self.clock.now() + within
        while (left := missing()) and self.clock.now() < deadline:
            self.pass_time(LOOK_EVERY)
        return left

    def _saved(self, pool: str) -> Path:
        return self.folder / f"{pool}.json"

    def _spec(self, pool: str, image: str) -> Object:
        group = self.cloud.lab.nodegroup_name(pool)
        container = {
            "name": "main",
            "image": image,
            "command": ["sleep", "infinity"],
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        }
        return {
            "restartPolicy": "Never",
            "nodeSelector": {"eks.amazonaws.com/nodegroup": group},
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
        }

    def _create(self, path: str, what: Object) -> None:
        assert self.kubernetes.create(path, what) is not None, what["metadata"]["name"]


def causes(found: Findings) -> list[str]:
    return [finding["cause"] for finding in found["findings"]]
