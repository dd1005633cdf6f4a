"""A program that stays makes of each lab what a new one makes, is another one for other code, and can be stopped."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local.synthesis.synthesiser import STOPPED, Synthesiser

FIRST = "name: first\ncluster: {karpenter: {version: 1.14.3}}\npools: {gpu: {kind: karpenter}}\n"
SECOND = "name: second\nslack: {channel: C0123456789}\n"
Synthesis = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def _stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Synthesiser.end_kept()
    monkeypatch.setattr(Synthesiser, "stays", True)
    yield
    Synthesiser.end_kept()


@pytest.fixture
def synthesis(tmp_path: Path) -> Synthesis:
    def synthesised(lab: str, out: str, code: str = "code", started=lambda _: None) -> tuple[int, str]:
        (tmp_path / "lab.yaml").write_text(lab)
        words = ["--lab", str(tmp_path / "lab.yaml"), "--out", str(tmp_path / out)]
        return Synthesiser.run(words, code, tmp_path, started)

    return synthesised


def test_what_was_synthesised_before_makes_no_difference(synthesis: Synthesis, tmp_path: Path) -> None:
    for lab, out in ((FIRST, "first"), (SECOND, "after")):
        status, errors = synthesis(lab, out)
        assert status == 0, errors
    stayed = Synthesiser._kept
    status, errors = synthesis("name: Bad_Name\n", "bad")
    assert (status, "name: is" in errors) == (2, True)
    assert Synthesiser._kept is stayed

    assert synthesis(SECOND, "alone", code="other")[0] == 0
    assert Synthesiser._kept is not stayed
    assert deployed(tmp_path / "after") == deployed(tmp_path / "alone")


def test_a_stopped_one_leaves_nothing(synthesis: Synthesis, tmp_path: Path) -> None:
    assert synthesis(FIRST, "stopped", started=lambda stop: stop())[0] == STOPPED
    assert list(tmp_path.glob("draft-*")) == []


def deployed(out: Path) -> dict[str, bytes]:
    """The files of an assembly, without the traces of the code that made each construct."""
    files = [path for path in out.iterdir() if path.is_file() and not path.name.endswith(".metadata.json")]
    return {path.name: path.read_bytes() for path in files}
