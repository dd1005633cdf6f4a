"""The functions that an evening of leases does not call: one of their calls fails in any way, or answers anything.

These are the functions that read and answer, and the one of experiments. Together with test_faults.py, each function
of the lab is in a story, and each call that it makes there is tried.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import handlers
from handlers import deploy
from tests.lengths import LONG, SEED
from tests.properties.histories import histories
from tests.properties.laws import test_faults as evenings
from tests.world.fault_answers import Answers
from tests.world.fault_deploy import DEPLOYED
from tests.world.fault_experiment import CHANGING, FUNCTION, Experiment
from tests.world.fault_story import names_of
from tests.world.faults import Fault, kinds

ONE_IN = 1 if LONG else 4
"""Of the experiment's calls a short run tries some."""
KINDS = histories(1, share=100)
"""The kinds of faults of a call that are tried."""


@pytest.fixture(scope="module")
def answers() -> Iterator[Answers]:
    with Answers() as found:
        yield found


def faults(chance: random.Random, function: str, call: str) -> Iterator[Fault]:
    """Some faults of a call; some reads of the ledger fail for one pool alone."""
    found = kinds(call)
    for kind in chance.sample(found, min(KINDS, len(found))):
        pool = chance.choice((None, None, "gpu", "big"))
        yield Fault(call, kind, function, names_of(pool) if pool and call == "dynamodb.query" else ())


#: What was wrong once.
BROKE = {
    "one post of the board that failed in a new way kept all others from being made": Fault(
        "slack.chat.postMessage", "foreign 0", "board"
    ),
    "an offer whose note nobody acknowledged was made to nobody, and its asker left the list": Fault(
        "dynamodb.update_item", "lost", "board"
    ),
    "a receipt of one pool that cannot be read kept those of the others from being drawn": Fault(
        "dynamodb.query", "error InternalServerError", "pages", names_of("gpu")
    ),
    "a secret that could not be read in a new way failed its whole batch": Fault(
        "secretsmanager.get_secret_value", "foreign 0", "slack"
    ),
    "a result of the doctor whose write nobody acknowledged sent no notice": Fault(
        "dynamodb.transact_write_items", "lost", "doctor"
    ),
    "an answer that Slack refused in the channel was given nowhere": Fault(
        "slack.chat.postEphemeral", "error 200", "board"
    ),
    "a window was taken back, and no notice sent, where its pool's credentials did not come": Fault(
        "dynamodb.get_item", "silent 4", "planner"
    ),
    "a calendar that broke in a new way kept all windows from being planned": Fault(
        "https.GET", "foreign 4", "planner"
    ),
    "calendars that the ledger does not say kept other pools' windows from being planned": Fault(
        "dynamodb.query", "error InternalServerError", "planner", ("COURSE#",)
    ),
    "CloudFormation was told once only where its address answered with nonsense": Fault(
        "https.PUT", "foreign 2", "deploy"
    ),
}


@pytest.mark.parametrize("fault", BROKE.values(), ids=BROKE)
def test_what_was_wrong_once_is_right(answers: Answers, fault: Fault) -> None:
    assert answers.broken(fault) == []


@pytest.mark.longer
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("function", Answers.functions)
def test_whatever_fails_an_answer_is_given_and_nothing_else_is_touched(
    answers: Answers, function: str
) -> None:
    chance = random.Random(f"{SEED} {function}")
    for _, call in (each for each in answers.known() if each[0] == function):
        for fault in faults(chance, function, call):
            assert answers.broken(fault) == [], fault


@pytest.mark.longer
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("name", CHANGING)
def test_whatever_fails_an_experiment_is_undone_when_its_lease_ends(name: str) -> None:
    chance, usual = random.Random(f"{SEED} {name}"), Experiment(name)
    assert usual.broken() == []
    for call in usual.known()[chance.randrange(ONE_IN) :: ONE_IN]:
        for fault in faults(chance, FUNCTION, call):
            assert Experiment(name, fault).broken() == [], fault


def test_each_step_of_a_deploy_is_in_the_story() -> None:
    """The last close is no resource's step: the story ends with its answer."""
    assert {kind for _, kind, _ in DEPLOYED} | {"LastClosed"} == deploy.KINDS.keys()


def test_each_function_is_in_a_story(answers: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    tried = {(function, call) for _, function, call in evenings.calls()} | set(answers.known())
    for name in CHANGING:
        experiment = Experiment(name)
        assert experiment.broken() == []
        tried |= {(FUNCTION, call) for call in experiment.known()}
    functions = {
        file.stem for file in Path(handlers.__path__[0]).glob("*.py") if "def handler(" in file.read_text()
    }
    with capsys.disabled():
        sys.stdout.write(f"\nFaults: {len(tried)} calls of {len(functions)} functions\n")

    assert {function for function, _ in tried} == functions
