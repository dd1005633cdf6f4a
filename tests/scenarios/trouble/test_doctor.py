"""The doctor on the embedded cloud: one thing is broken at a time, and only its line reports it, with what to do."""

import json
import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from moto.sns.models import sns_backends

from lamplighter.domain.doctor.line import DoctorLine, LineOutcome
from lamplighter.domain.doctor.readiness import Grade
from lamplighter.lab.model import Lab
from tests.scenarios.command_line.commands import commands
from tests.scenarios.deployed_lab import NOON, deployed_lab
from tests.scenarios.lab_day import LabDay, Said
from tests.scenarios.trouble.broken_account import (
    BROKEN,
    NOT_OK,
    Account,
    in_order,
    no_bootstrap,
    no_trail,
    small_quota,
)

pytestmark = pytest.mark.long

LAB = """
name: gpu-lab
gpu_operator: {enabled: false}
slack: {channel: C0123456789}
guard: {look_again: 30m}
windows: [{name: class, nodes: 2, days: daily, start: "14:00", end: "15:00", time_zone: UTC}]
"""


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        made = Account(LabDay(cloud))
        in_order(made)
        yield made


@pytest.fixture(autouse=True, scope="module")
def _clients(account: Account) -> Iterator[None]:
    """Clients of this process call the embedded cloud."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in account.cloud.played().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def well(account: Account) -> Mapping[str, DoctorLine]:
    """The lines while nothing is broken."""
    return account.look()


def fresh(**more: object) -> Lab:
    """A lab that is not deployed: its cluster, node group and secret do not exist yet."""
    return Lab.model_validate({"name": "fresh", **more})


def differing(before: Mapping[str, DoctorLine], after: Mapping[str, DoctorLine]) -> dict[str, LineOutcome]:
    return {check: line.outcome for check, line in after.items() if line.outcome is not before[check].outcome}


def test_an_account_in_order_is_all_ok(well: Mapping[str, DoctorLine]) -> None:
    assert {line.check: line for line in well.values() if line.outcome is not LineOutcome.OK} == {}


@pytest.mark.parametrize("name", BROKEN)
def test_each_failure_is_told_apart(account: Account, well: Mapping[str, DoctorLine], name: str) -> None:
    break_it, expected, words = BROKEN[name]

    with break_it(account):
        found = account.look()

    changed = {check: found[check] for check in differing(well, found)}
    assert {check: line.outcome for check, line in changed.items()} == expected, changed
    (wrong,) = [line for line in found.values() if line.outcome is NOT_OK]
    assert words in str(wrong.said)
    assert str(wrong.advice)
    assert differing(well, account.look()) == {}, "what was mended is well again"


def test_a_lab_that_is_not_deployed_yet_is_examined_as_well(account: Account) -> None:
    before, found = account.look(fresh()), account.look(fresh(pools={"gpu": {"zone_index": 1}}))

    assert not [line for line in before.values() if line.outcome is not LineOutcome.OK]
    assert differing(before, found) == {"offering": NOT_OK}
    assert "is not offered in ap-northeast-2b" in str(found["offering"].said)


def test_whoever_looks_elsewhere_is_told_so(account: Account, well: Mapping[str, DoctorLine]) -> None:
    found = account.look(region="us-east-1")

    assert differing(well, found) == {"region": NOT_OK}


def test_what_may_not_be_read_is_not_known_and_names_the_call(account: Account, tmp_path: Path) -> None:
    said = shell(account, "--json", folder=tmp_path, **stranger(account))

    not_ok = {row["check"]: row["said"] for row in said.rows if row["outcome"] != "ok"}
    assert set(not_ok) == {"account-plan", "concurrency", "quota-disks", "quota-g-vt", "trail"}
    assert {row["outcome"] for row in said.rows} == {"ok", "not-known"}
    assert "servicequotas:GetServiceQuota on ec2/L-DB2E81BA failed" in not_ok["quota-g-vt"]
    assert said.code == 0, "what nobody can tell is counted, and fails nothing"


def stranger(account: Account) -> dict[str, str]:
    """Credentials of a role that may call all but two services."""
    role = account.call("iam", "create_role", RoleName="stranger", AssumeRolePolicyDocument="{}")["Role"][
        "Arn"
    ]
    services = ("cloudformation", "ssm", "ec2", "eks", "autoscaling", "dynamodb", "secretsmanager")
    statement = {"Effect": "Allow", "Action": [f"{one}:*" for one in services], "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    account.call("iam", "put_role_policy", RoleName="stranger", PolicyName="may", PolicyDocument=policy)
    group = {"clusterName": "gpu-lab", "principalArn": role}
    account.call("eks", "create_access_entry", **group)
    account.call(
        "eks",
        "associate_access_policy",
        **group,
        policyArn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
        accessScope={"type": "cluster"},
    )
    made = account.call("sts", "assume_role", RoleArn=role, RoleSessionName="doctor")["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": made["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"],
        "AWS_SESSION_TOKEN": made["SessionToken"],
    }


def shell(account: Account, *words: str, folder: Path, **environment: str) -> Said:
    """The command line as a program of its own. An empty variable counts as not set."""
    given = {**os.environ, **account.cloud.played(), **environment}
    set_variables = {name: value for name, value in given.items() if value}
    done = commands().run(("doctor", *words), set_variables, folder)
    return Said(done.returncode, done.stdout, done.stderr)


def test_the_verb_looks_at_the_deployed_lab_where_there_is_no_file(account: Account, tmp_path: Path) -> None:
    well = shell(account, folder=tmp_path)
    with no_bootstrap(account), no_trail(account):
        broken = shell(account, "--deployed", "--json", folder=tmp_path)

    assert (well.code, well.stderr) == (0, "")
    assert well.stdout.startswith("lab gpu-lab in ap-northeast-2, as it is deployed\n")
    assert well.stdout.rstrip().endswith(f"{len(broken.rows)} ok, 0 not ok, 0 not known")
    assert broken.code == 1
    assert {row["check"] for row in broken.rows if row["outcome"] == "not-ok"} == {"bootstrap", "trail"}
    assert set(broken.rows[0]) == {"check", "outcome", "said", "advice"}


def test_aws_is_asked_once_for_a_quota_that_is_too_small(account: Account, tmp_path: Path) -> None:
    enough = shell(account, "--request", folder=tmp_path)
    with small_quota(account):
        unasked = shell(account, "--request", folder=tmp_path)
        asked, again = (shell(account, "--request", "--yes", folder=tmp_path) for _ in range(2))

    wanted = "the quota ec2/L-DB2E81BA in ap-northeast-2 to 8"
    assert (enough.code, enough.stdout.splitlines()[-1]) == (0, "No quota is too small.")
    assert "nothing was requested: say --yes" in unasked.stderr
    assert f"would ask AWS to raise {wanted}" in asked.stdout
    assert "requested: ec2/L-DB2E81BA in ap-northeast-2, 8." in asked.stdout
    assert f"asked already: {wanted}" in again.stdout
    assert "requested:" not in again.stdout
    assert (asked.code, again.code) == (1, 1)


def test_the_verb_looks_at_a_lab_file_where_there_is_one(account: Account, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("name: fresh\n", "utf-8")

    well = shell(account, folder=tmp_path)
    elsewhere = shell(account, "--json", folder=tmp_path, AWS_REGION="us-east-1", AWS_DEFAULT_REGION="")
    nobody = shell(
        account,
        "--json",
        folder=tmp_path,
        AWS_ACCESS_KEY_ID="",
        AWS_SECRET_ACCESS_KEY="",
        AWS_CONFIG_FILE="/no",
    )
    both = shell(account, "--lab", "lab.yaml", "--deployed", folder=tmp_path)
    unreachable = shell(account, folder=tmp_path, AWS_ENDPOINT_URL="http://127.0.0.1:9")

    assert (well.code, well.stderr) == (0, "")
    assert well.stdout.startswith("lab.yaml: lab fresh in ap-northeast-2, before a deploy\n")
    assert [row["check"] for row in elsewhere.rows if row["outcome"] != "ok"] == ["region"]
    assert [row["check"] for row in nobody.rows if row["outcome"] == "not-ok"] == ["credentials"]
    assert nobody.code == 1
    assert both.code == 2
    assert both.stderr.startswith("--lab: names a file")
    assert unreachable.code == 3
    assert "sts:GetCallerIdentity" in unreachable.stderr


def test_the_monthly_visit_sees_the_same_with_its_own_rights_and_says_it_once(
    account: Account, well: Mapping[str, DoctorLine]
) -> None:
    account.day.until_quiet()

    looked = len(well)
    first = visit(account)
    again = visit(account)

    assert first == {"ok": looked, "not_ok": [], "not_known": []}
    assert again == first
    told = [text for text in notices(account) if "lamplighter doctor --deployed" in text]
    assert told == [
        f"{looked} ok, 0 not ok, 0 not known. `lamplighter doctor --deployed` says the same at any time."
    ]
    entries = account.day.ledger.audit("*", NOON)
    assert [str(entry.why) for entry in entries if entry.kind == "examined"] == [
        "The monthly check found nothing to do"
    ]


def visit(account: Account) -> Any:
    reply = account.call("lambda", "invoke", FunctionName="gpu-lab-doctor", Payload=b"{}")
    assert "FunctionError" not in reply, account.cloud.logs("gpu-lab-doctor")
    return json.loads(reply["Payload"].read())


def notices(account: Account) -> list[str]:
    topics = sns_backends["123456789012"]["ap-northeast-2"].topics
    arn = next(arn for arn in topics if arn.endswith(":gpu-lab-notices"))
    return [str(sent[1]) for sent in topics[arn].sent_notifications]


def test_a_window_is_checked_again_before_it_opens_and_a_class_hears_what_is_wrong(account: Account) -> None:
    # given a lab with a window this afternoon, in an account in which somebody's instances use the quota
    day = account.day
    lease = f"class-{day.now:%Y-%m-%d}"
    assert day.lease(lease).opens - day.now > timedelta(minutes=30)

    # when half an hour is left
    with small_quota(account):
        day.until("it is checked", lambda _: lease in day.ledger.readinesses(), timedelta(hours=6))
        checked = day.ledger.readinesses()[lease]
        day.until("it is told", lambda _: bool(day.entries(checked.at, "readiness")), timedelta(minutes=5))

    # then the check had every right that it needs, and the only thing wrong is told with what to do
    assert day.lease(lease).opens - checked.at <= timedelta(minutes=30)
    assert checked.unread == ()
    assert [(one.check, one.grade) for one in checked.findings] == [("quota", Grade.NOT_READY)]
    [entry] = day.entries(checked.at, "readiness")
    assert "What to do:" in str(entry.why)
    [row] = [row for row in day.command("windows", "--json").rows if row["lease"] == lease]
    assert row["readiness"]["grade"] == "not-ready"
