"""Karpenter's charts in this repository are AWS's own: each line is that of the Go module with their release."""

from pathlib import Path

import pytest
import yaml

from lamplighter.errors import OutsideFailed
from local.cache_folder import cache_folder
from local.kubernetes.go_module import download
from local.kubernetes.karpenter.controller import MODULE, PINNED, VERSION, demanded
from local.kubernetes.toolchain import find_go, needed_go
from stacks.charts.kept import karpenter_chart, karpenter_crd_chart, kept_versions

CHARTS = {"karpenter": karpenter_chart, "karpenter-crd": karpenter_crd_chart}
#: Files for readers of AWS's repository, which Helm does not render.
LEFT_OUT = {".helmignore", "Chart.lock", "README.md", "README.md.gotmpl", "artifacthub-repo.yaml"}
#: Lines that AWS's release script writes: a release has its own version, which the repository does not have yet.
OF_THE_RELEASE = {
    "Chart.yaml": [f"version: {VERSION}", f"appVersion: {VERSION}"],
    "values.yaml": [f"    tag: {VERSION}", '    digest: ""'],
}


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """The folder of the module, compared with go.sum."""
    folder = tmp_path_factory.mktemp("module")
    try:
        go = find_go(cache_folder() / "go", print, needed_go(PINNED))
        return download(go, MODULE, PINNED, folder)
    except OutsideFailed as error:
        if demanded():
            raise
        pytest.skip(f"no Karpenter: {error}")


def files(folder: Path) -> dict[str, list[str]]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8").splitlines()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in LEFT_OUT
    }


@pytest.mark.parametrize("chart", CHARTS)
def test_every_line_is_that_of_the_module_except_for_the_version(published, chart):
    kept, original = files(CHARTS[chart](VERSION)), files(published / "charts" / chart)

    assert set(kept) == set(original)
    for name, lines in kept.items():
        assert len(lines) == len(original[name]), name
        changed = [mine for mine, theirs in zip(lines, original[name], strict=True) if mine != theirs]
        allowed = OF_THE_RELEASE.get(name, []) if chart == "karpenter" or name == "Chart.yaml" else []
        assert changed == allowed, name


@pytest.mark.parametrize("name", ["LICENSE", "NOTICE"])
def test_their_licence_is_kept_with_them(published, name):
    kept = karpenter_chart(VERSION).parent / name
    assert kept.read_bytes() == (published / name).read_bytes()


def test_the_embedded_controller_is_of_a_version_with_a_chart():
    assert VERSION in kept_versions()
    with pytest.raises(ValueError, match=r"no chart of Karpenter 0\.1; there are 1"):
        karpenter_chart("0.1")


@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_has_the_version_of_its_folder(chart):
    for version in kept_versions():
        description = yaml.safe_load((CHARTS[chart](version) / "Chart.yaml").read_text("utf-8"))
        assert (description["name"], description["version"]) == (chart, version)
