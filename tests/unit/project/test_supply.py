"""Every download is checked against a hash in the repository, also the installer."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LOCKS = (*(ROOT / "requirements").glob("*.txt"), ROOT / "lambdas" / "requirements.txt")
_PIN = re.compile(r"^\S+==(?:.*\\\n)*.*", re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.relative_to(ROOT)))
def test_every_version_in_a_lock_has_its_hashes(lock: Path) -> None:
    pins = _PIN.findall(lock.read_text("utf-8"))
    assert pins
    assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin] == []


def test_no_step_of_the_makefile_installs_what_it_did_not_hold_against_a_hash() -> None:
    steps = [
        line.strip()
        for line in (ROOT / "Makefile").read_text("utf-8").splitlines()
        if re.search(r"\bpip (?:install|sync)\b|\bnpm (?:ci|install)\b|\bnpx\b", line)
    ]
    assert [step for step in steps if "uv " not in step and "pip" in step], "the installer comes by pip"
    for step in steps:
        # The checkout is no download; npm ci checks the hashes of its lock file.
        assert "--require-hashes" in step or "--editable ." in step or "npm ci" in step


def test_the_cdk_s_command_line_comes_by_a_lock_file_with_a_hash_for_every_package() -> None:
    locked = json.loads((ROOT / "requirements" / "cdk" / "package-lock.json").read_text("utf-8"))
    packages = {name: each for name, each in locked["packages"].items() if name}
    assert "node_modules/aws-cdk" in packages
    assert [name for name, each in packages.items() if not each["integrity"].startswith("sha512-")] == []
