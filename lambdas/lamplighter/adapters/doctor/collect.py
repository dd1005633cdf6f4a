"""Reads all facts of the doctor in parallel. A fact that cannot be read has the reason instead.

All clients are created before the first thread starts, because boto3 cannot create clients in several threads.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from lamplighter.adapters.aws.capacity.claims import Claims
from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.adapters.capacity.adoption import Adoption
from lamplighter.adapters.doctor import caller, inside
from lamplighter.adapters.doctor.account_plan import AccountPlan
from lamplighter.adapters.doctor.bootstrap import Bootstrap
from lamplighter.adapters.doctor.cluster_versions import ClusterVersions
from lamplighter.adapters.doctor.karpenter import KarpenterReading
from lamplighter.adapters.doctor.other_nodes import OtherNodesReading
from lamplighter.adapters.doctor.quotas import AccountQuotas, Zones
from lamplighter.adapters.doctor.readable import read
from lamplighter.adapters.doctor.slack_secret import SlackSecrets
from lamplighter.adapters.doctor.spot_role import SpotRole
from lamplighter.adapters.doctor.trails import Trails
from lamplighter.data.instance_types import QUOTA_CODES, SPOT_QUOTA_CODES
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.capacity.reservation import ReservationType
from lamplighter.domain.doctor.facts import (
    AwsIdentity,
    ClusterFacts,
    Facts,
    NoAccess,
    OtherNodes,
    PoolGroup,
    ReservationFacts,
    SlackSecret,
)
from lamplighter.domain.doctor.karpenter_facts import KarpenterFacts
from lamplighter.domain.doctor.line import Unread
from lamplighter.domain.pool.adoption import ExistingCluster
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from lamplighter.adapters.aws.ledger.ledger import Ledger
    from lamplighter.domain.calendar.course import Course
    from lamplighter.domain.money.price import Price

T = TypeVar("T")
NOBODY = Unread(reason("doctor.nobody-asks"))
SILENT = Unread(reason("doctor.aws-silent"))


class Examination:
    """One reading of the account and a lab in it. `ledger` is that of a deployed lab.

    `region` is the region in the caller's settings. Calls go to AWS_REGION.
    """

    def __init__(
        self,
        lab: Lab,
        *,
        region: str | None,
        ledger: "Ledger | None",
        slack_secret: str | None,
        courses: "Callable[[], Mapping[str, Course]]",
    ) -> None:
        self._lab, self._region, self._ledger, self._courses = lab, region, ledger, courses
        named = lab.slack.secret_arn if lab.slack else None
        self._secret = (named or slack_secret) if lab.slack else None

    def facts(self) -> Facts:
        """All facts. It takes as long as the slowest read, at most about 10 seconds where nothing answers."""
        who = read(caller.who)
        if isinstance(who, NoAccess):
            return self._nothing(who, NOBODY)
        # After one call without an answer the others are not tried.
        return self._nothing(who, SILENT) if isinstance(who, Unread) else self._all(who)

    def _all(self, who: AwsIdentity) -> Facts:
        lab = self._lab
        bootstrap, quotas, zones, trails = Bootstrap(), AccountQuotas(), Zones(), Trails()
        adoption, claims, secrets = Adoption(), Claims(lab.cluster_name), SlackSecrets()
        others, versions, plans = OtherNodesReading(), ClusterVersions(), AccountPlan()
        groups = [identity(lab, pool).name for pool in lab.pools]
        reservations = Reservations()
        node_pools = KarpenterReading(lab) if lab.pools_with("node pool") else None
        with ThreadPoolExecutor(max_workers=12) as threads:

            def ask(call: Callable[[], T]) -> "Future[T | Unread]":
                return threads.submit(read, call)

            version = ask(bootstrap.version)
            held = {key: ask(partial(quotas.vcpus, code)) for key, code in self._quota_codes.items()}
            spot_role = ask(SpotRole().exists) if lab.spot_pools else None
            disks, plan = ask(quotas.disks), ask(plans.kind)
            at_once = ask(quotas.concurrency)
            guarded = ask(lambda: {name: claim.lab for name, claim in claims.of(groups).items()})
            reserved = {pool: ask(partial(_reserved, reservations, named)) for pool, named in self._named()}
            recorded = ask(lambda: trails.recording(lab.region))
            filled = ask(lambda: self._slack(secrets))
            kept, followed = ask(self._prices), ask(self._courses)
            supported = ask(versions.supported)
            account = ask(self._zones(zones))
            found = read(lambda: adoption.cluster_if_there(lab.cluster_name))
            within = ask(lambda: _within(lab.cluster_name, found))
            karpenter = ask(lambda: _node_pools(node_pools, found, who.arn))
            beside = ask(lambda: _beside(others, found, groups))
            nodes = {pool: read(partial(self._group, adoption, zones, found, pool)) for pool in lab.pools}
            offered = read(lambda: zones.offering(self._types(nodes)))
            return Facts(
                caller=who,
                region=self._region,
                deployed=self._ledger is not None,
                plan=plan.result(),
                bootstrap=version.result(),
                quotas={key: asked.result() for key, asked in held.items()},
                disks=disks.result(),
                concurrency=at_once.result(),
                offered=offered,
                zones=account.result(),
                kubernetes=supported.result(),
                cluster=found,
                groups=nodes,
                inside=within.result(),
                others=beside.result(),
                claims=guarded.result(),
                trails=recorded.result(),
                slack=filled.result(),
                prices=kept.result(),
                courses=followed.result(),
                reservations={pool: asked.result() for pool, asked in reserved.items()},
                spot_role=True if spot_role is None else spot_role.result(),
                karpenter=karpenter.result(),
            )

    @property
    def _quota_codes(self) -> Mapping[str, str]:
        return QUOTA_CODES | (SPOT_QUOTA_CODES if self._lab.spot_pools else {})

    def _group(
        self, adoption: Adoption, zones: Zones, cluster: ExistingCluster | Unread | None, pool: str
    ) -> PoolGroup | Unread | None:
        if not self._lab.pools[pool].has("group"):
            return None
        if not isinstance(cluster, ExistingCluster):
            return cluster
        found = adoption.group_if_there(cluster.name, self._lab.nodegroup_name(pool))
        return None if found is None else PoolGroup(found, *zones.of_subnets(found.subnets))

    def _types(self, groups: Mapping[str, PoolGroup | Unread | None]) -> set[str]:
        """The instance types of all pools, as far as they are known."""
        stated = {kind for pool in self._lab.pools.values() for kind in pool.types}
        found = {
            kind for one in groups.values() if isinstance(one, PoolGroup) for kind in one.found.instance_types
        }
        return (stated | found) - {""}

    def _zones(self, zones: Zones) -> "Callable[[], Mapping[str, str]]":
        """Only a cluster that a deploy will create needs them."""
        is_settled = self._ledger is not None or self._lab.cluster.existing is not None
        return dict if is_settled else zones.ids

    def _named(self) -> list[tuple[str, str]]:
        """The pools that are bought from a reservation, and its id."""
        return [(pool, of_lab.reservation) for pool, of_lab in self._lab.pools.items() if of_lab.reservation]

    def _slack(self, secrets: SlackSecrets) -> SlackSecret | None:
        return None if self._secret is None else secrets.read(self._secret)

    def _prices(self) -> "dict[str, Price | None]":
        if self._ledger is None:
            return {}
        lab, ledger = self._lab, self._ledger
        return {name: ledger.price(lab.region, lab.priced(name)) for name in lab.pools}

    def _nothing(self, who: NoAccess | Unread, why: Unread) -> Facts:
        """The facts where AWS answers no call."""
        return Facts(
            caller=who,
            region=self._region,
            deployed=self._ledger is not None,
            plan=why,
            bootstrap=why,
            quotas=dict.fromkeys(self._quota_codes, why),
            disks=why,
            concurrency=why,
            offered=why,
            zones=why,
            kubernetes=why,
            cluster=why,
            groups=dict.fromkeys(self._lab.pools, why),
            inside=why,
            others=why,
            claims=why,
            trails=why,
            slack=why if self._secret else None,
            prices={} if self._ledger is None else why,
            courses=read(self._courses),
            reservations={pool: why for pool, _ in self._named()},
            karpenter=why if self._lab.pools_with("node pool") else None,
        )


def _reserved(reservations: Reservations, named: str) -> ReservationFacts:
    found = reservations.read(named)
    is_block = found is not None and found.type is ReservationType.BLOCK
    return ReservationFacts(found, reservations.unavailable(named) if is_block else None)


def _within(name: str, cluster: ExistingCluster | Unread | None) -> ClusterFacts | Unread | None:
    if not isinstance(cluster, ExistingCluster):
        return cluster
    if not cluster.public_endpoint:
        return Unread(reason("doctor.endpoint-private", cluster=name))
    return inside.read(name, auto_mode=cluster.auto_mode)


def _node_pools(
    reading: KarpenterReading | None, cluster: ExistingCluster | Unread | None, caller_arn: str
) -> KarpenterFacts | Unread | None:
    if reading is None:
        return None
    if not isinstance(cluster, ExistingCluster):
        return cluster
    if not cluster.public_endpoint:
        return Unread(reason("doctor.endpoint-private", cluster=cluster.name))
    return reading.read(inside.patiently(cluster.name), caller_arn)


def _beside(
    others: OtherNodesReading, cluster: ExistingCluster | Unread | None, pools: list[str]
) -> tuple[OtherNodes, ...] | Unread:
    if isinstance(cluster, Unread):
        return cluster
    return () if cluster is None else others.of(cluster.name, pools)
