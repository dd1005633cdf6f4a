"""With the settings that `local env` prints, a shell reaches the embedded cloud."""

import json
import subprocess
from pathlib import Path

from tests.programs import lamplighter

CLOUD = {
    "aws": {
        "endpoint": "http://127.0.0.1:4566",
        "region": "ap-northeast-2",
        "access_key_id": "test",
        "secret_access_key": "it's $HOME",
    },
    "kubernetes": {"kubeconfig": "/somewhere/a folder/kubeconfig"},
}


def test_a_shell_takes_what_it_prints(tmp_path: Path) -> None:
    file = tmp_path / "cloud.json"
    file.write_text(json.dumps(CLOUD), "utf-8")
    said = lamplighter("local", "env", "--cloud", file).stdout

    asked = 'printf "%s|" "$AWS_ENDPOINT_URL" "$AWS_SECRET_ACCESS_KEY" "$KUBECONFIG" "$AWS_DEFAULT_REGION$AWS_PROFILE"'
    script = f"export AWS_PROFILE=mine; {said.replace(chr(10), ';')} {asked}"
    taken = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True).stdout

    assert taken.split("|") == [
        "http://127.0.0.1:4566",
        "it's $HOME",
        "/somewhere/a folder/kubeconfig",
        "ap-northeast-2",
        "",
    ]


def test_a_cloud_that_does_not_run_is_told(tmp_path: Path) -> None:
    said = lamplighter("local", "env", "--cloud", tmp_path / "none.json")
    assert "name the file of `lamplighter local up --json FILE`" in said.stderr


def test_a_file_of_something_else_is_told(tmp_path: Path) -> None:
    (tmp_path / "cloud.json").write_text("[]", "utf-8")
    said = lamplighter("local", "env", "--cloud", tmp_path / "cloud.json")
    assert "is not what `lamplighter local up --json FILE` writes" in said.stderr
