"""Asked in the wrong region, a verb names the labs in the other regions that the AWS settings name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit import aws_over_http
from tests.unit.cli.test_verbs_outside import REGION, create_lab, run
from tests.unit.cli.test_verbs_outside import environment as plain_environment

FAR = "us-west-2"


@pytest.fixture(scope="module")
def lab_far_away() -> Iterator[str]:
    """An account with one lab in another region."""
    with aws_over_http.account() as endpoint:
        create_lab(endpoint, "evening", FAR)
        yield endpoint


def environment(home: Path, endpoint: str) -> dict[str, str]:
    """The settings of a user who has a profile for the other region as well."""
    config = home / "config"
    config.write_text(f"[default]\nregion = {REGION}\n[profile evening]\nregion = {FAR}\n", "utf-8")
    return plain_environment(home, endpoint) | {"AWS_CONFIG_FILE": str(config)}


def test_a_lab_in_another_region_and_the_account_are_named(lab_far_away: str, tmp_path: Path) -> None:
    code, said, seconds = run(["status"], environment(tmp_path, lab_far_away))

    assert (code, len(said)) == (2, 1), said
    assert said[0].startswith(f"no lab is deployed in {REGION}")
    assert f"evening in {FAR}" in said[0]
    assert f"AWS_REGION={FAR}" in said[0]
    assert "account 123456789012" in said[0]
    assert seconds < 10


def test_a_lab_that_is_named_is_looked_for_in_the_other_regions(lab_far_away: str, tmp_path: Path) -> None:
    code, said, _ = run(["status", "--lab-name", "evening"], environment(tmp_path, lab_far_away))
    assert (code, len(said)) == (2, 1), said
    assert f"no lab 'evening' is deployed in {REGION}" in said[0]
    assert f"AWS_REGION={FAR}" in said[0]


def test_a_region_that_no_setting_names_is_not_asked(lab_far_away: str, tmp_path: Path) -> None:
    _, said, _ = run(["status"], plain_environment(tmp_path, lab_far_away))
    assert FAR not in said[0]
    assert "AWS_REGION" in said[0]
