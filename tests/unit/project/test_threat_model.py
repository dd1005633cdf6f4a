"""Every deployed role has its line in the threat model."""

import re

from tests.checkout import ROOT

PERMISSIONS = (ROOT / "docs/reference/operation/permissions.md").read_text("utf-8")
THREATS = (ROOT / "docs/explanation/threat-model.md").read_text("utf-8")


def test_every_role_has_its_line() -> None:
    roles = re.findall(r"^### ([\w-]+)$", PERMISSIONS, re.MULTILINE)
    told = {
        name
        for row in re.findall(r"^\| (`[^|]*`) \|", THREATS, re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", row)
    }

    assert len(roles) > 15
    assert set(roles) <= told, f"no line for {', '.join(sorted(set(roles) - told))}"
