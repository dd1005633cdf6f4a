"""The changes of a deploy to node groups, and those that EKS does not take in one update.

EKS replaces a group's nodes by one call (UpdateNodegroupVersion) and changes everything else by another
(UpdateNodegroupConfig); CloudFormation refuses an edit that needs both: "Version and ReleaseVersion updates
cannot be combined with other updates" (aws/containers-roadmap 1258, aws-cdk 13602 and 16644).
"""

from collections.abc import Mapping
from dataclasses import dataclass

Keys = Mapping[str, str]
RELEASE = "this release of Lamplighter"
"""In the place of a key: a change that no key of the lab causes."""


@dataclass(frozen=True)
class Side:
    """The input of one of the two calls for a group: a digest of it, and the keys of the lab that it comes from."""

    digest: str
    keys: Keys

    def changed(self, now: "Side") -> frozenset[str]:
        """The keys that differ; RELEASE where no key differs and the group changes nevertheless."""
        if self.digest == now.digest:
            return frozenset()
        names = {*self.keys, *now.keys}
        differ = frozenset(name for name in names if self.keys.get(name) != now.keys.get(name))
        return differ or frozenset({RELEASE})


@dataclass(frozen=True)
class NodeGroupSides:
    """One node group as a deploy would write it: the part that replaces its nodes, and the part that does not."""

    replacing: Side
    settings: Side


@dataclass(frozen=True)
class TwoDeploys:
    """An edit that needs two deploys: the keys to deploy first, and the keys to leave unchanged until then.

    Where `then` is empty, this release cannot be deployed over the one before it.
    """

    first: tuple[str, ...]
    then: tuple[str, ...]


def two_deploys(before: Mapping[str, NodeGroupSides], now: Mapping[str, NodeGroupSides]) -> TwoDeploys | None:
    """The two deploys where a group that stays would need both calls; None where one deploy is enough.

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
