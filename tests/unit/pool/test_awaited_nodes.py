"""How long AwaitNodes waits for nodes, from which order on, and which cause it names for missing nodes."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import boto3
import pytest

from lamplighter.adapters.aws.capacity.instances import AUTO_SCALING_GROUP, Instances
from lamplighter.adapters.capacity.node_group.autoscaling import AutoScaling
from lamplighter.adapters.capacity.node_group.capacity import NodeGroupCapacity
from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups
from lamplighter.application.capacity.steps import await_nodes
from lamplighter.application.run import result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.evidence import NOW, Claim, Instance, Part, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.capacity.node_group.evidence import NodeGroupUpdate, ScalingActivity
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.progress import ClaimStage, Noted, Stage
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.document import one_line, read_line
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.lab_on_moto import LAB, LabOnMoto
from tests.unit.pool.test_shortage import NO_CAPACITY

SECOND = 1 / 60
WHY = Entry(EIGHT, "gpu", "replaced", "a test", "changes a node", "to see what follows")


def told(awaited: dict[str, object]) -> str:
    """The shortage that a step names, in English."""
    return str(read_line(awaited["shortage"]))


@pytest.fixture(autouse=True)
def _leased(lab: LabOnMoto) -> None:
    lab.lease(nodes=2)


class Booting(Instances):
    """So many of the instances do not run yet: moto's do at once."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def tagged(
        self, tags: Mapping[str, str], subject: str, controller: str = AUTO_SCALING_GROUP
    ) -> tuple[Instance, ...]:
        found = super().tagged(tags, subject, controller)
        return (*(replace(each, state="pending") for each in found[: self._number]), *found[self._number :])


class Refused(AutoScaling):
    """EC2 has had no capacity since so many minutes after eight."""

    def __init__(self, minutes: float) -> None:
        super().__init__()
        self._at = EIGHT + minutes * MINUTE

    def activities(self, group: str, pages: int = 1) -> tuple[ScalingActivity, ...]:
        launch = ScalingActivity(
            "a", "Failed", "Launching a new EC2 instance.", NO_CAPACITY, self._at, self._at
        )
        return (launch,) * pages if group else ()


class Failed(NodeGroups):
    """EKS has failed at the update."""

    def update(self, name: str, update_id: str) -> NodeGroupUpdate:
        return NodeGroupUpdate(update_id, "ConfigUpdate", "Failed", EIGHT, (f"NodeCreationFailure: {name}",))


def test_nodes_that_boot_are_awaited_for_ten_minutes(lab: LabOnMoto) -> None:
    lab.scale(2)
    lab.port.instances = Booting(1)
    for minutes in (0, 10 - SECOND):
        lab.at(minutes)
        with pytest.raises(TryLater, match=r"^1 of 2 nodes of pool gpu run, 1 are booting$"):
            await_nodes(lab.run(), lab.capacity)
    lab.at(10)

    done = await_nodes(lab.run(), lab.capacity)

    late = "1 of 2 nodes: 1 were launched and do not run after 10 minutes"
    assert (done["wanted"], told(done), done["cause"]) == (2, late, "unknown")
    assert len(done["instances"]) == 1  # type: ignore[arg-type]
    assert lab.capacity.ledger.progress("gpu", "cli-1") == {Stage.NODES: Noted(1, 2, EIGHT, EIGHT)}


class Claimed(NodeGroupCapacity):
    """A kind whose nodes have claims: one is registered, one waits for its instance."""

    def see(self, pool: str, parts: Collection[Part] = NOW, known: Seen | None = None) -> Seen:
        registered = {"Launched": EIGHT + MINUTE, "Registered": EIGHT + 2 * MINUTE}
        claims = (Claim("a", created=EIGHT, stages=registered), Claim("b", created=EIGHT))
        return replace(super().see(pool, parts, known), claims=claims)


def test_the_stages_of_claims_are_noted_while_the_nodes_are_awaited(lab: LabOnMoto) -> None:
    port = Claimed(lab.lab)
    lab.scale(2)
    port.instances = Booting(1)
    services = replace(lab.capacity, capacities={NODE_GROUP: port})
    lab.at(3)

    with pytest.raises(TryLater):
        await_nodes(lab.run(), services)

    assert services.ledger.progress("gpu", "cli-1") == {
        Stage.NODES: Noted(1, 2, EIGHT + 3 * MINUTE, EIGHT + 3 * MINUTE),
        ClaimStage.LAUNCHED: Noted(1, 2, EIGHT, EIGHT + MINUTE),
        ClaimStage.REGISTERED: Noted(1, 2, EIGHT + MINUTE, EIGHT + 2 * MINUTE),
        ClaimStage.INITIALIZED: Noted(0, 2, EIGHT + 2 * MINUTE, EIGHT + 2 * MINUTE),
    }


def test_a_cause_is_told_where_nothing_boots_or_after_two_and_a_half_minutes(lab: LabOnMoto) -> None:
    lab.port.autoscaling = Refused(0)
    assert await_nodes(lab.run(), lab.capacity)["cause"] == "no-capacity"
    lab.scale(1)
    lab.port.instances = Booting(1)
    lab.at(2.5 - SECOND)
    with pytest.raises(TryLater, match="0 of 2 nodes of pool gpu run, 1 are booting"):
        await_nodes(lab.run(), lab.capacity)
    lab.at(2.5)

    done = await_nodes(lab.run(), lab.capacity)

    assert (done["instances"], done["cause"]) == ([], "no-capacity")


def test_a_shortage_is_announced_at_once_while_other_nodes_boot_and_once(lab: LabOnMoto) -> None:
    # given two nodes ordered, of which one boots and one was refused
    lab.scale(1)
    lab.port.instances, lab.port.autoscaling = Booting(1), Refused(0.1)
    lab.at(0.3)

    # when the step waits for the one that boots, then the notices function has the other's refusal
    with pytest.raises(TryLater):
        await_nodes(lab.run(), lab.capacity)
    [(step, told_early)] = lab.notices
    assert step == "AnnounceShortage"
    assert told_early["lease"] == "cli-1"
    awaited = result(told_early, "AwaitNodes")
    assert "1 of 2 nodes: AWS has no g5.xlarge capacity left" in told(dict(awaited))
    assert awaited["refusal"] == {"cause": "no-capacity"}

    # and once it is announced, by this or by an earlier round of the run, nobody is asked again
    lab.notices.clear()
    with pytest.raises(TryLater):
        await_nodes(lab.run(Announce={"announced": True}), lab.capacity)
    lab.capacity.ledger.decide("gpu", Decision("short-cli-1", "announced", "as found", EIGHT))
    with pytest.raises(TryLater):
        await_nodes(lab.run(), lab.capacity)
    assert lab.notices == []


def test_with_no_node_the_run_itself_announces_the_shortage(lab: LabOnMoto) -> None:
    lab.port.autoscaling = Refused(0)
    assert await_nodes(lab.run(), lab.capacity)["cause"] == "no-capacity"
    assert lab.notices == []


def test_a_notices_function_that_cannot_be_asked_disturbs_no_opening(lab: LabOnMoto) -> None:
    def refuses(*_: object) -> None:
        raise OutsideFailed("lambda:InvokeFunction is throttled")

    lab.scale(1)
    lab.port.instances, lab.port.autoscaling = Booting(1), Refused(0)
    with pytest.raises(TryLater, match="1 are booting"):
        await_nodes(lab.run(), replace(lab.capacity, start_notice=refuses))


@pytest.mark.parametrize(
    ("before", "ordered", "told"), [(2, True, True), (1, True, False), (2, False, False), (3, True, True)]
)
def test_where_nothing_new_was_ordered_what_failed_since_the_first_order_tells_the_cause(
    lab: LabOnMoto, before: int, *, ordered: bool, told: bool
) -> None:
    if ordered:
        lab.capacity.ledger.advance("gpu", "cli-1", LeaseState.OPENING, EIGHT)
    lab.port.autoscaling = Refused(1)
    lab.at(20)

    if told:
        assert await_nodes(lab.run(at=20, before=before), lab.capacity)["cause"] == "no-capacity"
    else:
        with pytest.raises(TryLater, match="0 of 2 nodes"):
            await_nodes(lab.run(at=20, before=before), lab.capacity)


def test_a_run_that_ordered_nothing_waits_for_nothing_or_from_its_opening(lab: LabOnMoto) -> None:
    assert await_nodes({"command": lab.command(), "results": {}}, lab.capacity)["wanted"] == 0
    lab.at(3 - SECOND)
    with pytest.raises(TryLater, match="0 of 2 nodes"):
        await_nodes(lab.run(at=None), lab.capacity)
    lab.at(3)
    done = await_nodes(lab.run(at=None), lab.capacity)
    assert told(done) == "0 of 2 nodes: EKS took the order back and stands at 0"


def test_a_node_that_was_replaced_counts_no_more_and_is_waited_for_until_it_is_gone(lab: LabOnMoto) -> None:
    lab.scale(2)
    first, _ = lab.members
    lease = lab.capacity.ledger.lease("gpu", "cli-1")
    assert lease is not None
    lab.capacity.ledger.replace_once(lease, [first], WHY)
    replaced = {"at": instant.written(EIGHT + 8 * MINUTE)}
    for minutes in (8, 18 - SECOND):
        lab.at(minutes)
        with pytest.raises(
            TryLater, match=f"^1 of 2 nodes of pool gpu run; replaced nodes still run: {first}$"
        ):
            await_nodes(lab.run(Replace=replaced), lab.capacity)
    lab.at(18)

    done = await_nodes(lab.run(Replace=replaced), lab.capacity)

    assert told(done) == "1 of 2 nodes: no launch for 10 minutes and AWS gives no reason yet"


def test_a_lease_for_which_there_is_no_money_at_all_gets_nothing_and_is_told_so(lab: LabOnMoto) -> None:
    ledger = lab.capacity.ledger
    lease = ledger.lease("gpu", "cli-1")
    assert lease is not None
    budget = ledger.budget(lease.period, "USD")
    ledger.rehold(lease, replace(lease, missing=2), pool=ledger.pool("gpu"), budget=budget, why=WHY)

    assert await_nodes(lab.run(), lab.capacity) == {
        "over": False,
        "wanted": 2,
        "instances": [],
        "shortage": one_line(
            reason("pool.short", have=0, wanted=2, why=reason("capacity.no-money-to-ask-again"))
        ),
        "cause": "unknown",
        "refusal": {"cause": "unknown"},
    }


def test_an_update_of_eks_that_failed_tells_the_cause(lab: LabOnMoto) -> None:
    lab.port.nodegroups = Failed(LAB)
    done = await_nodes(lab.run(scale={"update_id": "u-1"}), lab.capacity)
    assert told(done) == "0 of 2 nodes: AWS says NodeCreationFailure: lab-ng-gpu"


def test_without_a_group_no_node_is_there(lab: LabOnMoto) -> None:
    boto3.client("autoscaling").delete_auto_scaling_group(AutoScalingGroupName=lab.group, ForceDelete=True)
    lab.at(3)
    assert await_nodes(lab.run(), lab.capacity)["instances"] == []


class OnDemand(NodeGroupCapacity):
    """Pods bring its nodes."""

    def see(self, pool: str, parts: Collection[Part] = NOW, known: Seen | None = None) -> Seen:
        return replace(super().see(pool, parts, known), dynamic=True)


def test_nobody_waits_for_nodes_that_pods_bring(lab: LabOnMoto) -> None:
    capacity = replace(lab.capacity, capacities={NODE_GROUP: OnDemand(lab.lab)})
    lab.scale(1)
    lab.at(20)

    awaited = await_nodes(lab.run(), capacity)

    assert (awaited["wanted"], awaited["shortage"]) == (1, None)
    assert [each["id"] for each in awaited["instances"]] == lab.members  # type: ignore[attr-defined]
    assert str(read_line(awaited["with_pods"])) == (
        "NodePool lab-ng-gpu starts more nodes when pods ask for them, 2 at most in all"
    )
    at = EIGHT + 20 * MINUTE
    assert capacity.ledger.progress("gpu", "cli-1") == {Stage.NODES: Noted(1, 1, at, at)}


def test_where_no_pod_has_asked_for_a_node_that_is_the_reason_and_no_shortage(lab: LabOnMoto) -> None:
    capacity = replace(lab.capacity, capacities={NODE_GROUP: OnDemand(lab.lab)})
    lab.at(20)

    awaited = await_nodes(lab.run(), capacity)

    assert (awaited["wanted"], awaited["instances"], awaited["shortage"]) == (0, [], None)
    assert str(read_line(awaited["with_pods"])) == (
        "no node yet: NodePool lab-ng-gpu starts nodes when pods ask for them, 2 at most; "
        "then the lab checks the GPUs that no pod uses"
    )
    [nodes] = capacity.ledger.progress("gpu", "cli-1").values()
    assert (nodes.of, nodes.whole) == (0, False)
