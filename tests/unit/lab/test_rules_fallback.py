"""Which fallback of a pool is refused: one that is no other pool, goes in a circle or too far, or is too small."""

from typing import Any

import pytest

from lamplighter.lab.model import Lab
from tests.unit.lab.test_rules import refusals


def pools(**of: str) -> str:
    return "pools:\n" + "".join(f"  {name}: {{{keys}}}\n" for name, keys in of.items())


@pytest.mark.parametrize(("text", "problems"), [
    (pools(a="fallback: b", b="fallback: c", c=""), []),
    (pools(a="fallback: b, fallback_ask: true", b="max_nodes: 4, instance_type: g5.2xlarge"), []),
    (pools(gpu="fallback: gpuu", other=""), [
        'pools.gpu.fallback: is "gpuu", which is no pool of this lab; the nearest is gpu',
    ]),
    (pools(a="fallback: a"), ["pools.a.fallback: is the pool itself; write another pool, or leave it out"]),
    (pools(a="fallback: b", b="fallback: a"), [
        "pools.a.fallback: goes in a circle (a, b, a); leave out fallback in one of them",
        "pools.b.fallback: goes in a circle (b, a, b); leave out fallback in one of them",
    ]),
    (pools(a="fallback: b", b="fallback: c", c="fallback: d", d=""), [
        ("pools.a.fallback: begins the chain a, b, c, d, and a chain has at most 3 pools; leave out fallback in one of"
        " them"),
    ]),
    (pools(a="fallback_ask: true"), [
        "pools.a.fallback_ask: is true, but the pool has no fallback; name another pool in fallback, or leave it out",
    ]),
    (pools(a="fallback: b, max_nodes: 3", b="max_nodes: 2"), [
        ("pools.a.fallback: is b, which may have 2 nodes, and a may have 3: a lease moves whole; write max_nodes: 3"
        " there, or name a larger pool"),
    ]),
    (pools(a="fallback: b, instance_type: g5.12xlarge", b=""), [
        ("pools.a.fallback: is b, whose nodes have fewer GPUs (1) than those of a (4); name a pool whose nodes have"
        " at least 4"),
    ]),
])  # fmt: skip
def test_a_fallback_is_refused_in_one_line_that_says_what_would_be_right(
    text: str, problems: list[str]
) -> None:
    assert refusals(text) == problems


def test_a_lab_without_fallback_has_the_same_text_as_before() -> None:
    document: dict[str, Any] = {"name": "x", "pools": {"a": {}, "b": {}}}
    plain = Lab.model_validate(document)
    assert "fallback" not in plain.to_json()
    assert not plain.falls_back

    document["pools"]["a"] = {"fallback": "b", "fallback_ask": True}
    assert Lab.model_validate_json(Lab.model_validate(document).to_json()).pools["a"].fallback_ask
