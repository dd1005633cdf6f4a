"""Where NVIDIA's device-plugin chart is taken from, and what is said when it cannot be had."""

import io
import json
import tarfile

import pytest
import requests
import yaml

from lamplighter.errors import OutsideFailed
from local.cache_folder import cache_folder
from local.kubernetes.charts.published import MODULE, find_device_plugin_chart
from local.kubernetes.charts.repository import ChartRepository
from tests.device_plugin_chart import chart_or_skip
from tests.steady.hang import HANG_SECONDS


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def fake_go(folder, monkeypatch, answer: str) -> None:
    """A `go` that says it is new enough and downloads as told."""
    folder.mkdir()
    program = folder / "go"
    program.write_text(
        '#!/bin/sh\nif [ "$1" = version ]; then echo go version go1.26.8 linux/amd64; exit; fi\n' + answer
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def module(folder):
    """What the download leaves behind, as far as anybody reads it."""
    chart = folder / "deployments/helm/nvidia-device-plugin"
    chart.mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: nvidia-device-plugin\nversion: 0.18.2\n")
    return folder


@pytest.mark.usefixtures("own_cache")
def test_it_is_fetched_once_and_nothing_half_written_stays(tmp_path, monkeypatch):
    said: list[str] = []
    answer = json.dumps({"Dir": str(module(tmp_path / "module"))})
    calls = tmp_path / "calls"
    fake_go(
        tmp_path / "bin", monkeypatch, f"echo \"$@\" >> {calls}\ncat go.sum >> {calls}\necho '{answer}'\n"
    )

    chart = find_device_plugin_chart(said.append)

    assert (chart / "Chart.yaml").exists()
    assert find_device_plugin_chart(said.append) == chart
    assert len(said) == 1
    assert [path.name for path in chart.parent.iterdir()] == ["nvidia-device-plugin"]
    # Go had the pinned checksum of this module beside it.
    command, checksum, *_ = calls.read_text().splitlines()
    assert command == f"mod download -json {MODULE}"
    assert checksum.startswith(f"{MODULE} v0.18.2 h1:")


@pytest.mark.usefixtures("own_cache")
def test_a_module_that_is_not_the_pinned_one_is_no_chart(tmp_path, monkeypatch):
    said = f"verifying {MODULE}@v0.18.2: checksum mismatch"
    fake_go(tmp_path / "bin", monkeypatch, f"echo '{said}' >&2\nexit 1\n")
    with pytest.raises(OutsideFailed, match=r"no device-plugin chart: .*checksum mismatch"):
        find_device_plugin_chart(lambda _: None)
    assert not list((cache_folder() / "charts").glob("*/nvidia-device-plugin"))


@pytest.mark.usefixtures("own_cache")
def test_a_proxy_that_does_not_have_it_is_told_in_its_own_words(tmp_path, monkeypatch):
    answer = json.dumps({"Error": "403 Forbidden"})
    fake_go(tmp_path / "bin", monkeypatch, f"echo '{answer}'\nexit 1\n")
    with pytest.raises(OutsideFailed, match=r"no device-plugin chart: go mod download .*: 403 Forbidden"):
        find_device_plugin_chart(lambda _: None)


def test_the_repository_serves_it_with_the_chart_of_feature_discovery_inside():
    chart = chart_or_skip()
    repository = ChartRepository()
    repository.add(chart)
    repository.add(chart)
    repository.start()
    try:
        entries = yaml.safe_load(requests.get(f"{repository.url}/index.yaml", timeout=HANG_SECONDS).text)[
            "entries"
        ]
        [entry] = entries["nvidia-device-plugin"]
        served = requests.get(f"{repository.url}/{entry['urls'][0]}", timeout=HANG_SECONDS).content
    finally:
        repository.stop()
    assert entry["version"] == "0.18.2"
    with tarfile.open(fileobj=io.BytesIO(served)) as archive:
        names = archive.getnames()
    assert "nvidia-device-plugin/charts/node-feature-discovery-chart-0.17.3.tgz" in names
