"""What Kubernetes' Job controller must still do for a Job, and at which instants it must check one again.

It compares virtual instants, but waits for them by timers of the machine. These are wrong when time stands or jumps. So
the fleet touches a Job at each of its instants. The controller then syncs the Job and does what is due
(https://kubernetes.io/docs/concepts/workloads/controllers/job/).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from local.fleet.world import TERMINAL, World, key
from local.kubernetes.api import Object

_TRACKED = "batch.kubernetes.io/job-tracking"
_TOUCHED = "lamplighter.local/due"
#: The delay before the pod after the first failure; twice as long after each further failure, up to ten minutes.
_BACK_OFF, _LONGEST_BACK_OFF = 10.0, 600.0


@dataclass(frozen=True)
class _Pods:
    """The pods of a Job: those that run or will run, those that terminate, and when the last failed pod failed."""

    live: int
    leaving: int
    untold: bool
    """Whether a pod ended that the Job has not counted."""
    failed: float | None


def debts(job: Object, pods: list[Object], now: float) -> Iterator[str]:
    """What is missing of a Job with these pods at an instant, an epoch."""
    name, found = f"Job {'/'.join(key(job))}", _pods(pods)
    if found.untold:
        yield f"{name}: its count of ended pods"
    status, spec = job.get("status", {}), job["spec"]
    if "deletionTimestamp" in job["metadata"] or spec.get("suspend"):
        return
    if finished(job) is not None:
        if any(at <= now for at in _instants_of_the_end(job)):
            yield f"{name}: its deletion"
        return
    done, failed = status.get("succeeded", 0), status.get("failed", 0)
    over = any(at <= now for at in _deadline(job)) or failed > spec.get("backoffLimit", 6)
    if over or _enough(spec, done, found.live):
        # Its end is reported when all its pods are gone. Terminating pods take the lab's time for that.
        if not found.leaving:
            yield f"{name}: its end"
        return
    wanted = min(spec.get("parallelism", 1), _wanted(spec, done, found.live))
    again = _again(status, found)
    if status.get("active", 0) != found.live or (found.live < wanted and (again is None or again <= now)):
        yield f"{name}: its pods"


def instants(job: Object, pods: list[Object]) -> list[float]:
    """When the controller must check the Job, as epochs; some may have passed."""
    if "deletionTimestamp" in job["metadata"] or job["spec"].get("suspend"):
        return []
    if finished(job) is not None:
        return _instants_of_the_end(job)
    again = _again(job.get("status", {}), _pods(pods))
    return _deadline(job) + ([] if again is None else [again])


def owns(job: Object, pod: Object) -> bool:
    """Whether the pod is one of the Job's."""
    references = pod["metadata"].get("ownerReferences") or []
    return any(each["uid"] == job["metadata"]["uid"] for each in references)


def touch(world: World, job: Object) -> None:
    """Makes the controllers check the Job."""
    namespace, name = key(job)
    address = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
    world.api.merge(address, {"metadata": {"annotations": {_TOUCHED: world.timestamp()}}})


def finished(job: Object) -> float | None:
    """When the Job finished; None if it has not."""
    for each in job.get("status", {}).get("conditions") or []:
        if each["type"] in ("Complete", "Failed") and each["status"] == "True":
            return _epoch(each["lastTransitionTime"])
    return None


def _pods(pods: list[Object]) -> _Pods:
    ended = [pod for pod in pods if pod.get("status", {}).get("phase") in TERMINAL]
    under_way = [pod for pod in pods if pod.get("status", {}).get("phase") not in TERMINAL]
    leaving = sum("deletionTimestamp" in pod["metadata"] for pod in under_way)
    return _Pods(
        live=len(under_way) - leaving,
        leaving=leaving,
        untold=any(_TRACKED in (pod["metadata"].get("finalizers") or []) for pod in ended),
        failed=max((_failed_at(pod) for pod in ended if pod["status"]["phase"] == "Failed"), default=None),
    )


def _failed_at(pod: Object) -> float:
    told = [
        each["state"]["terminated"]["finishedAt"]
        for each in pod["status"].get("containerStatuses") or []
        if "terminated" in each.get("state", {})
    ]
    return max(map(_epoch, told), default=_epoch(pod["metadata"]["creationTimestamp"]))


def _again(status: Object, found: _Pods) -> float | None:
    """When the pod after a failure may start; None without a failure."""
    failed = status.get("failed", 0)
    if found.failed is None or not failed:
        return None
    back_off: float = min(_BACK_OFF * 2.0 ** (failed - 1), _LONGEST_BACK_OFF)
    return found.failed + back_off


def _enough(spec: Object, done: int, live: int) -> bool:
    """Whether it has succeeded. Without a count of completions, that is one success and no running pod."""
    if spec.get("completions") is None:
        return bool(done > 0 and live == 0)
    return bool(done >= spec["completions"])


def _wanted(spec: Object, done: int, live: int) -> int:
    """How many pods may run at most. After a success without a count, no more than those that run."""
    if spec.get("completions") is None:
        return live if done else int(spec.get("parallelism", 1))
    return int(spec["completions"]) - done


def _deadline(job: Object) -> list[float]:
    allowed, begun = job["spec"].get("activeDeadlineSeconds"), job.get("status", {}).get("startTime")
    return [_epoch(begun) + allowed] if begun and allowed is not None else []


def _instants_of_the_end(job: Object) -> list[float]:
    kept, at = job["spec"].get("ttlSecondsAfterFinished"), finished(job)
    return [at + kept] if at is not None and kept is not None else []


def _epoch(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()
