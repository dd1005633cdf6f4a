"""`check --json` about good and bad lab files."""

import json
from pathlib import Path

from lamplighter.lab.model import Lab
from tests.programs import lamplighter


def test_a_good_lab_is_written_out_with_its_defaults(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("name: small\n", "utf-8")

    said = lamplighter("check", "--lab", file, "--json")

    document = json.loads(said.stdout)
    assert document["good"] is True
    assert document["problems"] == []
    assert document["summary"][0].startswith("small is good")
    assert Lab.model_validate(document["lab"]).pools["gpu"].instance_type == "g5.xlarge"


def test_every_problem_of_a_bad_lab_is_an_entry_and_a_line(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("name: small\nregio: eu-central-1\npools: {gpu: {max_nodes: 0}}\n", "utf-8")

    said = lamplighter("check", "--lab", file, "--json")

    document = json.loads(said.stdout)
    assert document["good"] is False
    assert [(each["line"], each["key"]) for each in document["problems"]] == [
        (2, "regio"),
        (3, "pools.gpu.max_nodes"),
    ]
    assert said.returncode == 2
    assert "region" in said.stderr
