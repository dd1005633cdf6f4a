"""What other programs say of the templates: cdk-nag, CloudFormation's rules, cfn-lint; and that a synthesis
is the same each time, complains of nothing, and asks nobody.
"""

import json
from collections.abc import Callable

import pytest
from aws_cdk import Validations

from tests.infra.cfn_lint import NOTHING, complaints
from tests.infra.conftest import DEFAULT, Assembly


@pytest.mark.parametrize("lab", ["assembly", "without_operator", "images"])
def test_cdk_nag_and_the_built_in_rules_find_nothing_unexplained(
    lab: str, request: pytest.FixtureRequest
) -> None:
    assert request.getfixturevalue(lab).violations() == []


def test_cfn_lint_finds_nothing(assembly: Assembly, without_operator: Assembly, images: Assembly) -> None:
    others = [lab.folder / "gpu-lab-cluster.template.json" for lab in (without_operator, images)]
    assert complaints([*assembly.files, *others]) == NOTHING


def test_nothing_is_warned_of_so_strict_passes(assembly: Assembly) -> None:
    said = []
    for document in assembly.folder.glob("*.metadata.json"):
        for path, entries in json.loads(document.read_text("utf-8")).items():
            said += [(path, e) for e in entries if e["type"] in {"aws:cdk:warning", "aws:cdk:error"}]
    manifest = json.loads((assembly.folder / "manifest.json").read_text("utf-8"))
    assert said == []
    # Nothing is looked up: the zones are the lab's own.
    assert "missing" not in manifest


def test_two_syntheses_of_a_lab_are_the_same(assembly: Assembly, synthesise: Callable[..., Assembly]) -> None:
    again = synthesise(**DEFAULT)
    for stack in assembly.stacks:
        assert again.template(stack).resources == assembly.template(stack).resources


def test_every_reason_is_a_sentence(assembly: Assembly) -> None:
    """A suppression says why, in words a person would use."""
    key = Validations.ACKNOWLEDGED_RULES_METADATA_KEY
    reasons = [
        reason
        for document in assembly.folder.glob("*.metadata.json")
        for entries in json.loads(document.read_text("utf-8")).values()
        for entry in entries
        if entry["type"] == key
        for reason in entry["data"].values()
    ]
    assert reasons
    for reason in reasons:
        assert len(reason.split()) >= 5, reason
        assert reason.endswith("."), reason
