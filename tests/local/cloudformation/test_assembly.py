"""The cache of cloud assemblies: what is forgotten, and what is not."""

import os
from pathlib import Path

from local import assembly


def made(folder: Path, name: str, age: int) -> Path:
    path = folder / name
    path.mkdir()
    (path / "manifest.json").write_text("{}", "ascii")
    os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return path


def test_the_assemblies_used_longest_ago_are_forgotten(tmp_path: Path) -> None:
    folders = [made(tmp_path, str(age), age) for age in range(assembly.KEPT + 2)]

    assembly._forget_old(tmp_path)

    assert sorted(tmp_path.iterdir()) == folders[: assembly.KEPT]


def test_an_assembly_that_somebody_runs_from_is_kept_however_old(tmp_path: Path) -> None:
    oldest = made(tmp_path, "oldest", 1000)
    for age in range(assembly.KEPT + 1):
        made(tmp_path, str(age), age)
    assert assembly._hold(oldest)

    assembly._forget_old(tmp_path)

    assert oldest.exists()


def test_what_a_killed_synthesis_left_is_removed_and_one_under_way_is_not(tmp_path: Path) -> None:
    left, under_way = tmp_path / "draft-1", tmp_path / "draft-2"
    left.mkdir()
    under_way.mkdir()
    assembly._hold(under_way)

    assembly._forget_old(tmp_path)

    assert list(tmp_path.iterdir()) == [under_way]


def test_a_lab_whose_calendar_file_changed_is_another_one(tmp_path: Path) -> None:
    lab = tmp_path / "lab.yaml"
    lab.write_text("name: x\nwindows:\n- {name: course, calendar: course.ics}\n")
    digests = []
    for start in ("20260302T200000Z", "20260302T210000Z"):
        event = f"BEGIN:VEVENT\nUID:1\nDTSTART:{start}\nDURATION:PT1H\nEND:VEVENT\n"
        (tmp_path / "course.ics").write_text(f"BEGIN:VCALENDAR\n{event}END:VCALENDAR\n")
        digests.append(assembly._digest(lab, "code"))

    assert digests[0] != digests[1]
