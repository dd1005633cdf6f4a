"""An organisation's permissions boundary is on every role, but those whose boundary the failsafe needs."""

from pathlib import Path

import pytest

from tests.infra.conftest import DEFAULT, Assembly, Synthesis
from tests.infra.node_pools.conftest import AUTO_MODE, KARPENTER
from tests.infra.stacks.test_app import synthesise

THEIRS = "arn:aws:iam::123456789012:policy/organisation-boundary"


@pytest.mark.parametrize(
    ("lab", "own"),
    [
        (DEFAULT, set()),
        (KARPENTER, {"failsafe-machine", "karpenter"}),
        (AUTO_MODE, {"failsafe-machine", "control-plane"}),
    ],
    ids=["node-group", "karpenter", "auto-mode"],
)
def test_every_role_has_it_or_one_of_the_lab(
    synthesis: Synthesis, lab: dict[str, object], own: set[str]
) -> None:
    # The whole app: the cluster's stack alone has no aspect for it.
    whole = synthesis({**lab, "permissions_boundary": THEIRS}, False).folder
    assembly = Assembly(lambda: whole)
    kept = set()
    for template in (assembly.template(stack) for stack in assembly.stacks):
        for name, role in template.of_type("AWS::IAM::Role").items():
            boundary = role["Properties"].get("PermissionsBoundary")
            if boundary != THEIRS:
                assert template.resources[boundary["Ref"]]["Type"] == "AWS::IAM::ManagedPolicy", name
                kept.add(role["Properties"]["RoleName"].removeprefix("gpu-lab-ap-northeast-2-"))
    assert kept == own


def test_without_the_key_no_role_has_one(synthesis: Synthesis) -> None:
    template = synthesis(DEFAULT, False).template("gpu-lab-controller")
    assert all("PermissionsBoundary" not in role for role in template.properties("AWS::IAM::Role"))


def test_the_cdk_s_own_key_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("name: tiny\n")
    context = '{"@aws-cdk/core:permissionsBoundary": {"name": "theirs"}}'
    done = synthesise(cwd=tmp_path, CDK_CONTEXT_JSON=context, CDK_OUTDIR=str(tmp_path / "out"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "context: @aws-cdk/core:permissionsBoundary replaces the boundaries that the failsafe needs;"
        " remove it, and write permissions_boundary in the lab file\n"
    )
    assert not (tmp_path / "out").exists()
