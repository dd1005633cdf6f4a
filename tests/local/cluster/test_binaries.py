"""Where the control plane's programs are taken from, and what is said when they cannot be had."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lamplighter.errors import OutsideFailed
from local.kubernetes.binaries import PROGRAMS, build_name, find_programs, kubernetes_cache
from local.kubernetes.overlay import write_overlay


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


def fake_go(folder, monkeypatch, build: str) -> None:
    """A `go` that says it is new enough and builds as told."""
    folder.mkdir()
    root = folder / "root"
    (root / "src/time").mkdir(parents=True)
    (root / "src/time/time.go").write_text(TIME)
    program = folder / "go"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = version ]; then echo go version go1.26.8 linux/amd64; exit; fi\n'
        f'if [ "$1" = env ]; then echo {root}; exit; fi\n{build}\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_the_cache_comes_first():
    cached = fill(kubernetes_cache() / build_name())
    assert find_programs(print) == cached


def test_a_build_says_once_why_it_takes_minutes_and_leaves_all_four_programs(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, 'while [ "$1" != -o ]; do shift; done; echo built > "$2"')
    said: list[str] = []
    programs = find_programs(said.append)
    assert [(programs / program).read_text() for program in PROGRAMS] == ["built\n"] * 4
    assert sum("about four minutes" in line for line in said) == 1
    # nothing half-written stays behind, and what was fetched for the build is gone
    assert sorted(path.name for path in programs.parent.iterdir()) == ["build.lock", build_name()]


def test_a_build_that_fails_says_what_it_said(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, "echo no space left on device; exit 1")
    with pytest.raises(OutsideFailed, match="no space left on device"):
        find_programs(lambda _: None)
    assert not (kubernetes_cache() / build_name()).exists()


def test_they_can_be_had_before_anything_needs_them(tmp_path, monkeypatch):
    # as `make control-plane` does, so that no test waits for the build
    fake_go(tmp_path / "bin", monkeypatch, 'while [ "$1" != -o ]; do shift; done; echo built > "$2"')
    command = [sys.executable, "-m", "local.kubernetes.binaries"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "about four minutes" in done.stdout
    assert (kubernetes_cache() / build_name() / "kube-apiserver").read_text() == "built\n"


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
