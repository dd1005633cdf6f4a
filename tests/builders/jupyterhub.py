"""JupyterHub as the how-to's file sees it: its code as a module, and servers that the hub starts and stops."""

import importlib.util
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.checkout import ROOT

FILES = ROOT / "docs/how-to/run/jupyterhub"


def gpu_pool() -> ModuleType:
    """The how-to's file, loaded where there is no hub to configure."""
    spec = importlib.util.spec_from_file_location("gpu_pool", FILES / "gpu_pool.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class KubeSpawner:
    """What the file uses of KubeSpawner 7, for one server."""

    def __init__(self, user: str, profile: str = "gpu") -> None:
        self.user, self.name = SimpleNamespace(name=user), ""
        self.user_options = {"profile": profile}
        self.orm_spawner = SimpleNamespace(state={})
        self.db = SimpleNamespace(commit=lambda: None)

    def get_state(self) -> dict[str, Any]:
        return {"pod_name": f"jupyter-{self.user.name}"}

    def load_state(self, state: dict[str, Any]) -> None:
        assert state.get("pod_name", f"jupyter-{self.user.name}")

    def clear_state(self) -> None:
        """The trait has its default again."""


class Hub:
    """One process of a hub: each start and stop goes as in jupyterhub/user.py."""

    def __init__(self, module: ModuleType, lease: Any) -> None:
        self.lease, self._spawner = lease, module.gpu_spawner(KubeSpawner, lease, "gpu")

    def server(self, user: str, profile: str = "gpu") -> Any:
        """A server before its start."""
        spawner = self._spawner(user, profile)
        spawner.clear_state()
        return spawner

    async def start(self, user: str, profile: str = "gpu") -> Any:
        """The started server; the error of a start that failed, after its clean-up."""
        spawner = self.server(user, profile)
        try:
            await spawner.take_gpu()
        except Exception:
            await self.stop(spawner)
            raise
        spawner.orm_spawner.state = spawner.get_state()
        return spawner

    async def stop(self, spawner: Any) -> None:
        await spawner.return_gpu()
        spawner.clear_state()
        spawner.orm_spawner.state = spawner.get_state()

    def found(self, former: Any) -> Any:
        """The server of a former process, from the hub's database."""
        spawner = self._spawner(former.user.name)
        spawner.load_state(former.orm_spawner.state)
        return spawner
