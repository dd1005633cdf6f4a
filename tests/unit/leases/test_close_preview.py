"""What `close --all` shows before it acts: the leases that end, nodes without a lease, and leases that open later."""

from lamplighter.application.leases.close_preview import close_preview
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LabOnMoto


def test_it_tells_running_leases_from_later_ones_and_from_nodes_without_a_lease(lab: LabOnMoto) -> None:
    running = lab.lease(nodes=1, opens=-10, closes=60)
    later = lab.lease(nodes=1, opens=60, closes=120, name="cli-2")
    lab.scale(2)

    preview = close_preview(lab.capacity, "gpu", EIGHT)

    assert [lease.id for lease in preview.ending] == [running.id]
    assert preview.nodes_without_lease == 1
    assert [lease.id for lease in preview.later] == [later.id]


def test_a_pool_at_zero_has_nothing_to_end(lab: LabOnMoto) -> None:
    preview = close_preview(lab.capacity, "gpu", EIGHT)
    assert (preview.ending, preview.nodes_without_lease, preview.later) == ((), 0, ())
