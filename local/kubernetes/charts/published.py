"""NVIDIA's own chart of the device plugin, from the Go module that NVIDIA publishes it in.

Its chart repository is a web page, which the embedded cloud does not need: the module proxy serves the same files, and
Go compares them with the checksum in go.sum. This file has the cache; go_module.py fetches, and toolchain.py finds Go.
Only a lab that installs the chart needs it.
"""

import fcntl
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from lamplighter.errors import OutsideFailed
from local.cache_folder import cache_folder
from local.kubernetes.go_module import download
from local.kubernetes.toolchain import find_go

MODULE = "github.com/NVIDIA/k8s-device-plugin"
VERSION = "v0.18.2"
#: Where the module has the chart. Its folder `charts` has the archive of Node Feature Discovery's chart.
_CHART = Path("deployments/helm/nvidia-device-plugin")
_PINNED = Path(__file__).parent / "nvidia-device-plugin"

Progress = Callable[[str], None]


def find_device_plugin_chart(progress: Progress) -> Path:
    """The folder of the chart. It is fetched if the user's cache does not have it (seconds, once for each user).

    Raises OutsideFailed when the module proxy does not provide it, or when it is not the pinned one.
    """
    folder = cache_folder() / "charts" / f"nvidia-device-plugin-{VERSION.removeprefix('v')}"
    cached = folder / _CHART.name
    if cached.exists():
        return cached
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "fetch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the system releases it when its holder dies
        if not cached.exists():
            _fetch(cached, progress)
    return cached


def _fetch(chart: Path, progress: Progress) -> None:
    """Fetches into a temporary folder and moves the chart to its place, so that nobody sees half of it."""
    go = find_go(cache_folder() / "go", progress)
    progress(f"Fetching NVIDIA's device-plugin chart from the Go module {MODULE} {VERSION}: once.")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=chart.parent) as scratch:
        try:
            module = download(go, MODULE, _PINNED, Path(scratch))
        except OutsideFailed as error:
            raise OutsideFailed(f"no device-plugin chart: {error}") from error
        shutil.copytree(module / _CHART, Path(scratch) / "chart")
        (Path(scratch) / "chart").replace(chart)
