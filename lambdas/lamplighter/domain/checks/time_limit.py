"""The used part of a node's budget for checks: from the node's Ready on, without waiting for images.

Our clock and the API server's may differ, so only instants of the same clock are compared.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.domain.checks.ladder import ASKED_ANNOTATION
from lamplighter.domain.pool.nodes import NodeFacts, PodFacts
from lamplighter.values import instant

#: Between a node's Ready and its first check its GPUs are set up, and AwaitGpus has a time limit of its own for that.
#: At most this much of that time counts for the checks.
SET_UP_AT_MOST = timedelta(seconds=90)
#: A node that was Ready for longer was there before the lease, or it was late and announced as late.
THERE_BEFORE = timedelta(minutes=5)
ZERO = timedelta()

_PULLED = re.compile(r"Successfully pulled image .{1,600}? in ((?:[\d.]+(?:h|ms|m|s|us|µs|ns))+)")
_PART = re.compile(r"([\d.]+)(h|ms|m|us|µs|ns|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def asked(pod: PodFacts) -> datetime:
    """When we created the pod, by our own clock."""
    return instant.foreign(pod.annotations.get(ASKED_ANNOTATION)) or pod.created


def spent(node: NodeFacts, pods: Sequence[PodFacts], pulled: Mapping[str, float], now: datetime) -> timedelta:
    """The time that the node's checks have used by now.

    `pods` are the checks' pods on this node, with those that pull images. `pulled` are seconds of pulling by pod,
    from the kubelets' events.
    """
    if not pods:
        return ZERO
    first = min(pods, key=lambda pod: pod.created)
    set_up = max(ZERO, first.created - node.ready_since) if node.ready_since else ZERO
    charged = min(set_up, SET_UP_AT_MOST) if set_up < THERE_BEFORE else ZERO
    since = now - min(asked(pod) for pod in pods)
    ran = sum((ran_for(pod) for pod in pods if pod.gpus), ZERO)
    waited = sum((_pulling(pod, pulled, now) for pod in pods), ZERO)
    # Images are pulled while other checks run. Only the rest is time in which nothing else ran.
    waited = min(waited, max(ZERO, since - ran))
    return max(ZERO, charged + since - waited)


def ran_for(pod: PodFacts) -> timedelta:
    """How long the pod's container ran, once it has ended."""
    return pod.ended - pod.began if pod.began and pod.ended else ZERO


def pull_of(pod: PodFacts, pulled: Mapping[str, float]) -> timedelta:
    """How long the pod's image was pulled: by the kubelet's event, else from scheduled to started."""
    if pod.name in pulled:
        return timedelta(seconds=pulled[pod.name])
    return pod.began - pod.scheduled if pod.began and pod.scheduled else ZERO


def _pulling(pod: PodFacts, pulled: Mapping[str, float], now: datetime) -> timedelta:
    under_way = pod.scheduled and not pod.began and not pod.finished and pod.name not in pulled
    return now - asked(pod) if under_way else pull_of(pod, pulled)


def pulled_in(message: str) -> float | None:
    """The seconds in the kubelet's event Pulled; 0 for an image that was on the node; None for any other text."""
    if "already present on machine" in message:
        return 0.0
    match = _PULLED.search(message)
    if match is None:
        return None
    try:
        return sum(float(figure) * _SECONDS[unit] for figure, unit in _PART.findall(match[1]))
    except ValueError:
        return None
