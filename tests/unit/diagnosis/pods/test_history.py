"""Failures of pods that are history: what came before the expectation, and whose work another pod does."""

from typing import Any

from tests.snapshots import Document, at, at_work, event, healthy, pod, train, waiting
from tests.unit.diagnosis.table import given, table

REFUSED = {"reason": "UnexpectedAdmissionError", "message": "no"}


def job(spec: Document | None = None, namespace: str = "lab", **status: Any) -> Document:
    metadata = {"name": "train"} | ({"namespace": namespace} if namespace else {})
    return {"metadata": metadata, "spec": spec or {}, "status": status}


def of_job(found: Document, owner: str = "Job/train") -> Document:
    return given(at_work(waiting(train(owner=owner), "ErrImagePull", "gone")), jobs=[found])


def counted(completions: int | None, succeeded: int | None, complete: str, namespace: str) -> Document:
    conditions = [{"type": "Complete", "status": complete}]
    return of_job(job({"completions": completions}, namespace, succeeded=succeeded, conditions=conditions))


COMPLETE = job(conditions=[{"type": "Complete", "status": "True"}])
OVER = ((2, 2, "False"), (None, 1, "False"), (2, 0, "True"))
UNDER_WAY = ((2, 1, "False"), (None, 0, "False"), (2, None, "False"))


test_a_job_that_is_done_makes_its_failed_pods_history = table(
    *((f"{succeeded} of {completions} succeeded, complete: {complete}, namespace: {namespace or 'none'}",
       counted(completions, succeeded, complete, namespace), told)
      for cases, told in ((OVER, []), (UNDER_WAY, ["image-pull-failed"])) for completions, succeeded, complete in cases
      for namespace in ("lab", "")),
    ("complete and nothing else", of_job(COMPLETE), []),
    ("of another kind with its name", of_job(COMPLETE, "ReplicaSet/train"), ["image-pull-failed"]),
)  # fmt: skip


def ended(minute: float | None, created: float) -> Document:
    work = train("Failed", minute=created)
    state = {"exitCode": 1} | ({} if minute is None else {"finishedAt": at(minute)})
    work["status"] |= REFUSED
    work["status"]["containerStatuses"][0]["state"] = {"terminated": state}
    return at_work(work)


test_what_was_before_the_expectation_is_history = table(
    ("it ended before", ended(-1, 3), []),
    ("not if it ended at that instant", ended(0, -3), ["admission-refused"]),
    ("it was created before, and nobody says when it ended", ended(None, -1), []),
    ("not if it was created at that instant", ended(None, 0), ["admission-refused"]),
    ("what failed an hour before", given(healthy(), more={"events": [
     event("Pod", "train-0", "Failed", "Error: unsatisfied condition: cuda>=13.0", -60, namespace="lab")]}), []),
)  # fmt: skip


def followed(namespace: str = "lab", owner: str = "ReplicaSet/a", minute: float | None = 4, phase: str = "Running",
             created: float | None = 3) -> Document:  # fmt: skip
    """A pod was refused, and another one came."""
    first = pod(
        "first", "lab", 0, gpus=1, phase="Failed", owner=owner and "ReplicaSet/a", minute=created or 0
    )
    first["status"] |= REFUSED
    other = pod("next", namespace, 1, gpus=1, phase=phase, minute=minute or 0, owner=owner)
    for each, known in ((first, created), (other, minute)):
        if known is None:
            del each["metadata"]["creationTimestamp"]
    return given(healthy(), first, other, gone="train")


def failed(*pods: Document) -> Document:
    work = train("Failed", minute=10, owner="Job/train")
    work["status"]["containerStatuses"][0]["state"] = {"terminated": {"reason": "Error", "exitCode": 1}}
    document = at_work(work, train_0="Killed")
    document["kubernetes"]["pods"] += pods
    return document


STAYS = [("admission-refused", "lab/first")]


test_another_pod_does_the_work = table(
    ("a later one of its owner", followed(), []),
    ("one of the same time", followed(minute=3), []),
    ("not one of before", followed(minute=2), STAYS),
    ("not one that waits", followed(phase="Pending"), [*STAYS, "unknown"]),
    ("not one of another owner", followed(owner="ReplicaSet/b"), STAYS),
    ("not one of another namespace", followed(namespace="other"), STAYS),
    ("not one without an owner", followed(owner=""), STAYS),
    ("one of which nobody says when it came", followed(minute=None), []),
    ("one later than nobody knows when", followed(created=None), []),
    ("one that does the work of a failed job's pod", failed(pod("train-1", "lab", 0, gpus=1, owner="Job/train",
     minute=12)),
     []),
)  # fmt: skip
