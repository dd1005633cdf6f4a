"""What a deploy changes of node groups, and what EKS does not take in one update.

EKS replaces a group's nodes by one call (UpdateNodegroupVersion) and changes everything else by another
(UpdateNodegroupConfig); CloudFormation refuses an edit that needs both: "Version and ReleaseVersion updates
cannot be combined with other updates" (aws/containers-roadmap 1258, aws-cdk 13602 and 16644).
"""

from collections.abc import Mapping
from dataclasses import dataclass

Keys = Mapping[str, str]
RELEASE = "this release of Lamplighter"
"""In the place of a key: what changes though no key of the lab does."""


@dataclass(frozen=True)
class Side:
    """What one of the two calls brings to a group: a digest of all of it, and the keys of the lab behind it."""

    digest: str
    keys: Keys

    def changed(self, now: "Side") -> frozenset[str]:
        """The keys that differ; RELEASE where none does and the group changes all the same."""
        if self.digest == now.digest:
            return frozenset()
        names = {*self.keys, *now.keys}
        differ = frozenset(name for name in names if self.keys.get(name) != now.keys.get(name))
        return differ or frozenset({RELEASE})


@dataclass(frozen=True)
class NodeGroupSides:
    """One node group as a deploy would have it: what replaces its nodes, and what leaves them."""

    replacing: Side
    settings: Side


@dataclass(frozen=True)
class TwoDeploys:
    """An edit that takes two deploys: the names that come first, and those that are left as they were until then.

    Without the latter it is a release that cannot be deployed over the one before it.
    """

    first: tuple[str, ...]
    then: tuple[str, ...]


def two_deploys(before: Mapping[str, NodeGroupSides], now: Mapping[str, NodeGroupSides]) -> TwoDeploys | None:
    """What to deploy first where a group that stays would need both calls; None where EKS takes the edit whole.

    Settings come first, since they replace no node. A release comes before any edit.
    """
    settings, replacing = set[str](), set[str]()
    for group in before.keys() & now.keys():
        other = before[group].settings.changed(now[group].settings)
        nodes = before[group].replacing.changed(now[group].replacing)
        if other and nodes:
            settings |= other
            replacing |= nodes
    if not settings:
        return None
    if RELEASE in settings | replacing:
        return TwoDeploys((RELEASE,), tuple(sorted((settings | replacing) - {RELEASE})))
    return TwoDeploys(tuple(sorted(settings)), tuple(sorted(replacing)))
