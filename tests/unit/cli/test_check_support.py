"""`check` notes what is allowed and probably not meant: a version past standard support, a zone without summer time."""

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


@pytest.mark.parametrize(("zone", "note"), [
    ("EST", "EST is UTC-05:00 all year, without summer time; the zone of a city is America/New_York"),
    ("MST", "MST is UTC-07:00 all year, without summer time; the zone of a city is America/Denver"),
    ("HST", "HST is UTC-10:00 all year, without summer time; the zone of a city is Pacific/Honolulu"),
    ("Etc/GMT-9", ("Etc/GMT-9 is UTC+09:00 all year, without summer time: its sign is the reverse of UTC's; the zone"
                   " of a city is Asia/Seoul (UTC+09:00) or America/Anchorage (UTC-09:00)")),
])  # fmt: skip
def test_a_zone_without_summer_time_is_noted_once_with_the_city(tmp_path: Path, zone: str, note: str) -> None:
    assert notes(tmp_path, f"time_zone: {zone}\n") == [note]
    windows = f"windows: [{{name: a, days: mon, start: 10:00, end: 11:00, time_zone: {zone}}}]\n"
    assert notes(tmp_path, windows) == [note]


@pytest.mark.parametrize(
    "zone", ["UTC", "Etc/UTC", "GMT", "Etc/GMT", "Etc/GMT+0", "EST5EDT", "America/New_York"]
)
def test_a_zone_that_means_what_it_says_has_no_note(tmp_path: Path, zone: str) -> None:
    assert notes(tmp_path, f"time_zone: {zone}\n") == []
