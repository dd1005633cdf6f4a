"""Views for the tests of the pages: a whole evening, a bad one, a new lab, and long, Korean or hostile names."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from lamplighter.data.texts import Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.billing.statement import Row
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.capacity.reservation import Reservation, ReservationType, ReservedHours
from lamplighter.domain.checks.gpu_proof import GpuProof
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.doctor.readiness import Grade, Readiness, ReadinessFinding
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.progress import BootStage, Noted, Progress, Stage
from lamplighter.domain.leases.usual_times import Usual, UsualTimes
from lamplighter.domain.money.money import Money
from lamplighter.domain.planner.capacity_word import PoolRecord
from lamplighter.domain.pool.pool import Phase, PoolState, SeenGpus
from lamplighter.domain.pool.target import Target
from lamplighter.domain.views import lease_view, receipt_view
from lamplighter.domain.views.lab_view import (
    BudgetView,
    LabView,
    PastLease,
    PoolView,
    WindowState,
    WindowView,
)
from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.pages.wording import Wording
from lamplighter.reasons.reason import reason

SEOUL = ZoneInfo("Asia/Seoul")
OPENS = datetime(2026, 12, 1, 11, tzinfo=UTC)
NOW = OPENS + timedelta(minutes=3)
LEASE = "evening-2026-12-01"
NODES = ("ip-192-168-12-5.ap-northeast-2.compute.internal", "ip-192-168-12-6.ap-northeast-2.compute.internal")
INSTANCES = ("i-0a1b2c3d4e5f60718", "i-0f1e2d3c4b5a69788")
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202egnp.exe'
LONG = "graduate-seminar-on-distributed-training-of-very-large-language-models-section-0042"
RESERVED = ReservedHours(
    "gpu",
    "cr-0a1b2c3d",
    Reservation("cr-0a1b2c3d", ReservationType.ON_DEMAND, "active", "g5.xlarge", "a", 2, True, NOW),
)


def words(language: str = "en", zone: ZoneInfo = SEOUL) -> Wording:
    return Wording(Texts(language), zone)


def usd(amount: str) -> Money:
    return Money.of(amount, "USD")


def minutes(number: float) -> datetime:
    """This many minutes after the opening."""
    return OPENS + timedelta(minutes=number)


def said(at: float, kind: str, what: str, why: str = "", who: str = "leases", **details: str) -> Entry:
    return Entry(minutes(at), "gpu", kind, who, what, why or what, lease=LEASE, nodes=2, details=details)


TRAIL = (
    said(
        0.1, "lease-granted", "granted the evening lease", "2 of 2 nodes are free and 2.46 USD fit the budget"
    ),
    said(0.3, "failsafe-armed", "armed the failsafe of pool gpu for 12:10 UTC on 2026-12-01"),
    said(
        0.9,
        "scaled",
        "ordered 2 nodes on pool gpu, 0 before",
        "the evening lease justifies 2",
        "window evening",
    ),
    said(4.6, "gpus-ready", "the GPUs of 2 nodes are ready", who="cluster"),
    said(
        6.5,
        "announced",
        "Pool gpu is open until 21:00 (Asia/Seoul)",
        "2 of 2 nodes are ready.",
        "notices",
        notice="open",
    ),
    said(
        45,
        "warned",
        "Pool gpu closes in 15 minutes",
        "`lamplighter extend` keeps it open.",
        "notices",
        notice="warned",
    ),
    said(
        46.2,
        "extended",
        "extended the evening lease",
        "minji asked for 30 minutes more",
        "minji (U0123456789)",
    ),
    said(90.4, "drained", f"drained {NODES[0]}, {NODES[1]}", who="cluster"),
    said(91.8, "zero-proven", "proved pool gpu at zero", "no instance, no node, desired 0", "guard"),
    said(92.2, "receipt", "the evening lease came to 3.69 USD"),
)


def rows(nccl: str = "8.41", outcome: str = "passed") -> list[dict[str, object]]:
    """The rows of a standard ladder and of NCCL."""
    found: list[dict[str, object]] = []
    for node in NODES:
        found += [
            {
                "check": "allocatable",
                "node": node,
                "verdict": "passed",
                "reason": "1 of 1 GPUs can be allocated",
            },
            {
                "check": "labels",
                "node": node,
                "verdict": "passed",
                "reason": "discovery found 1 NVIDIA A10G and its driver",
            },
            {
                "check": "nvidia-smi",
                "node": node,
                "verdict": "passed",
                "reason": "1 of 1 GPUs are there and without fault: NVIDIA A10G",
            },
            {"check": "vectoradd", "node": node, "verdict": "passed", "reason": "its sums are right"},
            {
                "check": "nccl",
                "node": node,
                "verdict": outcome,
                "reason": f"2 ranks, every value right, {nccl} GB/s at 134217728 bytes where 0.25 are needed",
                "measurements": {"busbw_gb_per_second": nccl, "floor_gb_per_second": "0.25", "ranks": 2},
            },
        ]
    return found


def receipt_document(**changed: object) -> dict[str, object]:
    return {
        "lease": LEASE,
        "pool": "gpu",
        "owner": "evening-class",
        "source": "window",
        "opened": "2026-12-01T11:00:00Z",
        "closed": "2026-12-01T12:31:48Z",
        "nodes": 2,
        "node_seconds": 10742,
        "minutes_to_ready": 6.5,
        "verdicts": rows(),
        "findings": [],
        "cost": {"amount": "3.6913", "currency": "USD"},
        "overrun": {"node_seconds": 61, "cost": {"amount": "0.0210", "currency": "USD"}},
        "replaced": [],
        "proof_of_zero": {
            "at": "2026-12-01T12:31:48Z",
            "desired": 0,
            "instances": [],
            "kubernetes_nodes": [],
        },
        "window": "evening",
        "by": "window evening",
        "because": None,
        "node_lives": [
            {"instance": INSTANCES[0], "from": "2026-12-01T11:01:20Z", "to": "2026-12-01T12:31:10Z"},
            {"instance": INSTANCES[1], "from": "2026-12-01T11:01:44Z", "to": "2026-12-01T12:31:30Z"},
        ],
        **changed,
    }


PROGRESS: Progress = {
    Stage.ARMED: Noted(1, 1, minutes(0.1), minutes(0.4)),
    Stage.NODES: Noted(2, 2, minutes(0.9), minutes(2.7)),
    BootStage.JOINED: Noted(2, 2, minutes(1.4), minutes(2.0)),
    BootStage.READY: Noted(2, 2, minutes(1.9), minutes(2.1)),
    Stage.SETTINGS: Noted(1, 1, minutes(2.7), minutes(2.8)),
    BootStage.DRIVER: Noted(2, 2, minutes(2.0), minutes(2.7)),
    BootStage.TOOLKIT: Noted(2, 2, minutes(2.6), minutes(2.9)),
    BootStage.CUDA: Noted(2, 2, minutes(2.8), minutes(3.4)),
    BootStage.PLUGIN: Noted(2, 2, minutes(3.3), minutes(4.4)),
    Stage.GPUS: Noted(2, 2, minutes(2.8), minutes(4.6)),
    Stage.CHECKS: Noted(6, 6, minutes(4.6), minutes(6.5)),
}


USUAL: UsualTimes = {
    Stage.NODES: Usual(timedelta(seconds=110), measured=True),
    BootStage.JOINED: Usual(timedelta(seconds=40), measured=True),
}


def beside(trail: tuple[Entry, ...] = TRAIL) -> receipt_view.ReceiptExtras:
    return receipt_view.ReceiptExtras("g5.xlarge", None, PROGRESS, trail, (), USUAL)


def evening() -> ReceiptView:
    """A whole window with two nodes, the standard ladder and NCCL."""
    return receipt_view.of(receipt_document(), beside())


def degraded() -> ReceiptView:
    """A lease that opened late and with fewer nodes, with its findings."""
    cause = "no-capacity"
    summary = "seoul-lab-ng-gpu: AWS has no capacity of this instance type in this zone now"
    advice = "Wait, or give the pool a second zone: `zone_index` in lab.yaml."
    trail = (
        *TRAIL[:3],
        said(
            3.4, "finding", f"{cause}: {summary}", advice, "diagnosis",
            cause=cause, layer="aws", summary=summary, advice=advice,
        ),
        said(9, "degraded", "1 of 2 nodes of the evening lease are missing", "no capacity; 1.20 USD free", "notices"),
        said(9.2, "announced", "Pool gpu is open with 1 of 2 nodes", "No capacity.", "notices", notice="degraded"),
        *TRAIL[5:],
    )  # fmt: skip
    view = receipt_view.of(
        receipt_document(
            verdicts=[
                *rows("0.18", "failed")[:5],
                {"check": "xid", "node": NODES[0], "verdict": "not-proven", "reason": "no log was found"},
            ],
            findings=[{"at": "2026-12-01T11:03:24Z", "cause": cause, "summary": summary}],
            gpu_use={
                "gpu_hours_paid": 2.98,
                "gpu_hours_used": 1.75,
                "gpu_hours_idle": 0.81,
                "gpu_hours_not_known": 0.42,
            },
            replaced=[INSTANCES[0]],
        ),
        beside(trail),
    )
    return replace(view, proof_of_zero=replace(view.proof_of_zero, desired=1, instances=(INSTANCES[1],)))


def crowd(nodes: int) -> ReceiptView:
    """The evening on so many nodes."""
    names = [f"ip-192-168-12-{number}.ap-northeast-2.compute.internal" for number in range(5, 5 + nodes)]
    view = evening()
    bars = [replace(view.bars[1], label=f"i-0a1b2c3d4e5f607{number:02}") for number in range(nodes)]
    verdicts = [row for row in view.verdict_rows if row.node == NODES[0]]
    return replace(
        view, nodes=nodes, bars=(view.bars[0], *bars),
        verdict_rows=tuple(replace(row, node=name) for name in names for row in verdicts),
        audit=tuple(
            replace(entry, what=f"drained {', '.join(names)}") if entry.kind == "drained" else entry
            for entry in view.audit
        ),
    )  # fmt: skip


def unleased() -> ReceiptView:
    """Node time without a lease."""
    document = {
        "lease": None, "pool": "gpu", "owner": None, "source": "guard", "opened": None,
        "closed": "2026-12-01T13:26:07Z", "nodes": 0, "node_seconds": 29, "minutes_to_ready": None,
        "cost": {"amount": "0.0100", "currency": "USD"},
        "proof_of_zero": {"at": "2026-12-01T13:26:07Z", "desired": 0, "instances": [], "kubernetes_nodes": []},
    }  # fmt: skip
    return receipt_view.of(document, receipt_view.ReceiptExtras("g5.xlarge"))


def named(view: ReceiptView, name: str) -> ReceiptView:
    """The same view with one name everywhere a person or AWS may put one."""
    return replace(
        view, lease=name, pool=name, owner=name, by=name, because=name, source=name, window=name, replaced=(name,),
        verdict_rows=tuple(replace(row, node=name, check=name, reason=name) for row in view.verdict_rows),
        bandwidth=tuple(replace(each, node=name, check=name) for each in view.bandwidth),
        findings=tuple(
            replace(each, cause=name, summary=name, advice=name, layer=name, lease=name) for each in view.findings
        ),
        bars=tuple(replace(bar, label=name) if bar.kind == "node" else bar for bar in view.bars),
        audit=tuple(replace(entry, who=name, what=name, why=f"{name}.") for entry in view.audit),
        proof_of_zero=replace(view.proof_of_zero, instances=(name,), kubernetes_nodes=(name,)),
    )  # fmt: skip


def lease(**changed: object) -> Lease:
    found = Lease(
        id=LEASE, pool="gpu", nodes=2, owner="evening-class", source="window", state=LeaseState.OPENING,
        opens=OPENS, closes=minutes(60), hold=usd("2.46"), window="evening", date="2026-12-01",
        by="window evening", period="2026-12", ordered=minutes(0.9), price_per_hour=Decimal("1.237"),
    )  # fmt: skip
    return replace(found, **changed)  # type: ignore[arg-type]


def running(known: Lease, **known_too: object) -> lease_view.LeaseView:
    return lease_view.of(known, lease_view.Known(PoolState("gpu"), **known_too), NOW)  # type: ignore[arg-type]


def new_lab() -> LabView:
    """A lab that was deployed a minute ago: nothing has happened, nothing is planned."""
    budget = BudgetView(
        "2026-12", "month", datetime(2026, 11, 30, 15, tzinfo=UTC), datetime(2026, 12, 31, 15, tzinfo=UTC),
        usd("300"), usd("0"), usd("0"), usd("0"), usd("0"), usd("0"),
    )  # fmt: skip
    return LabView("seoul-lab", "ap-northeast-2", SEOUL, NOW, budget, None, (pool_at_rest("gpu"),))


def pool_at_rest(name: str) -> PoolView:
    return PoolView(name, "g5.xlarge", 2, 1, "enforce", PoolState(name), Target(0, ()), (), (), None)


def busy_lab() -> LabView:
    """The middle of a month: one pool is opening, another is leaked. There are past and future windows."""
    half: Progress = {
        Stage.ARMED: PROGRESS[Stage.ARMED],
        Stage.NODES: Noted(1, 2, minutes(0.9), minutes(2.7)),
    }
    opening = running(lease(), progress=half, taking=timedelta(minutes=7))
    opened = running(
        lease(id="cli-7f3a9c21", pool="big", window=None, owner="minji (U0123456789)", state=LeaseState.OPEN,
              opens=minutes(-80), closes=minutes(40), ready=minutes(-74), ordered=minutes(-79), missing=1),
        verdicts=rows(), audit=degraded_trail(),
    )  # fmt: skip
    pools = (
        PoolView("gpu", "g5.xlarge", 2, 1, "enforce", PoolState("gpu", phase=Phase.OPENING),
                 Target(2, ()), (opening,), (), None),
        PoolView("big", "g5.12xlarge", 4, 4, "enforce",
                 PoolState("big", phase=Phase.OPEN, seen_gpus=SeenGpus(3, 8, minutes(-1))),
                 Target(2, ()), (opened,), (),
                 running(lease(opens=minutes(600), closes=minutes(660), window="night", state=LeaseState.PLANNED))),
        PoolView("old", "g4dn.xlarge", 1, 1, "watch",
                 PoolState("old", phase=Phase.LEAKED, leaked_because="1 instance runs since 10:40 UTC on 2026-12-01"),
                 Target(0, ()), (), (), None),
    )  # fmt: skip
    budget = replace(
        new_lab().budget, spent=usd("84.31"), held=usd("12.40"), planned=usd("131.2"), overrun=usd("0.42"),
        unleased=usd("0.01"),
        owners=(
            Row("evening-class", usd("60.2"), usd("2.46"), usd("131.2")),
            Row("minji (U0123456789)", usd("24.11"), usd("9.94"), usd("0")),
        ),
        windows=(
            Row("evening", usd("60.2"), usd("2.46"), usd("131.2")),
            Row("(by people)", usd("24.11"), usd("9.94"), usd("0")),
        ),
    )  # fmt: skip
    return replace(
        new_lab(), budget=budget, pools=pools, windows=coming(), past=past(), proofs=proofs(),
        pause=Pause("jiho", minutes(-600), minutes(2000), "the exams"),
    )  # fmt: skip


def named_lab(name: str) -> LabView:
    """The busy lab with one name everywhere a person may put one."""
    view = busy_lab()

    def renamed(each: lease_view.LeaseView) -> lease_view.LeaseView:
        found = tuple(
            replace(one, cause=name, summary=name, advice=name, layer=name) for one in each.findings
        )
        return replace(each, id=name, owner=name, window=name, findings=found, degraded_because=name)

    budget = replace(
        view.budget,
        owners=tuple(row._replace(name=name) for row in view.budget.owners),
        windows=tuple(row._replace(name=name) for row in view.budget.windows),
    )
    pools = tuple(
        replace(pool, name=name, instance_type=name, leases=tuple(map(renamed, pool.leases)))
        for pool in view.pools
    )
    return replace(
        view,
        name=name,
        budget=budget,
        pools=pools,
        windows=tuple(
            replace(each, window=name, pool=name, owner=name, because=name) for each in view.windows
        ),
        past=tuple(replace(each, pool=name, owner=name, window=name) for each in view.past),
        proofs=tuple(replace(each, pool=name, instance_type=name) for each in view.proofs),
        pause=Pause(name, minutes(0), None, name),
    )


def degraded_trail() -> tuple[Entry, ...]:
    return tuple(
        replace(entry, lease="cli-7f3a9c21", pool="big", at=entry.at - timedelta(minutes=80))
        for entry in degraded().audit
    )


def coming() -> tuple[WindowView, ...]:
    states = [WindowState.PLANNED] * 6 + [WindowState.SKIPPED, WindowState.REFUSED]
    found = []
    for number, state in enumerate(states):
        at = OPENS + timedelta(days=number + 1)
        why = {
            WindowState.SKIPPED: "skipped by jiho because of the exams",
            WindowState.REFUSED: "the budget has 1.20 USD left",
        }
        found.append(
            WindowView(
                "evening",
                f"{at:%Y-%m-%d}",
                "gpu",
                2,
                "evening-class",
                state,
                at,
                at + timedelta(hours=2),
                why.get(state, ""),
            )
        )
    night = OPENS + timedelta(days=2, hours=3)
    return (
        *found,
        WindowView(
            "night-batch",
            "2026-12-03",
            "big",
            1,
            "batch",
            WindowState.PLANNED,
            night,
            night + timedelta(hours=5),
            capacity=PoolRecord((), SEOUL, NOW, hours=RESERVED).outlook(night),
            readiness=Readiness(
                "night-batch-2026-12-03",
                "big",
                "night-batch",
                "2026-12-03",
                night,
                NOW - timedelta(hours=2),
                (ReadinessFinding("add-ons", Grade.IN_DOUBT, ADD_ONS),),
            ),
        ),
    )


ADD_ONS = reason("doctor.readiness.add-ons", names=("kube-system/coredns",))


def past() -> tuple[PastLease, ...]:
    found = []
    for number in range(12):
        at = OPENS - timedelta(days=number + 1)
        outcome = Outcome.FAILED if number == 4 else Outcome.NOT_PROVEN if number == 7 else Outcome.PASSED
        ready = None if number == 4 else 5.5 + (number * 7 % 5) * 0.7
        closed = at + timedelta(hours=1, minutes=1)
        found.append(
            PastLease(
                f"evening-{at:%Y-%m-%d}",
                "gpu",
                "evening-class",
                "evening",
                at,
                closed,
                2,
                7200,
                ready,
                outcome,
                usd("2.47"),
            )
        )
    return (
        *found,
        PastLease(None, "gpu", None, None, None, OPENS - timedelta(days=13), 0, 29, None, None, usd("0.01")),
    )


def proofs() -> tuple[GpuProof, ...]:
    return tuple(
        GpuProof(
            OPENS - timedelta(days=number + 1),
            "gpu",
            f"l{number}",
            "g5.xlarge",
            "passed",
            tuple(rows(str(8 + number % 3 * 0.4))),
            390,
        )
        for number in range(12)
    )
