"""`check` says what EKS does to a new cluster whose Kubernetes version is past standard support."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.plan.check import document
from tests.stopped_clock import stop_at

PAST = "standard support of Kubernetes 1.33 ended on 2026-07-29: EKS upgrades the cluster by itself, and your lab"

UNSUPPORTED = "EKS no longer supports Kubernetes 1.33, since 2027-07-29"


def notes(folder: Path, text: str) -> list[str]:
    (folder / "lab.yaml").write_text(f"name: x\n{text}")
    found = document(str(folder / "lab.yaml"))["notes"]
    assert isinstance(found, list)
    return [str(note) for note in found]


@pytest.mark.parametrize(("day", "said"), [
    ((2026, 7, 29), []),
    ((2026, 7, 30), [f'{PAST} file keeps the old version; write kubernetes_version: "1.35" under cluster']),
    ((2027, 7, 30), [f'{UNSUPPORTED}; write kubernetes_version: "1.35" under cluster']),
])  # fmt: skip
def test_a_version_past_standard_support_is_noted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, day: tuple[int, int, int], said: list[str]
) -> None:
    stop_at(tmp_path / "clock", datetime(*day, tzinfo=UTC))
    monkeypatch.setenv("LAMPLIGHTER_INSTANT", str(tmp_path / "clock"))
    assert notes(tmp_path, 'cluster: {kubernetes_version: "1.33"}\n') == said
    assert notes(tmp_path, "cluster: {existing: theirs}\npools: {gpu: {existing: gpus}}\n") == []
