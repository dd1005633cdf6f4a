"""A Job's instants are the lab's: pods after failures, its deadline, its deletion."""

import itertools
from datetime import datetime

from tests.local.cluster.lab import await_true

JOBS = "/apis/batch/v1/namespaces/default/jobs"
#: A container takes its time to start and to end; the controller has done in no time what it owes.
SECONDS = 6


def job(lab, name: str, command: str, **spec) -> None:
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", command]}
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
    }
    body = {"metadata": {"name": name}, "spec": {"template": {"spec": pod}, **spec}}
    lab.kubernetes.request("POST", JOBS, body)


def failed(lab, name: str):
    def look():
        conditions = lab.kubernetes.get(f"{JOBS}/{name}")["status"].get("conditions", [])
        return next((one for one in conditions if one["type"] == "Failed"), None)

    return await_true(look, f"Job {name} has failed")


def epoch(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()


def test_a_failing_job_is_tried_again_after_ten_seconds_then_twenty_and_is_deleted_in_time(lab):
    job(lab, "failing", "exit 1", backoffLimit=2, ttlSecondsAfterFinished=600)
    condition = failed(lab, "failing")
    assert condition["reason"] == "BackoffLimitExceeded"
    pods = lab.kubernetes.get("/api/v1/namespaces/default/pods?labelSelector=job-name=failing")["items"]
    created = sorted(epoch(pod["metadata"]["creationTimestamp"]) for pod in pods)
    first, second = (later - earlier for earlier, later in itertools.pairwise(created))
    assert 10 <= first <= 10 + SECONDS
    assert 20 <= second <= 20 + SECONDS
    query = "involvedObject.kind=Job,involvedObject.name=failing,reason=SuccessfulCreate"
    events = lab.kubernetes.get(f"/api/v1/namespaces/default/events?fieldSelector={query}")["items"]
    assert len(events) == 3
    await_true(lambda: lab.kubernetes.find(f"{JOBS}/failing") is None, "it is deleted")
    assert 600 <= lab.clock.time() - epoch(condition["lastTransitionTime"]) <= 600 + SECONDS


def test_a_job_that_does_not_end_fails_at_its_deadline(lab):
    job(lab, "endless", "sleep inf", activeDeadlineSeconds=300)
    condition = failed(lab, "endless")
    assert condition["reason"] == "DeadlineExceeded"
    begun = epoch(lab.kubernetes.get(f"{JOBS}/endless")["status"]["startTime"])
    assert 300 <= epoch(condition["lastTransitionTime"]) - begun <= 300 + SECONDS
    lab.kubernetes.request("DELETE", f"{JOBS}/endless", {"propagationPolicy": "Background"})


def test_events_of_one_instant_are_as_many_as_there_were(lab):
    job(lab, "wide", "exit 0", completions=8, parallelism=8)
    query = "involvedObject.kind=Job,involvedObject.name=wide,reason=SuccessfulCreate"
    listed = f"/api/v1/namespaces/default/events?fieldSelector={query}"
    await_true(lambda: len(lab.kubernetes.get(listed)["items"]) == 8, "each pod's making is told")
    lab.kubernetes.request("DELETE", f"{JOBS}/wide", {"propagationPolicy": "Background"})
