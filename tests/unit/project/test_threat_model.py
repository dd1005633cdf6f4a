"""Every deployed role has its line in the threat model, with what it may write in the whole cluster."""

import re

import yaml

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
    "clusterpolicies": "patches the ClusterPolicy",
    "nodes": "patches any node",
    "pods": "deletes pods anywhere",
    "pods/eviction": "evicts",
}


def test_what_a_role_may_write_in_the_cluster_stands_in_its_line() -> None:
    rbac = (ROOT / "lambdas/lamplighter/data/rbac.yaml").read_text("utf-8")
    writes = {
        (str(each["metadata"]["name"]).removeprefix("lamplighter-"), resource)
        for each in yaml.safe_load_all(rbac)
        if each["kind"] == "ClusterRole"
        for rule in each["rules"]
        for resource in rule["resources"]
        if {*rule["verbs"]} - {"get", "list", "watch"}
    }

    assert len(writes) > 5
    for role, resource in writes:
        [line] = re.findall(rf"^\| `{role}` \|.*$", THREATS, re.MULTILINE)
        assert WORDS[resource] in line, (role, resource)
