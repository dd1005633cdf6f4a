"""Pods that start: how long an image may be pulled and a container may take, and what the last event says."""

from typing import Any

from tests.snapshots import NODES, POOL, Document, at_work, event, healthy, pod, train, waiting
from tests.unit.diagnosis.table import SECOND, UNREAD, Told, given, table

NODE = NODES[0]
MINE = "lab/train-0"
STANDS = f"lab/train-0 on {NODE} does not start: "


def of_pod(reason: str, message: str = "x", minute: float = 10, name: str = "train-0") -> Document:
    return event("Pod", name, reason, message, minute, namespace="lab")


def starting(
    *events: Document, now: float = 20, minute: float = 2, message: str = "", **parts: Any
) -> Document:
    """A pod of which no container is known yet."""
    work = train(minute=minute)
    work["status"] |= {"containerStatuses": [], "message": message}
    return given(at_work(work, now=now), events=[*events], **parts)


def pulling(*later: Document, now: float, minute: float = 5) -> Document:
    return given(
        at_work(train(minute=2), now=now), events=[of_pod("Pulling", "Pulling image", minute), *later]
    )


def creating() -> Document:
    return at_work(waiting(train(minute=2), "ContainerCreating", "odd"), now=LATE)


def stands(words: str, *more: str) -> list[Told]:
    return [("unknown", POOL, f"{STANDS}{words}", *more)]


def began(minute: str, stage: str = "container-start", name: str = MINE) -> list[Told]:
    return [(stage, name, f"11:{minute}:00")]


LATE = 4 + SECOND
PULLED = of_pod("Pulled", "Successfully pulled", 6)
CREATED = of_pod("Created", "Created it", 3)
TOOK = 'Successfully pulled image "x" in {0} ({0} including waiting)'
CHECK = pod("check", "lab", 0, minute=12, phase="Pending", gpus=1)
CHECK["status"]["containerStatuses"] = []


test_a_pod_may_take_to_start = table(
    ("two minutes", starting(now=4), began("02")),
    ("and not a second more", starting(now=LATE), stands("no reason is given")),
    ("since its image was there", starting(PULLED, now=8), began("06")),
    ("and not a second more then", starting(CREATED, PULLED, now=8 + SECOND), stands("Pulled: Successfully pulled")),
    ("since its image was there, though a container started", given(healthy(), CHECK, more={"events": [
     of_pod("Pulled", TOOK.format("1m58s"), 19, "check"), of_pod("Started", "Started container", 19, "check")]}),
     began("19", name="lab/check")),
    ("in the kubelet's words", starting(now=LATE, message="odd"), stands("odd")),
    ("in those of its last event", starting(CREATED, now=LATE), stands("Created: Created it")),
    ("in those of its container", creating(), stands("ContainerCreating odd")),
    ("and what was not read", given(starting(now=LATE), events=UNREAD),
     stands("no reason is given", "not read: kubernetes.events")),
    ("two minutes to pull", pulling(now=7), began("05", "image-pull")),
    ("and not a second more to pull", pulling(now=7 + SECOND),
     [("image-pull-slow", MINE, "lab/train-0 has been pulling an image for 121 s")]),
    ("since it pulls again", pulling(of_pod("Failed", "Error", 6), of_pod("Pulling", "Pulling image", 8), now=9),
     began("08", "image-pull")),
    ("as before once a pull failed", pulling(of_pod("Failed", "Error", 6), now=4), began("02")),
)  # fmt: skip


SLOW = (
    "120s",
    "2m",
    "1m59s1000ms",
    "1h",
    "0.03334h",
    "120000000us",
    "120000000µs",
    "2m18.049s",
    "2m0s",
    "1h2m3s",
)
QUICK = ("119.999s", "1m59s999ms", "0.03333h", "119999999us", "119999999µs", "1.2.3h", "1m59.9s", "945ms")


def took(time: str, reason: str = "Pulled", said: str = TOOK) -> Document:
    return given(at_work(), events=[of_pod(reason, said.format(time))])


test_a_pull_was_slow = table(
    *((f"after {time}", took(time), [("image-pull-slow", MINE, f"{MINE}: {TOOK.format(time)}")]) for time in SLOW),
    *((f"not after {time}", took(time), []) for time in QUICK),
    *((f"not in another event, {time}", took(time, "Odd"), []) for time in (*SLOW, *QUICK)),
    ("with the size of the image", took("2m18.049s", said=TOOK + ". Image size: 9 bytes."), ["image-pull-slow"]),
    ("not by a figure in the name of an image",
     took("3s", said='Successfully pulled image "lab/train:90m" in {0} ({0} including waiting)'), []),
)  # fmt: skip


FAILED = ("Failed", "Failed to pull image x")


def last(*events: tuple[str, str]) -> Document:
    return starting(*(of_pod(*each, 19 + n / 10) for n, each in enumerate(events)), minute=19)


test_an_image_could_not_be_pulled = table(
    ("by its event", last(FAILED), [("image-pull-failed", MINE, f"{MINE}: Failed: Failed to pull image x")]),
    ("by the last one", last(FAILED, ("BackOff", "Back-off pulling image x")),
     [("image-pull-failed", MINE, f"{MINE}: BackOff: Back-off pulling image x")]),
    ("not if it was pulled later", last(FAILED, ("Pulled", "pulled")), ["container-start"]),
    ("not if its container started later", last(FAILED, ("Started", "started")), ["container-start"]),
    ("not by another failure", last(("Failed", "Error: odd")), ["container-start"]),
    ("not if the pod works", given(healthy(), more={"events": [of_pod("Failed", "Failed to pull image: toomanyrequests",
     5),
     of_pod("Pulled", TOOK.format("3.2s"), 6)]}), []),
)  # fmt: skip


SANDBOX = 'Failed to create pod sandbox: no runtime for "nvidia" is configured'


def sandbox(*reasons: str, work: Document | None = None) -> Document:
    said = {"FailedCreatePodSandBox": SANDBOX}
    events = [of_pod(reason, said.get(reason, "x"), 18 + n / 10) for n, reason in enumerate(reasons)]
    return given(at_work(work or train(minute=19)), events=events)


MISSING = ["runtime-missing"]
CRASHES = waiting(train(), "CrashLoopBackOff", "back-off", restarts=4)


test_a_sandbox_could_not_be_made = table(
    ("by its event", sandbox("FailedCreatePodSandBox"), MISSING),
    ("not if an image is pulled later", sandbox("FailedCreatePodSandBox", "Pulling"), ["image-pull"]),
    ("after a pull", sandbox("Pulling", "FailedCreatePodSandBox"), MISSING),
    ("after a container was created", sandbox("FailedCreatePodSandBox", "Created", "FailedCreatePodSandBox"), MISSING),
    ("though it was placed later", sandbox("FailedCreatePodSandBox", "Scheduled"), MISSING),
    ("not if it stands again", sandbox("Pulling", "FailedCreatePodSandBox", "Created"), ["image-pull"]),
    ("not if the pod crashes later by itself", sandbox("FailedCreatePodSandBox", "Started", work=CRASHES), ["unknown"]),
)  # fmt: skip
