"""Every check of the doctor: ok, not ok and not known. A broken fact changes only its own line."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.look_after import doctor as verb
from docs.doctor import DESCRIPTIONS
from lamplighter.data import lifecycle
from lamplighter.data.lambda_concurrency import UNRESERVED
from lamplighter.data.texts import Texts
from lamplighter.domain.doctor.checks import CHECKS, examine
from lamplighter.domain.doctor.examination_notice import of_examination
from lamplighter.domain.doctor.facts import ClusterFacts, Facts, NoAccess
from lamplighter.domain.doctor.line import LineOutcome
from lamplighter.reasons.fields import SHOWN, to_document
from tests.unit.doctor.cases import (
    AUTOSCALER,
    BEFORE,
    CLUSTER,
    FACTS,
    NEW,
    NOW,
    OLD,
    REFUSED,
    UNKNOWN,
    WRONG,
    group,
    lab,
    said,
)


@pytest.mark.parametrize("facts", [FACTS, BEFORE])
def test_an_account_in_order_is_all_ok(facts: Facts) -> None:
    found = said(facts)
    assert list(found) == [check.name for check in CHECKS], "each check has a line, in their order"
    assert {line.outcome for line in found.values()} == {LineOutcome.OK}
    assert not any(line.advice for line in found.values())


@pytest.mark.parametrize(("check", "facts", "words", "advice"), WRONG)
def test_what_is_wrong_is_said_by_its_own_line_alone_with_what_to_do(
    check: str, facts: Facts, words: str, advice: str
) -> None:
    found = said(facts)

    assert [line.check for line in found.values() if line.outcome is not LineOutcome.OK] == [check]
    assert found[check].outcome is LineOutcome.NOT_OK
    assert words in found[check].said
    assert advice in found[check].advice


def test_no_check_is_without_a_case_in_which_it_is_not_ok() -> None:
    by_tests_of_their_own = {"credentials", "quota-p", "runtime", "last-window"}
    assert {case[0] for case in WRONG} | by_tests_of_their_own == {check.name for check in CHECKS}


def test_credentials_that_aws_does_not_take_are_not_ok() -> None:
    refused = NoAccess("AWS does not accept your credentials: ExpiredToken", "log in again")

    line = said(replace(FACTS, caller=refused))["credentials"]

    assert line.outcome is LineOutcome.NOT_OK
    assert "ExpiredToken" in line.said
    assert line.advice == "log in again"


@pytest.mark.parametrize(("facts", "checks"), UNKNOWN)
def test_what_could_not_be_read_is_not_known_and_never_ok(facts: Facts, checks: set[str]) -> None:
    found = said(facts)
    not_known = {line.check for line in found.values() if line.outcome is LineOutcome.NOT_KNOWN}

    if "operator" in checks and facts.cluster is not REFUSED:
        # An operator that is too old is too old for an unknown version as well.
        not_known |= {"operator"} & {
            line.check for line in found.values() if line.outcome is LineOutcome.NOT_OK
        }
    assert not_known == checks
    assert all(found[name].said for name in checks)


def test_a_calendar_that_cannot_be_read_is_not_known() -> None:
    follows = lab(windows=[{"name": "course", "calendar": "https://example.com/course.ics"}])
    assert said(replace(FACTS, courses=REFUSED), follows)["last-window"].outcome is LineOutcome.NOT_KNOWN


@pytest.mark.parametrize(("quota", "outcome"), [(104.0, LineOutcome.NOT_OK), (105.0, LineOutcome.OK)])
def test_places_for_the_guard_need_a_hundred_that_nobody_reserves(quota: float, outcome: LineOutcome) -> None:
    line = said(replace(FACTS, concurrency=quota), lab(guard={"reserved_concurrency": 5}))["concurrency"]
    assert line.outcome is outcome
    assert ("guard.reserved_concurrency 5 the lab needs 105" in line.said) is (quota == 104)


@pytest.mark.parametrize(("reserved", "wanted"), [(5, 1000), (950, 1050)])
def test_what_aws_is_asked_for_is_enough_for_the_guards_places(reserved: int, wanted: int) -> None:
    quota = UNRESERVED + reserved - 1.0
    line = said(replace(FACTS, concurrency=quota), lab(guard={"reserved_concurrency": reserved}))[
        "concurrency"
    ]
    assert f"--desired-value {wanted} " in line.advice


def test_an_authority_without_key_identifiers_is_well_and_is_said() -> None:
    old = replace(FACTS, cluster=replace(CLUSTER, names_its_key=False))
    line = said(old)["endpoint"]
    assert line.outcome is LineOutcome.OK
    assert "first created on Kubernetes 1.16 or older; the functions accept it" in line.said


def test_extended_support_is_billed_from_the_begin_of_the_day_on_which_standard_support_ends() -> None:
    facts = replace(FACTS, cluster=replace(CLUSTER, version="1.34"))
    begin = datetime(2026, 12, 2, tzinfo=UTC)
    assert "1.34 ends on" in said(facts, now=begin - timedelta(seconds=1))["kubernetes-version"].said
    assert "1.34 ended on" in said(facts, now=begin)["kubernetes-version"].said


@pytest.mark.parametrize("stated", [NEW | OLD, NEW | OLD | frozenset({"another"}), frozenset()])
def test_user_data_with_every_authority_of_a_rotation_is_well(stated: frozenset[str]) -> None:
    facts = replace(FACTS, cluster=replace(CLUSTER, authorities=OLD | NEW), groups=group(authorities=stated))
    assert said(facts)["image"].outcome is LineOutcome.OK


def test_an_autoscaler_that_cannot_find_the_group_is_ok_and_said() -> None:
    facts = replace(FACTS, inside=ClusterFacts(AUTOSCALER, "v26.3.1"), groups=group(group_tags={}))
    assert "lacks the tag by which it finds groups" in said(facts)["autoscalers"].said


def test_a_visit_says_what_to_do_first_and_one_line_when_all_is_well() -> None:
    found = of_examination(examine(replace(FACTS, bootstrap=None, claims=REFUSED), lab(), NOW))
    well = of_examination(examine(FACTS, lab(), NOW))

    assert found.plain == "The monthly check found 1 thing to do"
    assert str(found.text).splitlines()[0].startswith("bootstrap: CDK is not bootstrapped in ap-northeast-2")
    assert "What to do: make cdk && .venv/bin/cdk bootstrap" in str(found.text)
    assert "Not known: claim: eks:DescribeCluster" in str(found.text)
    assert well.plain == "The monthly check found nothing to do"
    assert len(str(well.text).splitlines()) == 1


def test_a_visit_speaks_the_labs_language() -> None:
    told = of_examination(examine(replace(FACTS, bootstrap=None), lab(), NOW), Texts("ko"))

    assert (
        str(told.text)
        .splitlines()[0]
        .startswith("bootstrap: ap-northeast-2 리전에 CDK 부트스트랩이 없어 배포할 수 없습니다")
    )
    told = of_examination(examine(FACTS, lab(), NOW), Texts("ko"))
    assert told.plain == "The monthly check found nothing to do"
    assert told.subject == Texts("ko").say("notice.doctor.subject.well") != told.plain


def test_the_answer_is_counted_aloud_and_as_json_has_four_keys() -> None:
    lines = examine(replace(FACTS, bootstrap=None, claims=REFUSED), lab(), NOW)

    assert verb.counts(lines) == "23 ok, 1 not ok, 1 not known"
    assert json.loads(json.dumps([to_document(line, SHOWN) for line in lines]))[3] == {
        "check": "bootstrap",
        "outcome": "not-ok",
        "said": "CDK is not bootstrapped in ap-northeast-2: nothing can be deployed there",
        "advice": "make cdk && .venv/bin/cdk bootstrap aws://123456789012/ap-northeast-2",
    }


def test_the_dates_of_support_are_in_order_and_the_file_says_where_they_are_from() -> None:
    file = Path(lifecycle.__file__).parent / "lifecycle.json"
    document = json.loads(file.read_text("utf-8"))

    for version in document["kubernetes"]:
        support = lifecycle.kubernetes(version)
        assert support is not None
        assert support.standard < support.extended
    assert set(document["sources"]) == {
        *("kubernetes", "runtimes", "extended_support_hour", "amazon_linux_2")
    }
    assert lifecycle.known_kubernetes()[-1] == "1.36"
    assert lifecycle.runtime("python3.6") is None


def test_every_check_is_described_on_the_reference_page() -> None:
    assert list(DESCRIPTIONS)[: len(CHECKS)] == [check.name for check in CHECKS]
