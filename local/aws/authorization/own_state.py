"""The state of our own services that policies need: Auto Scaling groups, node groups, tags of clusters."""

from collections.abc import Mapping

from local.aws.api.own_services import AwsError
from local.aws.authorization.state import Group, State, Tags
from local.aws.autoscaling.scaling import Scaling
from local.aws.eks.clusters import Clusters
from local.aws.eks.nodegroups import Nodegroups


def fill_in(state: State, scaling: Scaling, nodegroups: Nodegroups, clusters: Clusters) -> None:
    """Lets `state` read these services."""

    def groups() -> list[Group]:
        return [
            Group(
                arn=group.arn,
                name=group.name,
                tags={key: value for key, (value, _) in group.tags.items()},
                instances=frozenset(group.members),
            )
            for group in list(scaling.groups.values())
        ]

    def known() -> Mapping[tuple[str, str], tuple[str, Tags]]:
        return {(each.cluster, each.name): (each.arn, each.tags) for each in nodegroups.known()}

    def tags(arn: str) -> Tags | None:
        if ":eks:" not in arn or ":cluster/" not in arn:
            return None
        try:
            found: Tags = clusters.cluster(arn.rpartition("/")[2]).document["tags"]
        except AwsError:
            return {}
        return found

    state.groups, state.nodegroups, state.tags_of_own = groups, known, tags
