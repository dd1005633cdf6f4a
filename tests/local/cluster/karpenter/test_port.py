"""The capacity port sizes a NodePool of the real Karpenter: under the launch bar, one very node, and to zero."""

from datetime import timedelta

import pytest

from lamplighter.adapters.capacity.node_pool.capacity import NodePoolCapacity
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain.capacity.evidence import NOW, SIZES, Seen
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.capacity.node_pool import launch_bar
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.capacity.port import Removal
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from tests.local.cluster.functions import Token
from tests.local.cluster.karpenter import node_pool
from tests.local.cluster.karpenter.conftest import Karpenter
from tests.local.cluster.lab import await_true, pass_time
from tests.local.cluster.node_pool_port.stage import PATHS, Everybody, install
from tests.local.cluster.test_token_webhook import CLUSTER

LAB = Lab.model_validate(
    {"name": CLUSTER, "cluster": {"karpenter": {}}, "pools": {"gpu": {"kind": "karpenter"}}}
)

pool = node_pool.pool
ROLE = "gpu-lab-ap-northeast-2-karpenter"
"""The role that the lab's names give Karpenter: an opening takes the failsafe's lock off it."""


class Port:
    """The port, with the bar lifted for an hour."""

    def __init__(self, karpenter: Karpenter, connection: Connection) -> None:
        self.karpenter = karpenter
        self.capacity = NodePoolCapacity(LAB, KARPENTER)
        self.capacity.kubernetes = connection

    def bar(self, hours: float) -> None:
        """Moves the bar. The API server needs a moment to know a new policy, and a new end of the bar."""
        until = self.karpenter.aws.clock.now() + timedelta(hours=hours)

        def acts() -> bool:
            try:
                self.capacity.bar("gpu", until)
            except OutsideFailed:
                return False
            return True

        await_true(acts, "the API server follows the launch bar")

    def see(self) -> Seen:
        return self.capacity.see("gpu", NOW)

    def order(self, size: int) -> None:
        self.capacity.order("gpu", size, self.capacity.see("gpu", SIZES))

    def running(self, number: int) -> set[str]:
        """The ids when so many instances run and no other is left, each with its claim."""

        def there() -> Seen | None:
            seen = self.see()
            whole = len(seen.alive) == len(seen.staying) == len(seen.claims) == number
            return seen if whole else None

        return {one.id for one in await_true(there, f"{number} nodes run").alive}  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def barred(pool):
    """The NodePool under its launch bar, and the role that an opening takes the lock off."""
    kubernetes = pool.lab.kubernetes
    pool.aws.role(ROLE, "ec2:*")
    install(kubernetes, LAB)
    yield pool
    for document in reversed(launch_bar.documents(LAB)):
        kubernetes.delete(f"{PATHS[str(document['kind'])]}/{document['metadata']['name']}")  # type: ignore[index]


@pytest.fixture
def port(barred, control_plane, seen_from_outside, monkeypatch: pytest.MonkeyPatch):
    for name, value in barred.aws.environment().items():
        monkeypatch.setenv(name, value)
    control_plane.authenticate_through(Everybody())
    made = Port(barred, Connection(seen_from_outside.endpoint, control_plane.ca_pem, Token("functions")))
    made.bar(-1)
    made.bar(1)
    yield made
    made.order(0)
    made.running(0)


def test_the_bar_holds_a_lease_starts_its_node_and_its_end_leaves_none(port: Port) -> None:
    """The one story of the real Karpenter in a short run: its clock is real."""
    port.bar(-1)
    port.order(1)
    await_true(lambda: "no lease for NodePool" in port.karpenter.log(), "the API server refuses a claim")
    assert port.see().claims == ()

    port.bar(1)
    port.order(1)
    [instance] = port.running(1)
    [described] = node_pool.instances(port.karpenter)
    assert (described["InstanceId"], described["InstanceType"]) == (instance, "g5.xlarge")
    tags = {tag["Key"]: tag["Value"] for tag in described["Tags"]}
    assert identity(LAB, "gpu").tags.items() <= tags.items()

    port.order(0)
    await_true(lambda: not port.see().existing, "EC2 has ended it")
    assert port.capacity.zero(port.see(), port.karpenter.aws.clock.now(), ()).proven


@pytest.mark.long
def test_one_very_node_goes_and_no_other_comes_and_then_none_is_left(port: Port) -> None:
    port.order(2)
    both = port.running(2)
    goes = min(both)

    port.capacity.remove("gpu", (goes,), Removal.FEWER, port.see())

    assert port.running(1) == both - {goes}
    # Karpenter looks at a static NodePool every minute.
    pass_time(65)
    assert port.running(1) == both - {goes}

    port.order(0)
    await_true(lambda: not port.see().existing, "EC2 has ended both")
    assert port.capacity.zero(port.see(), port.karpenter.aws.clock.now(), ()).proven


@pytest.mark.long
def test_in_the_place_of_a_replaced_node_another_comes(port: Port) -> None:
    port.order(2)
    both = port.running(2)
    goes = min(both)

    port.capacity.remove("gpu", (goes,), Removal.REPLACED, port.see())

    await_true(lambda: goes not in {one.id for one in port.see().existing}, "it goes")
    after = port.running(2)
    assert len(after & both) == 1
