"""Everything that the doctor reads, side by side; what cannot be read is not read, and says why.

Clients are made before the first thread begins: making them is what boto3 cannot do in several at once.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from lamplighter.adapters.aws.capacity.adoption import Adoption
from lamplighter.adapters.aws.capacity.claims import Claims
from lamplighter.adapters.doctor import caller, inside
from lamplighter.adapters.doctor.bootstrap import Bootstrap
from lamplighter.adapters.doctor.quotas import AccountQuotas, Zones
from lamplighter.adapters.doctor.slack_secret import SlackSecrets
from lamplighter.adapters.doctor.trails import Trails
from lamplighter.data.instance_types import QUOTA_CODES
from lamplighter.domain.doctor.facts import AwsIdentity, ClusterFacts, Facts, NoAccess, PoolGroup, SlackSecret
from lamplighter.domain.doctor.line import Unread
from lamplighter.domain.pool.adoption import ExistingCluster
from lamplighter.errors import LamplighterError
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
    """One look at the account and a lab in it, from where it runs; `ledger` is a deployed lab's.

    `region` is where the settings of whoever asks lead; calls go wherever AWS_REGION says.
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
        """All of it; takes about as long as its slowest part, at most some 10 seconds where nothing answers."""
        who = _read(caller.who)
        if isinstance(who, NoAccess):
            return self._nothing(who, NOBODY)
        # Whoever waited for one answer in vain need not wait for ten more.
        return self._nothing(who, SILENT) if isinstance(who, Unread) else self._all(who)

    def _all(self, who: AwsIdentity) -> Facts:
        lab = self._lab
        bootstrap, quotas, zones, trails = Bootstrap(), AccountQuotas(), Zones(), Trails()
        adoption, claims, secrets = Adoption(), Claims(lab.cluster_name), SlackSecrets()
        groups = [lab.nodegroup_name(pool) for pool in lab.pools]
        with ThreadPoolExecutor(max_workers=12) as threads:

            def ask(call: Callable[[], T]) -> "Future[T | Unread]":
                return threads.submit(_read, call)

            version = ask(bootstrap.version)
            held = {key: ask(partial(quotas.vcpus, code)) for key, code in QUOTA_CODES.items()}
            at_once = ask(quotas.concurrency)
            guarded, recorded = ask(lambda: claims.of(groups)), ask(lambda: trails.recording(lab.region))
            filled = ask(lambda: self._slack(secrets))
            kept, followed = ask(self._prices), ask(self._courses)
            found = _read(lambda: adoption.cluster_if_there(lab.cluster_name))
            within = ask(lambda: _within(lab.cluster_name, found))
            nodes = {pool: _read(partial(self._group, adoption, zones, found, pool)) for pool in lab.pools}
            offered = _read(lambda: zones.offering(self._types(nodes)))
            return Facts(
                caller=who,
                region=self._region,
                deployed=self._ledger is not None,
                bootstrap=version.result(),
                quotas={key: asked.result() for key, asked in held.items()},
                concurrency=at_once.result(),
                offered=offered,
                cluster=found,
                groups=nodes,
                inside=within.result(),
                claims=guarded.result(),
                trails=recorded.result(),
                slack=filled.result(),
                prices=kept.result(),
                courses=followed.result(),
            )

    def _group(
        self, adoption: Adoption, zones: Zones, cluster: ExistingCluster | Unread | None, pool: str
    ) -> PoolGroup | Unread | None:
        if not isinstance(cluster, ExistingCluster):
            return cluster
        found = adoption.group_if_there(cluster.name, self._lab.nodegroup_name(pool))
        return None if found is None else PoolGroup(found, zones.of_subnets(found.subnets))

    def _types(self, groups: Mapping[str, PoolGroup | Unread | None]) -> set[str]:
        """The instance types of all pools, as far as they are known."""
        stated = {pool.instance_type for pool in self._lab.pools.values()}
        found = {
            kind for one in groups.values() if isinstance(one, PoolGroup) for kind in one.found.instance_types
        }
        return (stated | found) - {""}

    def _slack(self, secrets: SlackSecrets) -> SlackSecret | None:
        return None if self._secret is None else secrets.look(self._secret)

    def _prices(self) -> "dict[str, Price | None]":
        if self._ledger is None:
            return {}
        lab, ledger = self._lab, self._ledger
        return {name: ledger.price(lab.region, pool.instance_type) for name, pool in lab.pools.items()}

    def _nothing(self, who: NoAccess | Unread, why: Unread) -> Facts:
        """What is left where AWS answers no call."""
        return Facts(
            caller=who,
            region=self._region,
            deployed=self._ledger is not None,
            bootstrap=why,
            quotas=dict.fromkeys(QUOTA_CODES, why),
            concurrency=why,
            offered=why,
            cluster=why,
            groups=dict.fromkeys(self._lab.pools, why),
            inside=why,
            claims=why,
            trails=why,
            slack=why if self._secret else None,
            prices={} if self._ledger is None else why,
            courses=_read(self._courses),
        )


def _within(name: str, cluster: ExistingCluster | Unread | None) -> ClusterFacts | Unread | None:
    if not isinstance(cluster, ExistingCluster):
        return cluster
    if not cluster.public_endpoint:
        return Unread(reason("doctor.endpoint-private", cluster=name))
    return inside.look(name)


def _read(call: Callable[[], T]) -> T | Unread:
    """What the call gives, or why it gives nothing."""
    try:
        return call()
    except LamplighterError as error:
        return Unread(error.said)
