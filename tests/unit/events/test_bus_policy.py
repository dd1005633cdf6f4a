"""The bus's policy as IAM judges it: who may put events of which source and which detail-type.

In the bus's account a principal's own policy is enough, so everybody here may `events:PutEvents` on everything.
"""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from lamplighter.domain.events import bus_policy
from lamplighter.lab.events import MOST_ENTRIES, MOST_PRINCIPALS
from lamplighter.lab.model import Lab
from local.aws.authorization.conditions import met
from local.aws.authorization.judge import Caller, denial
from local.aws.authorization.requests import Ask
from local.aws.authorization.statements import Policy
from tests.unit.events.bus import CI, LAB, OTHER, TRAINING

ACCOUNT = "123456789012"
BUS = f"arn:aws:events:ap-northeast-2:{ACCOUNT}:event-bus/gpu-lab"
TELLERS = [f"arn:aws:iam::{ACCOUNT}:role/gpu-lab-ap-northeast-2-{name}" for name in ("events", "lifecycle")]
EVERYTHING = Policy(
    "everything",
    json.dumps({"Statement": {"Effect": "Allow", "Action": "events:PutEvents", "Resource": "*"}}),
)
OWN = "lamplighter.gpu-lab"


def role(arn: str) -> Caller:
    """A session of a role that may put events everywhere, as far as its own policy goes."""
    session = f"{arn.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/session"
    return Caller(session, arn.rpartition("/")[2], role=arn, policies=(EVERYTHING,))


def user(arn: str) -> Caller:
    return Caller(arn, arn.rpartition("/")[2], policies=(EVERYTHING,))


CI_ROLE = role(f"arn:aws:iam::{CI}:role/ci")
JOBS = user(f"arn:aws:iam::{ACCOUNT}:user/jobs")
ADMIN = role(f"arn:aws:iam::{ACCOUNT}:role/admin")
ROOT = Caller(f"arn:aws:iam::{ACCOUNT}:root", policies=(EVERYTHING,))


def may(caller: Caller, source: str, detail_type: str, lab: Lab = LAB) -> bool:
    """Whether the caller may put one event on the bus."""
    return may_at_once(caller, (source,), (detail_type,), lab)


def may_at_once(
    caller: Caller, sources: tuple[str, ...], detail_types: tuple[str, ...], lab: Lab = LAB
) -> bool:
    """Whether the caller may put events of these sources and types in one call, if AWS judges it as one request."""
    statements = bus_policy.statements(lab, BUS, TELLERS)
    policy = {"Version": "2012-10-17", "Statement": statements}
    said = {"events:source": sources, "events:detail-type": detail_types}
    if not (f"::{ACCOUNT}:" in caller.arn or lets_in_from_outside(caller, statements, said)):
        return False
    state: Any = SimpleNamespace(
        account=ACCOUNT, region="ap-northeast-2", now=lambda: 0.0, policy=lambda _: policy
    )
    return denial(caller, Ask("events:PutEvents", (BUS,), said), state) is None


def lets_in_from_outside(
    caller: Caller, statements: list[bus_policy.Statement], said: dict[str, tuple[str, ...]]
) -> bool:
    """Whether the policy itself allows it: of another account, AWS asks for that beside the caller's own policy."""
    arn = caller.role or caller.arn
    account = f"arn:aws:iam::{arn.split(':')[4]}:root"
    given = {**said, "aws:principalarn": (arn,)}
    values: Any = SimpleNamespace(values=lambda key: given.get(key.lower()) or None)
    return any(
        account in statement["Principal"]["AWS"] and met(statement["Condition"], values)
        for statement in statements
        if statement["Effect"] == "Allow"
    )


def test_from_another_account_an_allowance_lets_in_its_own_principals_and_source_alone() -> None:
    """While a change of the policy has a denial taken away, nobody else is let in."""
    allowances = [each for each in bus_policy.statements(LAB, BUS, TELLERS) if each["Effect"] == "Allow"]

    def let_in(name: str, *sources: str) -> bool:
        said = {"events:source": sources, "events:detail-type": ("open",)}
        return lets_in_from_outside(role(f"arn:aws:iam::{CI}:role/{name}"), allowances, said)

    assert let_in("ci", TRAINING)
    assert not let_in("ci-other", TRAINING)
    assert not let_in("ci", TRAINING, OTHER)
    assert not let_in("ci")


def test_the_principals_of_an_entry_may_put_what_it_may() -> None:
    assert all(may(CI_ROLE, TRAINING, verb) for verb in ("open", "extend", "close"))
    assert all(may(JOBS, OTHER, verb) for verb in ("open", "close"))


def test_who_may_put_needs_a_permission_of_their_own_as_well() -> None:
    for caller, source in ((CI_ROLE, TRAINING), (JOBS, OTHER)):
        assert not may(replace(caller, policies=()), source, "open")


def test_each_entry_lets_in_the_accounts_of_its_principals_and_no_other() -> None:
    """AWS keeps the id of a role that a statement names; a role that is made again would be nobody."""
    allows = [each for each in bus_policy.statements(LAB, BUS, TELLERS) if each["Effect"] == "Allow"]
    assert [each["Principal"] for each in allows] == [
        {"AWS": [f"arn:aws:iam::{CI}:root"]},
        {"AWS": [f"arn:aws:iam::{ACCOUNT}:root"]},
    ]


def test_a_source_is_known_to_the_bus_after_all_others_are_kept_from_it() -> None:
    effects = [(each["Sid"], each["Effect"]) for each in bus_policy.statements(LAB, BUS, TELLERS)]
    [known] = [place for place, (sid, _) in enumerate(effects) if sid.startswith("KnownSources")]
    assert {effect for _, effect in effects[:known]} == {"Deny"}
    assert {effect for _, effect in effects[known + 1 :]} == {"Allow"}


def test_a_change_of_one_entry_renames_no_statement_of_another() -> None:
    document = LAB.model_dump()
    del document["events"]["allow"]["training"]
    alone = Lab.model_validate(document)
    both, one = (
        {each["Sid"]: each for each in bus_policy.statements(lab, BUS, TELLERS)} for lab in (LAB, alone)
    )

    changed = [name for name in one if both[name] != one[name]]
    assert [name.startswith("KnownSources") for name in changed] == [True]


def test_two_labs_share_no_statement() -> None:
    other = LAB.model_copy(update={"name": "other-lab"})
    ours, theirs = (
        {each["Sid"] for each in bus_policy.statements(lab, BUS, TELLERS)} for lab in (LAB, other)
    )
    assert not ours & theirs


@pytest.mark.parametrize(
    "source", [TRAINING, OTHER, OWN, "lamplighter.other-lab", "aws.events", "ci.unknown", ""]
)
@pytest.mark.parametrize("detail_type", ["open", "close", "lease-granted", "anything"])
def test_nobody_else_puts_anything_whatever_their_own_policy_says(source: str, detail_type: str) -> None:
    others = (
        ADMIN,
        ROOT,
        user(f"arn:aws:iam::{ACCOUNT}:user/ci"),
        role(f"arn:aws:iam::{ACCOUNT}:role/ci"),
        role(f"arn:aws:iam::{CI}:role/ci-other"),
        role(f"arn:aws:iam::{ACCOUNT}:role/gpu-lab-ap-northeast-2-slack"),
    )
    assert [caller.arn for caller in others if may(caller, source, detail_type)] == []


@pytest.mark.parametrize("source", [OTHER, OWN, "ci.other", TRAINING.upper(), f"{TRAINING}.x"])
def test_an_entry_puts_no_source_but_its_own(source: str) -> None:
    assert not may(CI_ROLE, source, "open")


@pytest.mark.parametrize("detail_type", ["Open", "keep", "lease-granted", "pool-open", ""])
def test_an_entry_puts_no_detail_type_but_its_own(detail_type: str) -> None:
    assert not may(CI_ROLE, TRAINING, detail_type)
    assert not may(JOBS, OTHER, detail_type)


def test_an_entry_that_may_not_extend_puts_no_extend() -> None:
    assert not may(JOBS, OTHER, "extend")


@pytest.mark.parametrize(
    ("sources", "detail_types"),
    [
        ((OTHER, OWN), ("open",)),
        ((OTHER, TRAINING), ("open",)),
        ((OTHER, "ci.unknown"), ("open",)),
        ((OTHER,), ("open", "extend")),
        ((OTHER,), ("close", "lease-granted")),
    ],
)
def test_a_call_with_a_denied_event_is_denied_whole(
    sources: tuple[str, ...], detail_types: tuple[str, ...]
) -> None:
    assert not may_at_once(JOBS, sources, detail_types)
    assert not may_at_once(CI_ROLE, (TRAINING, *sources), detail_types)


def test_a_call_may_have_several_events_of_its_sender() -> None:
    assert may_at_once(JOBS, (OTHER,), ("open", "close"))
    assert may_at_once(CI_ROLE, (TRAINING,), ("open", "extend", "close"))
    assert may_at_once(role(TELLERS[0]), (OWN,), ("pool-open", "verdict"))


def test_the_labs_two_functions_tell_and_ask_for_nothing() -> None:
    for teller in map(role, TELLERS):
        assert may(teller, OWN, "lease-granted")
        assert not may(teller, TRAINING, "open")
        assert not may(teller, "lamplighter.other-lab", "pool-open")


def test_a_lab_without_entries_is_told_of_and_asked_nothing() -> None:
    lab = Lab.model_validate({"name": "gpu-lab", "events": {}})
    assert may(role(TELLERS[0]), OWN, "pool-open", lab)
    for caller in (CI_ROLE, ADMIN):
        assert not may(caller, OWN, "pool-open", lab)
        assert not may(caller, TRAINING, "open", lab)


def test_every_statement_has_a_name_of_its_own_and_denials_grant_nothing() -> None:
    statements = bus_policy.statements(LAB, BUS, TELLERS)

    names = [statement["Sid"] for statement in statements]
    assert len(set(names)) == len(names)
    for statement in statements:
        assert (statement["Principal"] == "*") == (statement["Effect"] == "Deny")
        assert (statement["Action"], statement["Resource"]) == ("events:PutEvents", BUS)
        assert statement["Condition"]


def test_the_length_of_the_policy_is_counted_with_every_entry() -> None:
    entry = {"principals": [f"arn:aws:iam::{CI}:role/ci{number}" for number in range(MOST_PRINCIPALS)]}
    entries = {f"e{number}": {**entry, "source": f"ci.e{number}"} for number in range(MOST_ENTRIES)}
    lab = Lab.model_validate({"name": "gpu-lab", "events": {"allow": entries}})
    document = {"Version": "2012-10-17", "Statement": bus_policy.statements(lab, BUS, TELLERS)}
    assert bus_policy.characters(lab) == len(json.dumps(document, separators=(",", ":")))
