"""A real Kubernetes control plane on loopback: etcd, apiserver, controller manager and scheduler.

This file has their processes, certificates and ports, and the endpoint that resolves EKS tokens. The fleet
(local/fleet) has the nodes. Access entries and RBAC decide what a token may do.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Self

from lamplighter.errors import OutsideFailed
from local.hang import HANG_SECONDS
from local.kubernetes.api import KubernetesApi, Object
from local.kubernetes.binaries import find_programs
from local.kubernetes.certificates import Authority, signing_key
from local.kubernetes.components import controllers, free_ports, servers
from local.kubernetes.token_webhook import Identities, TokenWebhook, bind_access_policies

_ATTEMPTS = 3
_STOPPED = "the control plane was stopped before it had started"


class ControlPlane:
    """One cluster; several can run at once. `work` is a folder of its own that it may fill and delete.

    `clock` is the file of the lab's clock (local/clock_file.py), whose time it uses; without one, the machine's time.
    An `old` cluster has no certificates with key identifiers, as if EKS had created it on Kubernetes 1.16 or older.
    `start` raises OutsideFailed when a component ends or is not ready within a minute.
    """

    def __init__(
        self,
        work: Path,
        progress: Callable[[str], None] = lambda _: None,
        *,
        clock: Path | None = None,
        old: bool = False,
    ) -> None:
        self._work = work
        self._clock = clock
        self._progress = progress
        self._authority = Authority("lamplighter-embedded-kubernetes", names_keys=not old)
        self._admin = secrets.token_urlsafe(32)
        self._webhook = TokenWebhook()
        self._supervisor: subprocess.Popen[str] | None = None
        self._ended: list[str] = []
        self._port = 0
        self._stopped = False
        #: Called after every successful write of an `admin`, with its path and the answer.
        self.written: Callable[[str, Object], None] = lambda *_: None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def endpoint(self) -> str:
        """The API server's address, as DescribeCluster of EKS returns it."""
        return f"https://127.0.0.1:{self._port}"

    @property
    def ca_file(self) -> Path:
        """`ca_pem` as a file, once started."""
        return self._work / "ca.crt"

    @property
    def ca_pem(self) -> str:
        """The authority that signed the API server's certificate, as PEM."""
        return self._authority.pem.decode()

    def authenticate_through(self, identities: Identities) -> None:
        """From now on `identities` resolves EKS tokens; until then every token is unknown."""
        self._webhook.identities = identities

    def admin(self) -> KubernetesApi:
        """A client with all rights, for the simulator and for tests."""
        client = KubernetesApi(self.endpoint, self.ca_file, token=self._admin)
        client.written = self._note
        return client

    def admin_kubeconfig(self, path: Path, endpoint: str | None = None) -> Path:
        """Writes a kubeconfig with all rights, which needs no other program, and returns `path`.

        `endpoint` is another address of the API server: a proxy that passes tokens on.
        """
        config = kubeconfig(endpoint or self.endpoint, self._authority.pem, self._admin)
        draft = path.with_name(path.name + ".new")
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(config))
        draft.replace(path)
        return path

    def server_certificate(self, name: str) -> tuple[Path, Path]:
        """The files of a certificate, and its key, for another server on loopback. Clients here trust it."""
        self._authority.server(name, ["localhost"]).write(self._work, name)
        return self._work / f"{name}.crt", self._work / f"{name}.key"

    def start(self) -> None:
        """Returns when the API answers and its controllers have made the default service account."""
        programs = find_programs(self._progress)
        self._webhook.start()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._start_once(programs)
            except OutsideFailed:
                # Another process may have taken a port that was free a moment ago; that is worth another try.
                worth_another = bool(self._ended) and attempt < _ATTEMPTS and not self._stopped
                self._kill()
                if not worth_another:
                    self._webhook.stop()
                    raise
            except BaseException:  # interrupted: nobody will call stop
                self.stop()
                raise
            else:
                return

    def stop(self) -> None:
        """Ends all processes. Nothing of the cluster remains except its logs."""
        self._stopped = True
        self._kill()
        self._webhook.stop()

    def _note(self, path: str, answer: Object) -> None:
        self.written(path, answer)

    def _start_once(self, programs: Path) -> None:
        if self._stopped:
            raise OutsideFailed(_STOPPED)
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir(parents=True)
        ports = free_ports()
        self._port = ports.apiserver
        self._write_files()
        self._ended.clear()
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("supervisor.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # The heap is small, and its collection would take a fifth of the API server's start.
            env={
                **os.environ,
                "GOGC": "300",
                **({"LAMPLIGHTER_INSTANT": str(self._clock)} if self._clock else {}),
            },
        )
        threading.Thread(target=self._listen, args=(self._supervisor,), daemon=True).start()
        self._order(programs, servers(self._work, ports))
        self._await("/readyz")
        self._order(programs, controllers(self._work))
        self._await("/api/v1/namespaces/default/serviceaccounts/default")
        bind_access_policies(self.admin())

    def _order(self, programs: Path, commands: dict[str, list[str]]) -> None:
        orders = [
            {
                "name": name,
                "command": [str(programs / name), *arguments],
                "log": str(self._work / f"{name}.log"),
            }
            for name, arguments in commands.items()
        ]
        supervisor = self._supervisor
        if supervisor is None or supervisor.stdin is None:
            raise OutsideFailed(_STOPPED)
        try:
            supervisor.stdin.writelines(json.dumps(order) + "\n" for order in orders)
            supervisor.stdin.flush()
        except (OSError, ValueError) as error:  # another thread stops it
            raise OutsideFailed(_STOPPED) from error

    def _write_files(self) -> None:
        self.ca_file.write_bytes(self._authority.pem)
        hosts = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        self._authority.server("kube-apiserver", hosts).write(self._work, "apiserver")
        tokens = self._work / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f'{self._admin},embedded-admin,embedded-admin,"system:masters"\n')
        (self._work / "service-accounts.key").write_bytes(signing_key())
        self.admin_kubeconfig(self._work / "admin.kubeconfig")
        (self._work / "token-webhook.kubeconfig").write_text(json.dumps(self._webhook.kubeconfig()))

    def _await(self, path: str) -> None:
        api = self.admin()
        deadline = time.monotonic() + HANG_SECONDS
        while not api.is_there(path):
            if self._stopped:
                raise OutsideFailed(_STOPPED)
            if self._ended:
                raise OutsideFailed(
                    f"{self._ended[0]} ended while starting: {self._last_words(self._ended[0])}"
                )
            if time.monotonic() > deadline:
                raise OutsideFailed(
                    f"GET {path} on {self.endpoint}: no answer in {HANG_SECONDS:.0f} s; see {self._work}"
                )
            time.sleep(0.02)

    def _listen(self, supervisor: subprocess.Popen[str]) -> None:
        assert supervisor.stdout is not None  # noqa: S101  asked for in _start_once
        for line in supervisor.stdout:
            self._ended.append(json.loads(line)["ended"])

    def _last_words(self, name: str) -> str:
        lines = (self._work / f"{name}.log").read_text(errors="replace").strip().splitlines()
        return " / ".join(lines[-3:])

    def _kill(self) -> None:
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is None:
            return
        assert supervisor.stdin is not None  # noqa: S101  asked for in _start_once
        supervisor.stdin.close()
        supervisor.wait()


def kubeconfig(endpoint: str, authority: bytes, token: str) -> dict[str, object]:
    """A kubeconfig for one API server and one bearer token."""
    cluster = {"server": endpoint, "certificate-authority-data": b64encode(authority).decode()}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "embedded", "cluster": cluster}],
        "users": [{"name": "embedded", "user": {"token": token}}],
        "contexts": [{"name": "embedded", "context": {"cluster": "embedded", "user": "embedded"}}],
        "current-context": "embedded",
    }
