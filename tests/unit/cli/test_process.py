"""The command as a process of its own: it starts, prints one line on an error, and ends with its exit code.

Other tests run `main` in this interpreter (tests/programs.py).
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import lamplighter
from tests.steady.hang import HANG_SECONDS
from tests.unit.cli.test_verbs_outside import environment

STARTS = {
    "as installed": [str(Path(sys.executable).with_name("lamplighter"))],
    "as a module": [sys.executable, "-m", "cli.main"],
}
UNREACHED = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("start", "words", "code"),
    [
        ("as installed", "check --lab lab.yaml", 0),
        ("as installed", "check --lab bad.yaml", 2),
        ("as installed", "status", 3),
        ("as a module", "opne", 2),
    ],
)
def test_a_process_says_and_ends_as_a_run_in_this_interpreter(
    start: str, words: str, code: int, tmp_path: Path
) -> None:
    (tmp_path / "lab.yaml").write_text("name: x\n", "utf-8")
    (tmp_path / "bad.yaml").write_text("name: x\nregoin: a\n", "utf-8")
    settings = environment(tmp_path, UNREACHED)

    done = subprocess.run(
        [*STARTS[start], *words.split()], cwd=tmp_path, env=settings, capture_output=True, text=True,
        check=False, timeout=HANG_SECONDS,
    )  # fmt: skip

    here = lamplighter(*words.split(), cwd=tmp_path, env=settings)
    assert (done.returncode, done.stdout, done.stderr) == (code, here.stdout, here.stderr)
    assert len(done.stderr.splitlines()) == (code != 0)


def test_the_command_itself_loads_neither_what_speaks_to_aws_nor_the_embedded_cloud() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import cli.main, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    assert not {"boto3", "kubernetes", "moto", "aws_cdk", "local"} & set(loaded)
