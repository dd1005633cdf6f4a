"""Pools that are bought from a reservation: what that needs, what it cannot be beside, and what it costs."""

import pytest

from cli.plan.check import notes, summary
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.unit.lab.read_labs import lab, of_auto_mode, of_karpenter, problems

ID = "cr-0123456789abcdef0"
RESERVED = f"buy: reserved, reservation: {ID}"
WITHOUT = "is for a pool with buy: reserved, and this one is on-demand; write buy: reserved, or leave it out"
OF_A_GROUP = "is reserved, which only a pool of kind node-group can be, and this one is {kind}; leave it out"
BLOCK = f"{RESERVED}, reservation_type: capacity-block, instance_type: p5.48xlarge"


@pytest.mark.parametrize(
    "keys", [RESERVED, f"{RESERVED}, reservation_type: on-demand", BLOCK, "buy: on-demand"]
)
def test_a_good_pool_survives_the_way_to_the_functions(keys: str) -> None:
    found = lab(f"pools: {{gpu: {{{keys}}}}}")

    assert Lab.from_json(found.to_json()) == found
    again = parse(found.to_json())
    assert isinstance(again, Lab), again
    assert again == found


def test_a_lab_without_a_reservation_is_written_as_before_there_were_any() -> None:
    text = Lab(name="x").to_json()

    assert not [word for word in ("buy", "reservation", "reservation_type") if f'"{word}"' in text]


@pytest.mark.parametrize(("text", "said"), [
    ("pools: {gpu: {buy: reserved}}",
     "pools.gpu.buy: is reserved, which needs the id of the reservation; write reservation: cr-… beside it"),
    (f"pools: {{gpu: {{reservation: {ID}}}}}", f"pools.gpu.reservation: {WITHOUT}"),
    ("pools: {gpu: {reservation_type: capacity-block}}", f"pools.gpu.reservation_type: {WITHOUT}"),
    (f"cluster: {{existing: theirs}}\npools: {{gpu: {{existing: gpu, {RESERVED}}}}}",
     "pools.gpu.buy: is reserved, but the template of an existing pool says how its nodes are bought; leave it out"),
    (f"pools: {{gpu: {{{RESERVED}, zones: [0, 2]}}}}",
     "pools.gpu.zones: are 2, and a reservation is in one zone; write zone_index in their place"),
    (of_karpenter(RESERVED), f"pools.gpu.buy: {OF_A_GROUP.format(kind='karpenter')}"),
    (of_auto_mode(RESERVED), f"pools.gpu.buy: {OF_A_GROUP.format(kind='auto-mode')}"),
    (f'pools: {{gpu: {{{BLOCK}, price_per_hour: "1"}}}}',
     "pools.gpu.price_per_hour: is for nodes that are paid by the hour, but a Capacity Block is prepaid; leave it out"),
])  # fmt: skip
def test_keys_that_do_not_fit_each_other_are_refused(text: str, said: str) -> None:
    assert problems(text) == [said]


@pytest.mark.parametrize("written", ["cr-1", "0123456789abcdef0", "cr-0123456789ABCDEF0"])
def test_a_reservation_is_named_by_its_id(written: str) -> None:
    [problem] = problems(f"pools: {{gpu: {{buy: reserved, reservation: {written}}}}}")

    assert problem.startswith("pools.gpu.reservation: ")


def test_the_nodes_of_a_block_are_paid_already_and_those_of_another_reservation_are_not() -> None:
    block, reserved, plain = (lab(f"pools: {{gpu: {{{keys}}}}}") for keys in (BLOCK, RESERVED, ""))

    assert block.price("gpu") == 0
    assert reserved.price("gpu") == plain.price("gpu") > 0


def test_check_says_where_nodes_come_from_and_what_a_node_group_cannot_do() -> None:
    block, reserved = (lab(f"pools: {{gpu: {{{keys}}}}}") for keys in (BLOCK, RESERVED))

    assert f"prepaid, from Capacity Block {ID} alone" in "\n".join(summary(block))
    assert f"for a node and hour, from reservation {ID} alone" in "\n".join(summary(reserved))
    cannot, costs = notes(reserved)
    assert "name another pool as its fallback" in cannot
    assert "AWS bills its reservation without leases too" in costs
    assert "its block is paid whole" in list(notes(block))[-1]
