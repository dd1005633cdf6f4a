"""`lamplighter verify` before it touches AWS, and the course of its steps: the plan, the money, what is undone."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import boto3
import pytest

from cli import deployment
from cli.deployment import Deployment
from cli.look_after.verify import JOURNAL
from cli.use import agreed
from cli.verification import course
from cli.verification.account import Account
from cli.verification.journal import Journal
from cli.verification.outcome import Differs, Unfit
from cli.verification.recording import recorded
from cli.verification.step import Play, Step, StepVerdict
from cli.verification.undo import Undo, UndoKind
from lamplighter.domain.money.money import Money
from lamplighter.errors import OutsideFailed
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, REGION, lab_on_moto

ACCOUNT = "123456789012"
LIMIT = Money.of(5, "USD")
NODES = "verify", "--lab-name", "lab", "--steps", "unleased,failsafe"
NO_GROUP = Undo(UndoKind.SIZE, "lab/gpu/no-such-group")


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Account]:
    """An account with an idle lab."""
    with lab_on_moto(monkeypatch, tmp_path) as made:
        made.capacity.ledger.put_document(made.capacity.lab.to_json(), EIGHT)
        found = Deployment("lab", {"LedgerTable": LEDGER}, Says(EIGHT))
        monkeypatch.setattr(deployment, "find", lambda _name: found)
        yield Account(ACCOUNT, REGION, lambda: EIGHT, found)


def stacks() -> list[str]:
    return [stack["StackName"] for stack in boto3.client("cloudformation").describe_stacks()["Stacks"]]


def step(name: str, play: Callable[[Play], None], *, nodes: int = 0) -> Step:
    return Step(name, "", "", timedelta(hours=2), play, nodes=nodes)


def played(account: Account, tmp_path: Path, *steps: Step, resume: bool = False) -> Journal:
    journal = Journal(tmp_path / JOURNAL, "an account")
    if resume:
        journal.read()
    course.play(account, steps, LIMIT, journal, lambda _: None, lambda _: None)
    return journal


def makes(play: Play) -> None:
    play.undo(Undo(UndoKind.STACK, "mine"))
    play.account.create_stack("mine", json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}))
    assert stacks() == ["mine"]


def differs(play: Play) -> None:
    makes(play)
    raise Differs("AWS is otherwise")


def does_not_fit(play: Play) -> None:
    makes(play)
    raise Unfit("this account has no such thing")


def fails(play: Play) -> None:
    makes(play)
    raise OutsideFailed("AWS does not answer")


@pytest.mark.parametrize(
    ("play", "verdict", "evidence"),
    [
        (makes, StepVerdict.PASSED, []),
        (differs, StepVerdict.FAILED, ["AWS is otherwise"]),
        (does_not_fit, StepVerdict.NOT_TRIED, ["this account has no such thing"]),
        (fails, StepVerdict.NOT_TRIED, ["AWS does not answer"]),
    ],
)
def test_what_a_step_made_is_undone_whatever_came_of_it(
    account: Account, tmp_path: Path, play: Callable[[Play], None], verdict: StepVerdict, evidence: list[str]
) -> None:
    [result] = played(account, tmp_path, step("one", play)).results
    assert (result.verdict, list(result.evidence)) == (verdict, evidence)
    assert stacks() == []


def test_what_a_step_undoes_itself_is_no_longer_to_be_undone(account: Account, tmp_path: Path) -> None:
    def undoes(play: Play) -> None:
        makes(play)
        play.back(Undo(UndoKind.STACK, "mine"))
        assert stacks() == []
        assert json.loads((tmp_path / JOURNAL).read_text("utf-8"))["open"] == []

    [result] = played(account, tmp_path, step("one", undoes)).results
    assert result.verdict is StepVerdict.PASSED


def test_after_what_cannot_be_undone_no_step_begins_and_a_later_run_tries_again(
    account: Account, tmp_path: Path
) -> None:
    def sticks(play: Play) -> None:
        play.undo(NO_GROUP)
        makes(play)

    begun: list[str] = []
    steps = step("one", sticks), step("two", lambda _: begun.append("two"))
    with pytest.raises(OutsideFailed, match="not undone: size lab/gpu/no-such-group"):
        played(account, tmp_path, *steps)
    assert stacks() == []

    with pytest.raises(OutsideFailed, match="--resume"):
        played(account, tmp_path, *steps, resume=True)
    assert begun == []


def test_an_interrupted_step_is_played_again_and_all_of_its_money_counts(
    account: Account, tmp_path: Path
) -> None:
    def stopped(_: Play) -> None:
        raise KeyboardInterrupt

    first = step("one", lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        played(account, tmp_path, first, step("two", stopped, nodes=2))

    again = step("two", lambda _: None, nodes=2)
    results = played(account, tmp_path, first, again, resume=True).results

    # Two nodes for two hours cost 4.95 USD, of 5.
    assert [(result.step, result.verdict) for result in results] == [
        ("one", StepVerdict.PASSED),
        ("two", StepVerdict.NOT_TRIED),
    ]
    assert results[1].evidence == ["it can cost 4.95 USD, and 0.05 USD are left of --spend"]


def test_no_number_of_interruptions_spends_more(account: Account, tmp_path: Path) -> None:
    def stopped(_: Play) -> None:
        raise KeyboardInterrupt

    free, costs = step("free", stopped), step("costs", stopped, nodes=2)
    for steps in [costs], [free]:
        with pytest.raises(KeyboardInterrupt):
            played(account, tmp_path, *steps, resume=steps == [free])

    again = step("costs", lambda _: None, nodes=2)
    [result] = played(account, tmp_path, again, resume=True).results
    assert result.evidence == ["it can cost 4.95 USD, and 0.05 USD are left of --spend"]


def test_the_plan_says_what_each_step_can_cost_and_what_does_not_fit(
    account: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(agreed, "somebody_is_there", lambda: True)
    said = lamplighter(*NODES, "--spend", "2", cwd=tmp_path, stdin="n\n")
    assert said.returncode == 1
    assert "at most 75 minutes and 1.55 USD" in said.stdout
    assert (
        "failsafe: would not be tried: it can cost 3.09 USD, and 0.45 USD are left of --spend" in said.stdout
    )
    assert said.stderr.endswith("nothing was made\n")


BAD = {
    "--steps bus,schedule": "--steps: there is no step 'schedule'",
    "--spend much": '--spend: is "much", write an amount',
    "--resume": "--resume: there is no unfinished run here",
    "--json no-folder/report.json": "--json: 'no-folder/report.json' cannot be written",
    "": "nothing was made: --yes agrees to the plan",
}


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("words", BAD)
def test_a_bad_word_is_answered_in_one_line(tmp_path: Path, words: str) -> None:
    said = lamplighter(*NODES, *words.split(), cwd=tmp_path)
    assert said.returncode == (2 if words else 1)
    assert BAD[words] in said.stderr
    assert said.stderr.count("\n") == 1


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    ("journal", "words", "why"),
    [
        ("{}", "--resume", "this is no journal of a run"),
        ('{"steps": [], "open": [], "begun": null, "of": "another"}', "--resume", "a run in another"),
        ("{}", "--yes", "an earlier run is unfinished"),
    ],
)
def test_a_journal_of_another_run_is_kept(tmp_path: Path, journal: str, words: str, why: str) -> None:
    (tmp_path / JOURNAL).write_text(journal, "utf-8")
    said = lamplighter("verify", "--lab-name", "lab", words, cwd=tmp_path)
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert why in said.stderr
    assert (tmp_path / JOURNAL).read_text("utf-8") == journal


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("more", [(), ("--resume",)])
def test_a_run_that_is_at_work_is_left_alone(tmp_path: Path, more: tuple[str, ...]) -> None:
    with Journal(tmp_path / JOURNAL, "an account").alone():
        said = lamplighter(*NODES, "--yes", *more, cwd=tmp_path)
    assert (said.returncode, said.stderr) == (
        2,
        f"{JOURNAL}: a run is at work in this folder, wait for its end\n",
    )


def test_a_recording_has_no_number_and_no_name_of_the_account(account: Account, tmp_path: Path) -> None:
    with recorded(tmp_path) as recording:
        recording.forget(account)
        recording.step("one")
        asked = {"StackName": "lab-controller", "Owner": "ann.lee@example.com"}
        arn = f"arn:aws:ec2:{REGION}:{ACCOUNT}:instance/i-0a1b2c3d4e5f60718"
        recording.note(
            "cloudformation", "DescribeStacks", asked, {"Arn": arn, "Again": arn, "At": "10.0.3.7"}
        )
        recording.note("dynamodb", "GetItem", {"TableName": LEDGER}, {"Item": {"owner": {"S": "ann"}}})
        recording.note("cloudformation", "DescribeStacks", {}, {"Stacks": ["of others"]})
    [line] = (tmp_path / "one.jsonl").read_text("utf-8").splitlines()
    document = json.loads(line)
    assert document["request"] == {"StackName": "lab-controller", "Owner": "id-00000001"}
    instance = f"arn:aws:ec2:{REGION}:111122223333:instance/i-00000002"
    assert document["answer"] == {"Arn": instance, "Again": instance, "At": "id-00000003"}


def test_a_recording_has_no_name_of_a_person(tmp_path: Path) -> None:
    answer = {
        "Tags": [{"Key": "Owner", "Value": "minji"}, {"Key": "eks:cluster-name", "Value": "kept"}],
        "tags": {"by": "minji"},
        "KeyName": "minji-laptop",
        "RoleARN": "arn:aws:iam::222233334444:role/minji",
        "PrivateDnsName": "ip-10-0-3-7.ec2.internal",
        "MacAddress": "0a:1b:2c:3d:4e:5f",
        "endpoint": "https://0A1B2C3D4E5F60718293A4B5C6D7E8F9.gr7.ap-northeast-2.eks.amazonaws.com",
    }
    with recorded(tmp_path) as recording:
        recording.step("one")
        recording.note("ec2", "DescribeInstances", {}, answer)
    text = (tmp_path / "one.jsonl").read_text("utf-8")
    assert "kept" in text
    assert not [name for name in ("minji", "222233334444", "10-0-3-7", "0a:1b", "0A1B") if name in text]
