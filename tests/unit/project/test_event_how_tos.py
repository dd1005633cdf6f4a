"""The files of the how-tos about events: their requests are ones that the lab takes, and their rights are enough."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from cli.reference import event_schemas
from docs.generate import EVENTS, ROOT
from lamplighter.domain.events.lab_event import KINDS
from lamplighter.lab.model import Lab
from tests.steady.hang import HANG_SECONDS

RUN = ROOT / "docs/how-to/run"
CI = RUN / "ci-job"
TYPES = {kind.TYPE for kind in KINDS}
FAKE_AWS = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> "$CALLS"
case "$1 $2" in
  "events put-events") echo "${EVENT_ID:-11-22}" ;;
  "logs filter-log-events") if [[ "$*" == *"$TOLD"* && "$*" == *"$FUNCTION"* ]]; then echo "told: $TOLD"; fi ;;
esac
"""


def valid(request: dict[str, Any]) -> bool:
    return bool(Draft202012Validator(event_schemas.requests()).is_valid(request))


def pages() -> list[str]:
    return [(RUN / f"open-from-{name}.md").read_text("utf-8") for name in ("ci", "a-pipeline", "jupyterhub")]


def test_the_entries_of_the_how_tos_are_ones_that_a_lab_may_have() -> None:
    shown = [
        yaml.safe_load(dedent(block))
        for page in [*pages(), (ROOT / EVENTS).read_text("utf-8")]
        for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    ]

    assert len(shown) == 4
    for document in shown:
        assert Lab.model_validate({"name": "lab", **document}).events


def test_the_request_of_the_reference_is_one() -> None:
    page = (ROOT / EVENTS).read_text("utf-8")
    entry = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])

    assert valid({"detail-type": entry["DetailType"], "detail": json.loads(entry["Detail"])})


def test_the_pipeline_asks_what_the_lab_takes_and_waits_for_what_it_tells() -> None:
    resources = yaml.safe_load((RUN / "pipeline/pipeline.yaml").read_text("utf-8"))["Resources"]
    states = resources["Pipeline"]["Properties"]["Definition"]["States"]
    for name in ("Open", "Close"):
        [entry] = states[name]["Parameters"]["Entries"]
        detail = {key.removesuffix(".$"): value for key, value in entry["Detail"].items()}
        assert valid({"detail-type": entry["DetailType"], "detail": detail})

    assert {*resources["Told"]["Properties"]["EventPattern"]["detail-type"]} <= TYPES


@pytest.fixture
def pool(tmp_path: Path) -> Any:
    """Runs pool.sh with an `aws` that says what the test says; gives the outcome and the calls."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash on this machine")
    aws = tmp_path / "aws"
    aws.write_text(FAKE_AWS, "utf-8")
    aws.chmod(0o755)
    calls = tmp_path / "calls"

    def run(
        *words: str,
        told: str = "-",
        function: str = "lifecycle",
        event: str = "11-22",
        seconds: float = HANG_SECONDS,
    ) -> Any:
        calls.write_text("", "utf-8")
        given = {"LAB": "gpu-lab", "SOURCE": "ci.training", "POOL": "gpu", "TOKEN": "ci-1-1"}
        answer = {"TOLD": f'"{told}"', "FUNCTION": f"gpu-lab-{function}", "EVENT_ID": event}
        waits = {"WAIT_SECONDS": f"{seconds:.0f}", "POLL_SECONDS": "0.2", "CALLS": str(calls)}
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        ended = subprocess.run(
            [bash, CI / "pool.sh", *words],
            env={**given, **answer, **waits, **path},
            capture_output=True,
            text=True,
            check=False,
        )
        return ended, calls.read_text("utf-8").splitlines()

    return run


@pytest.mark.parametrize("verb", ["open", "close"])
def test_the_script_puts_a_request_that_the_lab_takes(pool: Any, verb: str) -> None:
    ended, [call] = pool(verb)

    assert ended.stdout == "11-22\n"
    [entry] = json.loads(call.partition("--entries ")[2])
    detail = json.loads(entry["Detail"])
    assert (entry["EventBusName"], entry["Source"], detail["token"]) == ("gpu-lab", "ci.training", "ci-1-1")
    assert valid({"detail-type": entry["DetailType"], "detail": detail})


def test_the_script_fails_where_eventbridge_does_not_take_the_event(pool: Any) -> None:
    ended, _ = pool("open", event="None")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "events.allow" in ended.stderr


def test_the_script_waits_for_the_proven_gpus_of_its_own_request(pool: Any) -> None:
    ended, calls = pool("await", "11-22", told="pool-open")

    assert (ended.returncode, ended.stdout) == (0, "the GPUs of gpu are proven\n")
    assert '$.detail.in_reply_to = "11-22"' in calls[0]


@pytest.mark.parametrize(
    ("told", "function"),
    [("lease-refused", "events"), ("lease-refused", "lifecycle"), ("pool-degraded", "lifecycle")],
)
def test_the_script_ends_at_once_where_the_lab_says_no(pool: Any, told: str, function: str) -> None:
    ended, _ = pool("await", "11-22", told=told, function=function)

    assert ended.returncode == 1
    assert told in ended.stderr


def test_the_script_does_not_wait_for_ever(pool: Any) -> None:
    ended, calls = pool("await", "11-22", seconds=1)

    assert ended.returncode == 1
    assert "in time" in ended.stderr
    asked = {word for call in calls for word in re.findall(r'detail_type = "([a-z-]+)"', call)}
    assert asked <= TYPES


def test_the_role_of_the_ci_job_may_do_what_its_files_call_and_no_more() -> None:
    policy = json.loads((CI / "permissions.json").read_text("utf-8"))
    actions = {statement["Action"] for statement in policy["Statement"]}

    assert actions == {"events:PutEvents", "logs:FilterLogEvents", "eks:DescribeCluster"}
    assert all(statement["Resource"] != "*" for statement in policy["Statement"])


def test_only_one_branch_of_one_repository_may_take_the_role() -> None:
    [statement] = json.loads((CI / "trust.json").read_text("utf-8"))["Statement"]

    subjects = statement["Condition"]["StringEquals"]["token.actions.githubusercontent.com:sub"]
    assert all(one.startswith("repo:") and "*" not in one for one in subjects)


def test_the_workflow_closes_whatever_happens() -> None:
    steps = yaml.safe_load((CI / "train.yml").read_text("utf-8"))["jobs"]["train"]["steps"]

    assert (steps[-1]["if"], steps[-1]["run"]) == ("always()", "./pool.sh close")
