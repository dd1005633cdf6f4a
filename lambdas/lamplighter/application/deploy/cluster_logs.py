"""The log group of the control plane, which EKS writes again after its cluster is deleted, without an end of its lines.

CloudFormation owns the group. This step is created before it and deleted after it: it removes what EKS wrote again.
"""

import logging
from datetime import timedelta

from lamplighter import clock
from lamplighter.adapters.aws.cluster_description import exists
from lamplighter.adapters.aws.logs.log_group import LogGroup, LogGroupState
from lamplighter.errors import LamplighterError, Refused
from lamplighter.reasons.reason import reason

_logger = logging.getLogger(__name__)

WRITTEN_AGAIN_WITHIN = timedelta(minutes=2)
"""EKS's last lines come within a minute or two (terraform-aws-modules/terraform-aws-eks #2763)."""
LOOK_EVERY_SECONDS = 10.0
MOST_LEFT = 10 * 1024**2
"""Last lines are few. More bytes are a log that somebody kept on purpose."""


def make_room(name: str, cluster: str) -> None:
    """Removes what EKS wrote after an earlier cluster of this name. Raises Refused if that is too much for last lines.

    The group of a cluster that exists stays, whoever changed when its lines expire. Where the group or the cluster
    cannot be read, CloudFormation itself fails if there is one.
    """
    try:
        if exists(cluster):
            return
        found = _remove_last_lines(name)
    except LamplighterError as error:
        _logger.warning("whether log group %s is left is not known: %s", name, error)
        return
    if found is not None and not found.expires and found.stored_bytes > MOST_LEFT:
        raise Refused(reason("deploy.logs-kept", group=name, mib=found.stored_bytes // 1024**2))


def remove_for_good(name: str) -> None:
    """Removes the group as often as EKS writes it again, for some minutes. A destroy does not fail for it."""
    begun = clock.now()
    while clock.now() - begun <= WRITTEN_AGAIN_WITHIN:
        try:
            _remove_last_lines(name)
        except LamplighterError as error:
            _logger.warning("log group %s may be left: %s", name, error)
        clock.sleep(LOOK_EVERY_SECONDS)


def _remove_last_lines(name: str) -> LogGroupState | None:
    """The group as it was. Only one that EKS made is removed: its lines never expire, and they are few."""
    found = LogGroup(name).read()
    if found is not None and not found.expires and found.stored_bytes <= MOST_LEFT:
        LogGroup(name).delete()
    return found
