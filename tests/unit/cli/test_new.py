"""`lamplighter new` writes what a deploy needs. tests/scenarios/deploys/test_wheel.py synthesises it."""

import json
import sys
from pathlib import Path

import pytest

from cli import endings
from lamplighter.labfile import file as labfile
from tests.programs import lamplighter


def test_a_new_folder_has_a_good_lab_and_names_the_python_that_synthesises(tmp_path: Path) -> None:
    said = lamplighter("new", "labs/evening", cwd=tmp_path)

    made = tmp_path / "labs" / "evening"
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.splitlines()[0] == "wrote labs/evening/lab.yaml"
    assert not labfile.load(str(made / "lab.yaml")).windows
    assert json.loads((made / "cdk.json").read_text("utf-8"))["app"] == f'"{sys.executable}" app.py'
    assert "lamplighter_home.synth()" in (made / "app.py").read_text("utf-8")


def test_an_environment_in_the_folder_is_named_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path.resolve() / ".venv/bin/python"))

    lamplighter("new", cwd=tmp_path)

    assert json.loads((tmp_path / "cdk.json").read_text("utf-8"))["app"] == '".venv/bin/python" app.py'


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("mine", "utf-8")

    said = lamplighter("new", cwd=tmp_path)

    assert (said.returncode, said.stderr) == (1, "app.py exists and stays as it is: name another folder\n")
    assert [path.name for path in tmp_path.iterdir()] == ["app.py"]


@pytest.mark.parametrize(
    ("module", "extra"), [("moto.core", "local"), ("aws_cdk", "deploy"), ("lamplighter.gone", None)]
)
def test_a_missing_package_of_an_extra_is_no_bug(module: str, extra: str | None) -> None:
    message = endings.missing_extra(ModuleNotFoundError(name=module))

    assert (message is None) == (extra is None)
    assert extra is None or f"needs the extra {extra}: uv tool install 'lamplighter[{extra}]'" in str(message)
