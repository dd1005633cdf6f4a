"""What AWS's words about a refused launch say: the cause, and the zones and types that AWS names as available.

The texts are as people found them, each with its source: a thread, or the number of a file in an index of public
repositories.
"""

import json
from pathlib import Path

import pytest

from lamplighter.domain.capacity.available import Available
from lamplighter.domain.capacity.launch_cause import LaunchCause, LaunchRefusal, cause_of
from lamplighter.domain.capacity.node_pool.shortage import KARPENTERS_WORDS
from lamplighter.domain.capacity.shortage import available, of_refusal, short_of_refusal

TEXTS = json.loads((Path(__file__).parent / "refusal_texts.json").read_text("utf-8"))


def test_there_are_forty_texts() -> None:
    assert len({row["text"] for row in TEXTS}) >= 40


@pytest.mark.parametrize("row", TEXTS, ids=lambda row: row["source"])
def test_a_real_text_says_its_cause_and_what_aws_names_as_available(
    row: dict[str, str | list[str]],
) -> None:
    text = str(row["text"])
    named = available(text)

    assert cause_of(text.partition(KARPENTERS_WORDS)[2] or text).value == row["cause"]
    assert named.to_json() == {"zones": row["zones"], "instance_types": row["instance_types"]}
    short = short_of_refusal(LaunchRefusal(LaunchCause(str(row["cause"])), text), 0, 1)
    assert Available.from_details(short.details()) == named
    for zone in row["zones"]:
        assert zone in str(short.reason)


def refused(kind: str, zone: str, *others: str) -> str:
    return (
        f"InsufficientInstanceCapacity: We currently do not have sufficient {kind} capacity in the Availability Zone "
        f"you requested ({zone}). You can currently get {kind} capacity by not specifying an Availability Zone in "
        f"your request or choosing {', '.join(others)}."
    )


def test_a_zone_that_the_same_text_refuses_is_not_available() -> None:
    both = refused("g5.xlarge", "us-east-1a", "us-east-1b") + refused("g5.xlarge", "us-east-1b", "us-east-1a")
    assert available(both) == Available()


def test_each_type_is_named_with_its_own_zones() -> None:
    text = refused("g5.xlarge", "us-east-1a", "us-east-1b") + refused("g6.xlarge", "us-east-1a", "us-east-1c")

    assert available(text) == Available(("us-east-1b", "us-east-1c"), ("g5.xlarge", "g6.xlarge"))
    assert str(of_refusal(LaunchRefusal(LaunchCause.NO_CAPACITY, text))) == (
        "AWS has no g5.xlarge capacity left in us-east-1a; "
        "AWS names g5.xlarge in us-east-1b and g6.xlarge in us-east-1c"
    )


def test_a_local_zone_is_a_zone() -> None:
    text = refused("g4dn.2xlarge", "us-west-2-lax-1a", "us-west-2-lax-1b")
    assert available(text).zones == ("us-west-2-lax-1b",)
    assert "left in us-west-2-lax-1a;" in str(of_refusal(LaunchRefusal(LaunchCause.NO_CAPACITY, text)))


def test_a_text_of_any_length_is_read_as_far_as_aws_writes() -> None:
    offer = (
        "You can currently get g5.xlarge capacity by not specifying an Availability Zone in your request or choosing"
        " ap-northeast-2c."
    )
    assert available(offer).zones == ("ap-northeast-2c",)
    assert available("aa-" * 2_000 + offer).zones == ()
