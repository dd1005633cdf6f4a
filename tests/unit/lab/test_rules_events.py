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


def test_a_lab_has_a_bus_only_with_the_key_also_where_nobody_may_ask() -> None:
    made = lab("events: {}").events
    assert made is not None
    assert (lab("").events, made.allow) == (None, {})


def test_an_entry_needs_a_source_and_principals_and_may_all_that_an_event_may() -> None:
    made = lab(f"events: {{allow: {{training: {{{TRAINING}}}}}}}").events
    assert made is not None
    entry = made.allow["training"]
    assert entry.may == ["open", "extend", "close"]
    assert (entry.pools, entry.max_nodes, entry.longest) == (None, None, None)
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


IN_AN_ACCOUNT = "arn:aws:iam::111122223333"


@pytest.mark.parametrize(("key", "values", "where"), [
    ("source", ["''", "'.ci'", "'ci training'", "'ci*'", f"'{'a' * 65}'", "'7é'"], "source"),
    ("principals", ["'*'", f"{IN_AN_ACCOUNT}:root", "arn:aws:iam::1111:role/ci", f"{IN_AN_ACCOUNT}:group/ci",
     "arn:aws:sts::111122223333:assumed-role/ci/session", "'111122223333'", "events.amazonaws.com",
     f"{IN_AN_ACCOUNT}:role/{'a' * 200}", "7", f"'{ROLE}*'", f"'{IN_AN_ACCOUNT}:role/c?'",
     f"'{IN_AN_ACCOUNT}:role/*'"], "principals.0"),
    ("may", ["keep", "skip", "Open", "everything"], "may.0"),
    ("max_nodes", ["0", "-1", "101", "1.5", "'2'", "true"], "max_nodes"),
    ("longest", ["0h", "forever", "90"], "longest"),
    ("role", ["ci"], "role"),
])  # fmt: skip
def test_a_value_that_does_not_fit_its_key_is_refused(key: str, values: list[str], where: str) -> None:
    for value in values:
        [problem] = training(**{key: f"[{value}]" if where.endswith(".0") else value})
        assert problem.startswith(f"training.{where}: "), value


def test_each_entry_has_a_source_of_its_own() -> None:
    assert refusals(f"one: {{{TRAINING}}}, two: {{{TRAINING}}}") == [
        'two.source: is "ci.training", like that of one: a source says who asks; write another'
    ]


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


def test_no_entry_has_longer_leases_than_the_lab_allows() -> None:
    assert training(longest="8h") == []
    [problem] = training(longest="8h1m")
    assert problem == (
        "training.longest: is longer than guard.longest_lease, which holds for everybody; write less,"
        " or leave it out"
    )


@pytest.mark.parametrize("name", ["Training", "a b", "", "a" * 41, "-a", "ä"])
def test_an_entry_with_a_strange_name_is_refused(name: str) -> None:
    [problem] = refusals(f"'{name}': {{{TRAINING}}}")
    assert "write 1 to 40 of a to z" in problem


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
