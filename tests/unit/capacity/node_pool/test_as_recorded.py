"""What the product relies on in Karpenter's behaviour, by the recording of the real one."""

from datetime import timedelta
from itertools import pairwise

import pytest

from lamplighter.domain.capacity.launch_cause import LaunchAttempt, LaunchCause, refusals
from lamplighter.domain.capacity.node_pool.shortage import CODE_STANDS
from lamplighter.domain.diagnosis.rules.node_pool.joins import ENDING, REGISTRATION
from tests.karpenter_recording.recording import Moment, lives, moments

CAME = ["created", "Launched", "Registered", "Initialized"]
WENT = ["leaving", "Drained", "VolumesDetached", "InstanceTerminating", "gone"]
REFUSED = "InsufficientCapacityError"
SHUT = "all requested instance types were unavailable during launch"


def at(found: tuple[Moment, ...], what: str) -> list[float]:
    return [moment.at for moment in found if moment.what == what]


def test_behind_a_shut_bar_no_claim_is_born_and_the_pauses_between_two_tries_double() -> None:
    found = moments("shut-bar")
    tries, opened = at(found, "refused by the bar"), at(found, "the bar is open")[0]
    longest = [after - before for before, after in pairwise(tries)][-3:]

    assert at(found, "created")[0] > opened
    assert all(1.5 * before < after < 2.6 * before for before, after in pairwise(longest)), longest


def test_an_open_bar_alone_starts_nothing_and_a_size_that_is_written_anew_starts_at_once() -> None:
    found = moments("shut-bar")
    anew = at(found, "writes replicas 0")[0]
    assert 0 < at(found, "created")[0] - anew < 5


def test_initialized_comes_before_the_gpus_and_proves_none() -> None:
    found = moments("grow")
    assert at(found, "Initialized")[0] < at(found, "GPU")[0]


@pytest.mark.parametrize(
    ("moment", "claims"),
    [
        ("grow", [CAME]),
        ("close", [WENT]),
        # An extension moves the bar and no claim; one very node goes, and no other comes.
        ("extend", []),
        ("shrink", [WENT]),
    ],
)
def test_claims_come_and_go_through_their_stages_in_this_order(moment: str, claims: list[list[str]]) -> None:
    assert list(lives(moments(moment)).values()) == claims


def test_an_interrupted_node_goes_and_another_one_comes() -> None:
    gone, came = lives(moments("interruption")).values()
    assert (gone[-1], came) == ("gone", CAME)


def test_a_pod_that_wants_no_disruption_goes_when_the_grace_of_a_minute_is_over() -> None:
    found = moments("close-beside-a-guarded-pod")
    assert 30 < at(found, "Drained")[0] - at(found, "leaving")[0] < 150


def test_only_the_first_refusal_of_a_shortage_has_the_code_of_ec2() -> None:
    found = moments("shortage")
    said = [moment.says for moment in found if moment.what == REFUSED]
    assert said[0] == "InsufficientInstanceCapacity"
    assert set(said[1:]) == {SHUT}


def test_the_end_of_a_shortage_is_noticed_while_its_code_still_stands() -> None:
    found = moments("shortage")
    noticed = at(found, "Launched")[0] - at(found, "EC2 has instances again")[0]
    assert 0 < noticed < CODE_STANDS.total_seconds()


def test_a_quota_has_the_reason_of_a_shortage_and_its_code_tells_the_cause() -> None:
    [*_, first] = [moment for moment in reversed(moments("quota")) if moment.what == REFUSED]
    [found] = refusals([LaunchAttempt(None, "Failed", f"{first.says}: more vCPU capacity than allowed")], ())
    assert found.cause is LaunchCause.VCPU_QUOTA


def test_a_claim_that_iam_denies_stays_until_iam_allows_it() -> None:
    found = moments("denial")
    denied, allowed = at(found, "Unauthorized")[0], at(found, "IAM allows it again")[0]

    [life] = lives(found).values()
    assert life[:3] == ["created", "Unauthorized", "Launched"]
    assert denied < allowed < at(found, "Launched")[0]


def test_a_node_that_never_registers_is_given_up_and_the_next_one_is_paid_as_well() -> None:
    found = moments("never-registers")
    first, second = [each for each in lives(found).values() if "Launched" in each][:2]
    [launched, *_], [given_up, *_] = at(found, "Launched"), at(found, "leaving")
    again = next(moment.at for moment in found if moment.what == "created" and moment.at > launched)

    assert "Registered" not in first + second
    assert REGISTRATION <= timedelta(seconds=given_up - launched) <= REGISTRATION + ENDING
    assert 0 <= again - given_up < 60
