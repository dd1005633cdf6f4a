"""The interfaces of nodes with EFA, compared with what EC2 says of each network card of a type."""

from typing import Any

import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPES

from lamplighter.data.instance_types import gpu_type, with_efa
from stacks.constructs.nodes.efa import interfaces


def cards(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = INSTANCE_TYPES[name]["NetworkInfo"]["NetworkCards"]
    return found


@pytest.mark.parametrize("name", with_efa())
def test_each_card_that_takes_efa_has_one_interface_for_it_and_no_other_card_has(name: str) -> None:
    known = gpu_type(name)
    assert known is not None
    written = [
        (one["networkCardIndex"], one["deviceIndex"], one["interfaceType"]) for one in interfaces(known)
    ]

    assert written[0] == (0, 0, "interface")
    assert written[1:] == [
        (card["NetworkCardIndex"], 0 if card["NetworkCardIndex"] else 1, "efa-only")
        for card in cards(name)
        if "efa-only" in card["InterfaceTypes"]
    ]


def test_there_is_a_type_of_which_the_first_card_takes_no_efa() -> None:
    first, *others = cards("p6-b300.48xlarge")
    assert first["InterfaceTypes"] == ["interface"]
    assert len(others) == 16
