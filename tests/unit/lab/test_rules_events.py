"""Who may open and close by events: what does not fit is refused in one clear line."""

import pytest

from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.unit.lab.read_labs import lab

ROLE = "arn:aws:iam::111122223333:role/ci"
TRAINING = f"source: ci.training, principals: ['{ROLE}']"


def refusals(entries: str, rest: str = "") -> list[str]:
    """What is wrong with the entries of `events.allow`."""
    found = parse(f"name: x\n{rest}\nevents: {{allow: {{{entries}}}}}\n", "f")
    if isinstance(found, Lab):
        return []
    assert all(len(problem.text.splitlines()) == 1 for problem in found)
    return [f"{problem.key.removeprefix('events.allow.')}: {problem.text}" for problem in found]


def training(**more: str) -> list[str]:
    """What is wrong with an entry `training` that has these keys as well."""
    given = {"source": "ci.training", "principals": f"['{ROLE}']", **more}
    return refusals(f"training: {{{', '.join(f'{key}: {value}' for key, value in given.items())}}}")


def test_a_lab_without_the_key_has_no_bus() -> None:
    assert lab("").events is None


def test_a_lab_may_have_a_bus_on_which_nobody_may_ask() -> None:
    made = lab("events: {}").events
    assert made is not None
    assert made.allow == {}


def test_an_entry_needs_a_source_and_principals_and_may_all_that_an_event_may() -> None:
    made = lab(f"events: {{allow: {{training: {{{TRAINING}}}}}}}").events
    assert made is not None
    entry = made.allow["training"]
    assert (entry.may, entry.pools, entry.max_nodes, entry.longest) == (
        ["open", "extend", "close"],
        None,
        None,
        None,
    )
    assert made.owner_of("training") == "training"
    assert (made.entry_of("ci.training"), made.entry_of("ci.other")) == ("training", None)


def test_an_entry_without_source_or_principals_is_refused() -> None:
    assert refusals("training: {}") == [
        "training.principals: is missing, write a list",
        "training.source: is missing, write source: ci.training",
    ]


@pytest.mark.parametrize("source", ["aws.ec2", "AWS.ec2", "lamplighter.x", "Lamplighter.other"])
def test_a_source_of_aws_or_of_a_lab_is_refused(source: str) -> None:
    [problem] = training(source=source)
    assert problem == (
        f'training.source: is "{source}", and only AWS and labs themselves use such names; write another,'
        " such as ci.training"
    )


@pytest.mark.parametrize("source", ["", ".ci", "ci training", "ci*", "a" * 65, "7é"])
def test_a_source_that_is_none_is_refused(source: str) -> None:
    [problem] = training(source=f"'{source}'")
    assert problem.startswith("training.source: ")


def test_each_entry_has_a_source_of_its_own() -> None:
    assert refusals(f"one: {{{TRAINING}}}, two: {{{TRAINING}}}") == [
        'two.source: is "ci.training", like that of one: a source says who asks; write another'
    ]


@pytest.mark.parametrize("principal", [
    "'*'",
    "arn:aws:iam::111122223333:root",
    "arn:aws:iam::1111:role/ci",
    "arn:aws:sts::111122223333:assumed-role/ci/session",
    "arn:aws:iam::111122223333:group/ci",
    "'111122223333'",
    "events.amazonaws.com",
    "arn:aws:iam::111122223333:role/" + "a" * 200,
    "7",
])  # fmt: skip
def test_a_principal_that_is_no_role_or_user_is_refused(principal: str) -> None:
    [problem] = training(principals=f"[{principal}]")
    assert problem.startswith("training.principals.0: ")


@pytest.mark.parametrize(
    "principal", [f"{ROLE}*", "arn:aws:iam::111122223333:role/c?", "arn:aws:iam::111122223333:role/*"]
)
def test_a_principal_with_a_wildcard_is_refused(principal: str) -> None:
    [problem] = training(principals=f"['{principal}']")
    assert problem.startswith("training.principals.0: ")


def test_a_principal_twice_is_refused() -> None:
    assert training(principals=f"['{ROLE}', '{ROLE}']") == [
        f'training.principals.1: is "{ROLE}", like one before it; leave it out'
    ]


def test_an_entry_has_at_least_one_principal_verb_and_pool_and_not_too_many() -> None:
    for key in ("principals", "may", "pools"):
        [problem] = training(**{key: "[]"})
        assert problem.startswith(f"training.{key}: ")
    eleven = ", ".join(f"'{ROLE}{number}'" for number in range(11))
    [problem] = training(principals=f"[{eleven}]")
    assert problem.startswith("training.principals: ")


def test_a_pool_that_the_lab_has_not_is_refused_with_the_nearest() -> None:
    assert training(pools="[gpu, gup]") == [
        'training.pools.1: is "gup", which is no pool of this lab; the nearest is gpu'
    ]


@pytest.mark.parametrize("verb", ["keep", "skip", "Open", "everything"])
def test_a_verb_that_no_event_has_is_refused(verb: str) -> None:
    [problem] = training(may=f"[open, {verb}]")
    assert problem.startswith("training.may.1: ")


@pytest.mark.parametrize("nodes", ["0", "-1", "101", "1.5", "'2'", "true"])
def test_a_number_of_nodes_that_is_none_is_refused(nodes: str) -> None:
    [problem] = training(max_nodes=nodes)
    assert problem.startswith("training.max_nodes: ")


def test_no_entry_has_longer_leases_than_the_lab_allows() -> None:
    assert training(longest="8h") == []
    [problem] = training(longest="8h1m")
    assert problem == (
        "training.longest: is longer than guard.longest_lease, which holds for everybody; write less,"
        " or leave it out"
    )
    for wrong in ("0h", "forever", "90"):
        [problem] = training(longest=wrong)
        assert problem.startswith("training.longest: ")


@pytest.mark.parametrize("name", ["Training", "a b", "", "a" * 41, "-a", "ä"])
def test_an_entry_with_a_strange_name_is_refused(name: str) -> None:
    [problem] = refusals(f"'{name}': {{{TRAINING}}}")
    assert "write 1 to 40 of a to z" in problem


def test_a_key_that_no_entry_has_is_refused() -> None:
    [problem] = training(role="ci")
    assert problem.startswith("training.role: ")


def test_there_are_ten_entries_at_most() -> None:
    def entries(number: int) -> str:
        return ", ".join(f"e{each}: {{source: ci.{each}, principals: ['{ROLE}']}}" for each in range(number))

    assert refusals(entries(10)) == []
    [problem] = refusals(entries(11))
    assert problem.startswith("events.allow: ")


def test_a_policy_that_eventbridge_does_not_take_is_refused() -> None:
    long = "arn:aws:iam::111122223333:role/" + "r" * 100
    entries = ", ".join(
        f"e{each}: {{source: ci.{each}, principals: [{', '.join(f'{long}{n}' for n in range(10))}]}}"
        for each in range(5)
    )
    [problem] = refusals(entries)
    assert problem.startswith("events.allow: needs ")
    assert problem.endswith(
        "characters of the bus's policy, and EventBridge takes 10240; write fewer entries or principals"
    )


def test_a_lab_with_the_name_of_eventbridges_own_bus_has_none_of_its_own() -> None:
    found = parse("name: default\nevents: {}\n", "f")

    assert not isinstance(found, Lab)
    assert [f"{problem.key}: {problem.text}" for problem in found] == [
        "name: is default, which is the name of EventBridge's own bus; write another"
    ]
    assert isinstance(parse("name: default\n", "f"), Lab)
