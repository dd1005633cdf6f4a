"""Starts Karpenter's real controller for a pod of its chart, and ends all of them with the embedded cloud.

A process sees what its pod gives it, and what stands for the machine: addresses, ports, the lab's clock, and the
credentials of the pod's own role.
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from lamplighter.errors import OutsideFailed
from local.kubernetes.api import KubernetesApi, Object
from local.kubernetes.karpenter.controller import VERSION, built_controller
from local.kubernetes.karpenter.process import ControllerProcess
from local.kubernetes.karpenter.surroundings import environment_of, write_kubeconfig

#: The image of the chart, without its tag.
IMAGE = "public.ecr.aws/karpenter/controller"
#: AWS's credentials of a pod, as environment variables, by namespace, service account and the pod's name.
Credentials = Callable[[str, str, str], Mapping[str, str]]


class Controllers:
    """The controllers of one cluster. `api` is an administrator's, and `authority` the PEM of the API server's CA.

    `machine` has the environment variables that stand for the machine. `work` is a folder of its own.
    """

    def __init__(
        self,
        api: KubernetesApi,
        authority: str,
        work: Path,
        *,
        machine: Mapping[str, str],
        credentials: Credentials,
    ) -> None:
        self._api = api
        self._authority = authority
        self._work = work
        self._machine = machine
        self._credentials = credentials
        self._running: list[ControllerProcess] = []
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def running(self) -> list[ControllerProcess]:
        """Those that have not ended."""
        with self._lock:
            self._running = [process for process in self._running if not process.ended]
            return list(self._running)

    @property
    def starting(self) -> bool:
        """Whether one of them does not serve yet. The lab's time stands meanwhile."""
        return any(process.starting for process in self.running)

    def start(
        self, pod: Object, container: Object, say: Callable[[str], None], changed: Callable[[], None]
    ) -> ControllerProcess:
        """The process of a container that starts now.

        Raises OutsideFailed if this machine has no Karpenter, or none of the image's version.
        """
        program = built_controller()
        if program is None:
            raise OutsideFailed("no Karpenter: `make karpenter` builds its controller")
        wanted = str(container["image"]).partition("@")[0].rpartition(":")[2]
        if wanted != VERSION:
            raise OutsideFailed(f"no Karpenter {wanted}: the embedded cloud has {VERSION}")
        metadata = pod["metadata"]
        account = pod["spec"].get("serviceAccountName", "default")
        self._work.mkdir(parents=True, exist_ok=True)
        config = self._work / f"{metadata['uid']}.kubeconfig"
        write_kubeconfig(self._api, pod, self._authority, config)
        metrics, health = _free_ports()
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            **environment_of(pod, container),
            **self._machine,
            **self._credentials(metadata["namespace"], account, metadata["name"]),
            "KUBECONFIG": str(config),
            # Inside a container it reads this in a file beside its token.
            "LEADER_ELECTION_NAMESPACE": metadata["namespace"],
            # All pods of this machine share its loopback.
            "METRICS_PORT": str(metrics),
            "HEALTH_PROBE_PORT": str(health),
        }
        with self._lock:
            if self._stopped:
                raise OutsideFailed("the embedded cloud is going down")
            process = ControllerProcess(program, environment, say=say, changed=changed)
            self._running.append(process)
        return process

    def stop(self) -> None:
        """Kills all of them."""
        with self._lock:
            self._stopped = True
        for process in self.running:
            process.kill()


def _free_ports() -> list[int]:
    """Two ports that are free now. Both are held until the second is known."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
