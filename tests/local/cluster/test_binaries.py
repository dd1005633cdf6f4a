"""Where the programs that we build are taken from, and what is said when they cannot be had."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lamplighter.errors import OutsideFailed
from local.cache_folder import cache_folder
from local.kubernetes.binaries import PROGRAMS, control_plane, find_programs
from local.kubernetes.karpenter.controller import DEMANDED, built_controller, controller, find_controller
from local.kubernetes.overlay import write_overlay
from local.kubernetes.toolchain import needed_go
from tests.steady.hang import await_value


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


#: As Go has it.
TIME = """package time

func Now() Time {
	sec, nsec, mono := runtimeNow()
	return Time{}
}
"""


def fill(folder):
    folder.mkdir(parents=True)
    for program in PROGRAMS:
        (folder / program).touch()
    return folder


BUILDS = 'while [ "$1" != -o ]; do shift; done; echo built > "$2"'


def fake_go(folder, monkeypatch, build: str, version: str = "1.26.10") -> None:
    """A `go` that says its version and builds as told."""
    folder.mkdir()
    root = folder / "root"
    (root / "src/time").mkdir(parents=True)
    (root / "src/time/time.go").write_text(TIME)
    program = folder / "go"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = version ]; then echo go version go{version} linux/amd64; exit; fi\n'
        f'if [ "$1" = env ]; then echo {root}; exit; fi\n{build}\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_the_cache_comes_first():
    cached = fill(control_plane().folder)
    assert find_programs(print) == cached


def test_a_build_says_once_why_it_takes_minutes_and_leaves_all_four_programs(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, BUILDS)
    said: list[str] = []
    programs = find_programs(said.append)
    assert [(programs / program).read_text() for program in PROGRAMS] == ["built\n"] * 4
    assert sum("about four minutes" in line for line in said) == 1
    # nothing half-written stays behind, and what was fetched for the build is gone
    assert list(programs.parent.iterdir()) == [programs]
    assert [path.name for path in (cache_folder() / "go").iterdir()] == ["build.lock"]


def test_a_build_that_fails_says_what_it_said(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, "echo no space left on device; exit 1")
    with pytest.raises(OutsideFailed, match="no space left on device"):
        find_programs(lambda _: None)
    assert not control_plane().folder.exists()


def test_the_lab_s_clock_is_put_into_go_s_own_time(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, "exit 1")
    ours = tmp_path / "labtime.go"
    ours.touch()

    overlay = json.loads(write_overlay(tmp_path / "bin/go", ours, tmp_path).read_text())["Replace"]

    time = tmp_path / "bin/root/src/time"
    assert overlay[str(time / "labtime.go")] == str(ours)
    assert "sec, nsec = labNow(sec, nsec)" in Path(overlay[str(time / "time.go")]).read_text()


def test_a_go_that_asks_for_the_time_in_another_way_is_refused(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, "exit 1")
    (tmp_path / "bin/root/src/time/time.go").write_text("package time")
    with pytest.raises(OutsideFailed, match="no clock can be put in"):
        write_overlay(tmp_path / "bin/go", tmp_path / "labtime.go", tmp_path)


def test_karpenter_is_built_once_from_its_pinned_module(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, f"cp go.mod go.sum {tmp_path}; {BUILDS}")
    said: list[str] = []
    assert built_controller() is None

    program = find_controller(said.append)

    assert program.read_text() == "built\n"
    assert built_controller() == find_controller(said.append) == program
    first, last = said
    assert "about five minutes" in first
    assert "is built in 0.0 minutes" in last
    # Go had the checksums of the module and of all that it needs beside it.
    assert "github.com/aws/karpenter-provider-aws v1.14.3 h1:" in (tmp_path / "go.sum").read_text()


def test_a_go_that_is_too_old_for_karpenter_is_left_out(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, BUILDS, version="1.26.8")
    monkeypatch.setattr("local.kubernetes.toolchain._install", refused)
    find_programs(print)
    with pytest.raises(OutsideFailed, match="no package index"):
        find_controller(print)


def refused(package: str, _: Path) -> None:
    raise OutsideFailed(f"no package index for {package}")


def test_the_oldest_go_is_read_from_the_module(tmp_path):
    (tmp_path / "go.mod").write_text("module m\n\ngo 1.30\n")
    assert needed_go(tmp_path) == (1, 30, 0)
    assert controller().oldest_go >= (1, 26, 10)


@pytest.mark.parametrize(("demand", "status"), [("", 0), ("required", 1)])
def test_make_goes_on_without_karpenter_except_in_ci(tmp_path, monkeypatch, demand, status):
    fake_go(tmp_path / "bin", monkeypatch, "echo 403 Forbidden; exit 1")
    monkeypatch.setenv(DEMANDED, demand)
    command = [sys.executable, "-m", "local.kubernetes.karpenter.controller"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert done.stdout.splitlines()[-1].startswith("no Karpenter: go build of Karpenter 1.14.3 ended with 1")
    assert "403 Forbidden" in done.stdout


#: It says that it builds and by which process, and ends when somebody lets it.
BUILDS_UNTIL = 'echo $$ >> "{0}/builds"; while [ ! -e "{0}/enough" ]; do sleep 0.05; done; ' + BUILDS


def start_build():
    command = [sys.executable, "-m", "local.kubernetes.binaries"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def builders(folder: Path) -> list[int]:
    file = folder / "builds"
    return [int(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_two_checkouts_at_once_build_one_control_plane(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, BUILDS_UNTIL.format(tmp_path))
    first = start_build()
    await_value("a build began", lambda: builders(tmp_path))

    second = start_build()
    assert "Another build is under way" in second.stdout.readline()
    (tmp_path / "enough").touch()

    assert (first.wait(), second.wait()) == (0, 0)
    assert len(builders(tmp_path)) == 1


def test_a_killed_build_leaves_no_compiler_no_lock_and_no_folder(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, BUILDS_UNTIL.format(tmp_path))
    first = start_build()
    await_value("a build began", lambda: builders(tmp_path))
    first.kill()
    first.wait()
    [compiler] = builders(tmp_path)
    await_value("the compiler is gone", lambda: not Path(f"/proc/{compiler}").exists())

    second = start_build()
    await_value("a second build began", lambda: len(builders(tmp_path)) == 2)
    (tmp_path / "enough").touch()

    assert second.wait() == 0
    programs = control_plane().folder
    assert list(programs.parent.iterdir()) == [programs]
