"""Every deployed role has its line in the threat model, with what it may change in the account and in the cluster.

The table of the page is made from the templates and from rbac.yaml; tests/infra/test_pages.py compares it with them.
"""

import re

import pytest

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


WORDS = {
    "change the nodes' security groups": "ingress",
    "create `pods/eviction` anywhere in Kubernetes": "evicts",
    "delete `pods` anywhere in Kubernetes": "deletes pods anywhere",
    "delete a log group": "deletes the log group",
    "end instances in EC2": "terminates its instances",
    "patch `clusterpolicies` anywhere in Kubernetes": "patches the ClusterPolicy",
    "patch `nodes` anywhere in Kubernetes": "patches any node",
    "put events on a bus": "puts any event",
    "read a secret": "the app's secret|reads the secret",
    "write or delete pages": "(writes|deletes) (any receipt|every) page",
    "write schedules": "schedules",
    "write the ledger": "ledger|`LAB` partition",
}


@pytest.mark.parametrize("power", WORDS)
def test_what_a_role_may_change_stands_in_its_line(power: str) -> None:
    [roles] = re.findall(rf"^\| {re.escape(power)} \| (.*) \|$", THREATS, re.MULTILINE)

    for role in re.findall(r"`([\w-]+)`", roles):
        [line] = re.findall(rf"^\| `{role}` \|.*$", THREATS, re.MULTILINE)
        assert re.search(WORDS[power], line), role
