"""Between nodes NCCL's own words about its network are evidence, and floors are published figures.

In a pool of equals the slowest node is named, with its distance; chance is not.
"""

from decimal import Decimal

import pytest

from lamplighter.domain.checks.straggler import stragglers
from lamplighter.domain.checks.verdicts.nccl import nccl
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.gpu.instance_types import GpuType, gpu_type
from tests import gpu_outputs as said

PASSED, FAILED, NOT_PROVEN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_PROVEN
SOCKET = "a:1:1 [0] NCCL INFO Using network Socket\n"
FIRST = "a:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n"
EFA = "a:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/AWS Libfabric/0/GDRDMA\n"
PLUGIN = "a:1:1 [0] NCCL INFO Using network AWS Libfabric\n"
PROVIDER = "a:1:1 [0] NCCL INFO NET/OFI Selected provider is {}, fabric is x (found 4 nics)\n"


def of(name: str) -> GpuType:
    kind = gpu_type(name)
    assert kind is not None
    return kind


def judged(
    busbw: str,
    network: str = "",
    ranks: int = 2,
    kind: GpuType | None = None,
    *,
    hosts: int = 2,
    size: int = 268435456,
    operation: str = "all_reduce",
    adds: str = "sum",
) -> Verdict:
    row = said.nccl_row(size, busbw=busbw, in_place=busbw).replace("sum", adds)
    text = said.nccl([row], ranks=ranks, max_bytes=size).replace("all_reduce", operation)
    for rank in range(ranks):
        text = text.replace(f"on nccl-{rank} ", f"on host-{rank * hosts // ranks} ")
    return nccl(network + text, 0, ranks, kind or of("p5.48xlarge"))


@pytest.mark.parametrize(("busbw", "network", "outcome"), [
    ("2.75", SOCKET, NOT_PROVEN),
    ("2.75", FIRST, NOT_PROVEN),
    ("2.75", "", NOT_PROVEN),
    ("45", FIRST + EFA, PASSED),
    ("45", "", PASSED),
    ("45", EFA + SOCKET, NOT_PROVEN),
    ("2.75", PLUGIN, NOT_PROVEN),
    ("2.75", PLUGIN + PROVIDER.format("tcp"), NOT_PROVEN),
    ("2.75", PLUGIN + PROVIDER.format("efa"), PASSED),
    ("2.40", EFA, FAILED),
    ("2.40", SOCKET, FAILED),
])  # fmt: skip
def test_a_type_whose_network_is_efa_has_to_show_it(busbw: str, network: str, outcome: Outcome) -> None:
    assert judged(busbw, network).outcome is outcome


def test_more_ranks_than_a_node_has_gpus_are_on_several_nodes_whatever_they_call_themselves() -> None:
    assert judged("3", "", ranks=16, hosts=1).outcome is NOT_PROVEN
    assert judged("3", SOCKET, ranks=16, hosts=1).outcome is NOT_PROVEN


def test_what_is_not_shown_is_said() -> None:
    assert "NCCL talked over TCP (NET/Socket), and the network of a p5.48xlarge is EFA" in str(
        judged("2.75", SOCKET).reason
    )
    assert "no figure of EFA is published for this collective of 2 ranks" in str(judged("45", EFA).reason)
    assert judged("45", EFA).measurements["transport"] == "EFA"


@pytest.mark.parametrize("kind", [of("p5.48xlarge").over_tcp(), of("g5.48xlarge"), of("g5.8xlarge")])
def test_without_efa_tcp_passes_by_its_own_floor_and_is_named(kind: GpuType) -> None:
    found = judged("2.75", SOCKET, kind=kind)
    assert found.outcome is PASSED
    assert str(found.reason).endswith("between the nodes NCCL talked over TCP")
    assert judged("2.40", SOCKET, kind=kind).outcome is FAILED
    assert judged("2.75", kind=kind).outcome is PASSED


@pytest.mark.parametrize(("ranks", "hosts", "busbw", "outcome"), [
    (16, 2, "104", PASSED), (16, 2, "103", FAILED), (8, 1, "193", PASSED), (8, 1, "190", FAILED), (4, 1, "3", PASSED),
])  # fmt: skip
def test_a_floor_is_of_so_many_nodes_and_ranks(ranks: int, hosts: int, busbw: str, outcome: Outcome) -> None:
    assert judged(busbw, EFA if hosts > 1 else "", ranks, hosts=hosts).outcome is outcome


def test_a_published_floor_is_of_all_reduce_and_of_large_sizes() -> None:
    p4d = of("p4d.24xlarge")
    assert judged("38", EFA, 16, p4d).outcome is FAILED
    assert judged("38", EFA, 16, p4d, operation="reduce_scatter").outcome is PASSED
    assert judged("38", EFA, 16, p4d, adds="none").outcome is PASSED
    assert judged("150", "", 8, p4d, hosts=1, size=268435456).outcome is FAILED
    assert judged("150", "", 8, p4d, hosts=1, size=33554432).outcome is PASSED


def test_a_floor_of_the_lab_s_own_counts_instead_between_nodes() -> None:
    own = of("p5.48xlarge").with_floor(Decimal(40))
    assert judged("50", EFA, 16, own).outcome is PASSED
    assert judged("50", "", 8, own, hosts=1).outcome is FAILED
    assert judged("9", "", 4, of("g5.12xlarge").with_floor(Decimal(10)), hosts=1).outcome is PASSED


def test_within_a_node_no_network_is_named_and_a_missing_figure_is_said() -> None:
    found = judged("9", SOCKET, 4, of("g5.12xlarge"), hosts=1)
    assert str(found.reason).endswith(
        "no figure within one machine is published for these 4 GPUs, so only that they work together is proven"
    )
    assert "transport" not in found.measurements
    assert "no figure" not in str(judged("275", SOCKET, 8, hosts=1).reason)


def behind(*figures: str) -> dict[str, str]:
    nodes = dict(zip("abcdefgh", map(Decimal, figures), strict=False))
    return {node: str(why) for node, why in stragglers(nodes).items()}


@pytest.mark.parametrize(
    "figures", [(), ("1",), ("1", "2"), ("5", "5", "5"), ("5", "5.1", "4.7"), ("5", "5", "4.6")]
)
def test_equals_have_no_straggler(figures: tuple[str, ...]) -> None:
    assert behind(*figures) == {}


def test_the_slowest_is_named_with_its_distance_from_the_others() -> None:
    assert behind("10", "9.8", "7", "10.2") == {
        "c": "the slowest of the pool: 7 GB/s, 30 % behind the 10 GB/s of the others"
    }


def test_both_nodes_of_a_slow_pair_are_named() -> None:
    assert list(behind("10", "10", "5", "5")) == ["c", "d"]
