"""The rights in the how-tos are enough for the verbs that they name, and for nothing more."""

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from cli import deployment
from cli.deployment import Deployment
from cli.use import orders
from lamplighter.domain.commands.asked import PATHS
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.checkout import ROOT
from tests.programs import lamplighter
from tests.unit import aws_calls, lab_address
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, REGION, LabOnMoto, lab_on_moto


def policies(page: str) -> list[dict[str, Any]]:
    text = (ROOT / f"docs/how-to/{page}.md").read_text("utf-8")
    return [json.loads(found) for found in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]


LOOKING, USING = policies("set-up/let-people-in")
[RUNNING] = policies("run/run-a-lab")
LOOK = [["status"], ["leases"], ["windows"], ["why"], ["cost"], ["page", "--json"], ["experiment", "list"]]
USE = [["open", "1"], ["close", "cli-1", "--yes"], ["extend", "cli-1", "10m"], ["keep", "cli-1"]]
RUN = [
    ["open", "1", "--owner", "alice"],
    ["close", "cli-2", "--yes"],
    ["close", "--all", "--yes"],
    ["extend", "cli-2", "10m"],
    ["keep", "cli-2"],
    ["skip", "evening", "--yes"],
    ["pause", "--yes"],
    ["resume"],
    ["ack"],
    ["arm", "--yes"],
    ["arm"],
]
#: The services whose names in botocore and IAM differ.
IAM_CALLS = {"SFN": "states", "Auto Scaling": "autoscaling"}
#: Every caller may ask for its own identity.
FREE = {"sts:GetCallerIdentity"}


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def allowed(*given: Mapping[str, Any]) -> set[str]:
    return {
        action for each in given for part in each["Statement"] for action in listed(part["Action"])
    } | FREE


def resources(policy: Mapping[str, Any], action: str) -> list[str]:
    return [
        resource
        for part in policy["Statement"]
        if action in listed(part["Action"])
        for resource in listed(part["Resource"])
    ]


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    monkeypatch.chdir(tmp_path)  # where `page` writes
    window = {"name": "evening", "days": "daily", "start": "21:00", "end": "23:00", "time_zone": "UTC"}
    with lab_on_moto(monkeypatch, tmp_path) as made:
        document = Lab.model_validate({"name": "lab", "windows": [window]})
        made.capacity.ledger.put_document(document.to_json(), EIGHT)
        made.lease(nodes=1, opens=-10, closes=50, owner="moto")
        made.lease(nodes=1, opens=-10, closes=50, name="cli-2")
        with lab_address.function(monkeypatch, made, document):
            # No workflow runs here, so no decision comes: the test sees only that it was started.
            monkeypatch.setattr(orders, "DECISION_SECONDS", 0)
            yield made


@pytest.fixture
def paths(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths of the lab's address that the command line called."""
    assert lab
    with lab_address.address() as (url, asked):
        outputs = {"LedgerTable": LEDGER, "CommandsUrl": url, "Region": REGION}
        found = Deployment("lab", outputs, Says(EIGHT))
        monkeypatch.setattr(deployment, "find", lambda _name: found)
        yield asked


class Calls:
    """Every AWS call of the command line, as IAM names it, and the partitions of the ledger that it read."""

    def __init__(self) -> None:
        self.actions: set[str] = set()
        self.partitions: set[str] = set()
        self.nodegroups: set[str] = set()
        """Cluster and node group, as in their ARN."""

    def note(self, service: str, operation: str, given: Mapping[str, Any]) -> None:
        self.actions.add(f"{IAM_CALLS.get(service, service.lower())}:{operation}")
        key = given.get("Key", {}).get("pk") or given.get("ExpressionAttributeValues", {}).get(":pk")
        if key is not None:
            self.partitions.add(key["S"])
        if "nodegroupName" in given:
            self.nodegroups.add(f"{given['clusterName']}/{given['nodegroupName']}")


@pytest.fixture
def calls(paths: list[str]) -> Iterator[Calls]:
    made = Calls()
    assert not paths
    with aws_calls.heard(made.note):
        yield made


@pytest.mark.parametrize("words", LOOK, ids=" ".join)
def test_who_may_look_can(words: list[str], calls: Calls) -> None:
    lamplighter(*words)

    assert calls.actions
    assert calls.actions <= allowed(LOOKING)
    [condition] = [part["Condition"] for part in LOOKING["Statement"] if "Condition" in part]
    known = condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    assert calls.partitions
    assert all(any(fnmatchcase(key, pattern) for pattern in known) for key in calls.partitions)


def test_who_may_look_at_a_lab_that_adopted_a_cluster_can(lab: LabOnMoto, calls: Calls) -> None:
    pool = {"existing": "gpus", "instance_type": "g5.xlarge", "max_nodes": 2}
    adopted = Lab.model_validate({"name": "lab", "cluster": {"existing": "theirs"}, "pools": {"gpu": pool}})
    lab.capacity.ledger.put_document(adopted.to_json(), lab.at(1))

    lamplighter("cost")

    [allowed_to] = resources(LOOKING, "eks:DescribeNodegroup")
    pattern = allowed_to.replace("LAB", "lab").replace("CLUSTER", "theirs")
    assert calls.nodegroups == {"theirs/gpus"}
    assert fnmatchcase("arn:aws:eks:REGION:ACCOUNT:nodegroup/theirs/gpus/some-id", pattern)


def test_who_may_look_reads_nothing_of_what_slack_told_the_lab() -> None:
    [condition] = [part["Condition"] for part in LOOKING["Statement"] if "Condition" in part]
    known = condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    assert not any(fnmatchcase(key, pattern) for key in ("SLACK", "SLACK#gpu") for pattern in known)


@pytest.mark.parametrize("words", USE, ids=" ".join)
def test_who_may_open_and_close_can(words: list[str], paths: list[str]) -> None:
    lamplighter(*words)

    assert paths
    assert all(path.startswith("/own/") for path in paths)


@pytest.mark.parametrize("words", RUN, ids=" ".join)
def test_what_is_another_s_or_everybody_s_is_asked_for_as_who_runs_the_lab(
    words: list[str], paths: list[str]
) -> None:
    lamplighter(*words)

    assert all(path.startswith("/lab/") for path in paths)
    assert paths or words == ["arm"]


@pytest.mark.parametrize("words", [*USE, *RUN], ids=" ".join)
def test_a_verb_asks_aws_for_no_more_than_the_policies_say(words: list[str], calls: Calls) -> None:
    lamplighter(*words)

    # The function behind the address runs in this process too, with its own rights.
    assert calls.actions <= allowed(LOOKING, USING, RUNNING) | {"states:StartExecution"}


def test_no_policy_of_a_person_starts_a_workflow_and_each_leads_to_its_own_addresses() -> None:
    everything = allowed(LOOKING, USING, RUNNING)
    assert not [action for action in everything if action.startswith(("states:", "lambda:"))]
    for policy, authority in ((USING, "own"), (RUNNING, "lab")):
        [pattern] = resources(policy, "execute-api:Invoke")
        place = "arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/POST"
        may = [path for path in PATHS if fnmatchcase(f"{place}/{path}", pattern)]
        assert may == [path for path in PATHS if path.startswith(f"{authority}/")]
