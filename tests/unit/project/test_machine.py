"""`make demo` on a machine that is not Linux on x86-64 says so first, and names the way by a container."""

import json
import platform
import re

import pytest

from local import machine
from tests.checkout import ROOT


def play(monkeypatch: pytest.MonkeyPatch, system: str, processor: str) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: processor)


@pytest.mark.parametrize(
    ("system", "processor"), [("Darwin", "arm64"), ("Linux", "aarch64"), ("Darwin", "x86_64"), ("", "")]
)
def test_another_machine_is_told_in_one_line_and_led_to_the_container(
    monkeypatch: pytest.MonkeyPatch, system: str, processor: str
) -> None:
    play(monkeypatch, system, processor)

    line = machine.warning()

    assert line is not None
    assert "\n" not in line
    assert f"{system or 'unknown'} on {processor or 'unknown'}" in line
    assert "dev container" in line
    assert (ROOT / machine.PAGE).exists()


@pytest.mark.parametrize("processor", ["x86_64", "AMD64"])
def test_linux_on_x86_64_is_told_nothing(monkeypatch: pytest.MonkeyPatch, processor: str) -> None:
    play(monkeypatch, "Linux", processor)

    assert machine.warning() is None


def test_make_demo_says_it_before_it_sets_anything_up() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")

    [recipe] = re.findall(r"^demo:\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    first, second, *_ = recipe.splitlines()

    assert "-m local.machine" in first
    assert "$(MAKE)" not in first
    assert "to-run" in second
    assert not re.search(r"^demo:.*\S", makefile, re.MULTILINE), (
        "demo has a prerequisite, which make runs first"
    )


def test_the_platform_is_read_in_one_place() -> None:
    readers = [
        str(path.relative_to(ROOT))
        for folder in ("cli", "local", "lambdas")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"platform\.(system|machine)\(", path.read_text("utf-8"))
    ]

    assert readers == ["local/machine.py"]


def test_the_dev_container_sets_up_and_plays_the_demo() -> None:
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))

    assert "--platform=linux/amd64" in container["runArgs"]
    assert (container["postCreateCommand"], container["postAttachCommand"]) == ("make to-run", "make demo")
