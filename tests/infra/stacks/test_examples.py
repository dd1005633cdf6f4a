"""The labs of examples/, one a source document: each is a good lab, and its templates pass every check."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lamplighter.lab.model import Lab
from lamplighter.labfile import file as labfile
from stacks.layer import CHECKOUT
from tests.infra.cfn_lint import NOTHING, complaints
from tests.infra.conftest import Assembly, Synthesis

EXAMPLES = sorted((CHECKOUT / "examples").glob("*.yaml"))
TROUBLESHOOTING = CHECKOUT / "examples" / "004-troubleshooting.yaml"
#: The code of the functions holds the lab as its file has it, so the hash differs.
ASSET = re.compile(r"[0-9a-f]{64}(?=\.zip)")


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(path.read_text("utf-8"))
    return found


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.stem)
def example(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_an_example_is_named_by_its_document(example: Path) -> None:
    assert re.fullmatch(r"00[0-4]-[a-z-]+", example.stem)
    number = example.stem[:3]
    assert f"document {number}" in example.read_text("utf-8").partition("\nname:")[0]


def test_an_example_is_a_good_lab(example: Path) -> None:
    lab = labfile.read(str(example))
    assert isinstance(lab, Lab), [str(problem) for problem in lab]


@pytest.mark.long
@pytest.mark.parametrize(
    "example", [path for path in EXAMPLES if path != TROUBLESHOOTING], ids=lambda path: path.stem
)
def test_the_templates_of_an_example_pass_every_check(example: Path, synthesis: Synthesis) -> None:
    """Those of the troubleshooting lab are the default lab's, which test_checks.py judges."""
    assembly = synthesis(document(example), True)

    assert assembly.violations() == []
    assert complaints(assembly.files) == NOTHING


def test_the_troubleshooting_lab_is_the_default_lab(synthesis: Synthesis) -> None:
    written_out = document(TROUBLESHOOTING)

    spelt, bare = synthesis(written_out, False), synthesis({"name": written_out["name"]}, False)

    assert spelt.stacks == bare.stacks
    for stack in spelt.stacks:
        assert without_hashes(spelt, stack) == without_hashes(bare, stack)


def without_hashes(assembly: Assembly, stack: str) -> Any:
    text = (assembly.folder / f"{stack}.template.json").read_text("utf-8")
    return json.loads(ASSET.sub("", text))
