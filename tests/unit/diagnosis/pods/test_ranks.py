"""Ranks that do not reach each other: the words that say so, whose fault it is, and when a failure is history."""

from tests.diagnosis_cases import aws, conditions
from tests.snapshots import NODES, Document, event, healthy, node, pod, replace, waiting
from tests.unit.diagnosis.ranks import BLOCKED, JOB, RESULT, STORE, alone, labelled, rank, ranks
from tests.unit.diagnosis.table import DEAD, UNREAD, given, table

TO_NCCL_0 = f"{STORE} while trying to connect to (nccl-0.nccl, 29500)."
TIMED_OUT = (
    "worker-1:20:20 [0] NCCL WARN NET/Socket : connect to 192.168.12.11<41999> returned Connection timed out"
)
CLOSED = "no rule of sg-node lets a node reach another on port 29500/tcp"
C10D = (
    "[c10d] The IPv{} network addresses of (nccl-0.nccl, 29500) cannot be retrieved (gai error: -{})\n"
    "[c10d] The client socket has timed out after 60s while trying to connect to (nccl-0.nccl, 29500)."
)


def both(log: str, phase: str = "Running") -> Document:
    return ranks(log, log, phase=phase)


test_ranks_say_that_they_were_kept_apart = table(
    *((f"both print {log[:70]}", both(log, phase), [JOB]) for log, phase in (
        (TO_NCCL_0, "Running"), (TIMED_OUT, "Running"),
        ("torch.distributed.DistStoreError: Timed out after 121 seconds waiting for clients. 1/2 clients joined.",
        "Running"),
        ("The client socket has timed out after 60000ms while trying to connect", "Running"),
        ("RuntimeError: TCPStore: wait timeout after 300000ms, keys: /worker/group", "Running"),
        ("node-1:52:52 [0] NCCL WARN socketPollConnect: connect to 10.0.1.7<39211> returned Connection timed out (110)",
         "Running"),
        # PyTorch: its issues 80772, 69197 and 79388.
        ("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "Failed"),
        ("RuntimeError: connect() timed out. Original timeout was 60000 ms.", "Failed"),
        (C10D.format(6, 9), "Failed"))),
    ("unless one had no address", both(C10D.format(4, 2), "Failed"), ["unknown"]),
    ("unless NCCL spoke before", both(f"NCCL INFO Bootstrap : Using eth0\n{TO_NCCL_0}"), []),
    ("unless they have met", both(f"{TO_NCCL_0}\n{RESULT}"), []),
    ("not where one refused", both("DistNetworkError: The client socket has failed to connect (errno: 111 - Connection "
     "refused)."), []),
    ("not where they say nothing", both(""), []),
    ("closed groups are named beside it", ranks(TO_NCCL_0, TO_NCCL_0, closed=True),
     [(*JOB, *(f"lab/nccl-{number}: {TO_NCCL_0}" for number in range(2)), CLOSED)]),
    ("the line of one is quoted", ranks("", f"one\n  {STORE}  \nlast"), [(*JOB, f"lab/nccl-1: {STORE}")]),
    ("the lines of both are", ranks(STORE, f"\n{STORE}\nlast"), [(*JOB, f"lab/nccl-0: {STORE}",
     f"lab/nccl-1: {STORE}")]),
    ("not where NCCL spoke before", ranks(f"NCCL INFO x\n{STORE}", ""), []),
    ("but its own warning is", ranks("NCCL INFO x\nNCCL WARN Connection timed out", ""),
     [(*JOB, "lab/nccl-0: NCCL WARN Connection timed out")]),
    ("not where the other printed a result", ranks(STORE, RESULT), []),
    ("nor where it printed a bandwidth", ranks(STORE, "# Avg bus bandwidth : 1"), []),
    ("a long line is cut after 400 letters", ranks(STORE + "x" * 500, "", closed=True),
     [(*JOB, f"lab/nccl-0: {STORE}" + "x" * (400 - len(STORE)), CLOSED)]),
    ("what one printed before it was restarted counts",
     ranks("", "", with_={"logs_previous": {"lab/nccl-0": STORE}}), [BLOCKED]),
    ("unless it printed something since",
     ranks("starts again", "", with_={"logs_previous": {"lab/nccl-0": STORE}}), []),
)  # fmt: skip


def together() -> Document:
    document = ranks("", "", closed=True)
    document["kubernetes"]["pods"][-1]["spec"]["nodeName"] = NODES[0]
    return document


def unmade() -> Document:
    document = both(STORE)
    for each in document["kubernetes"]["pods"]:
        del each["metadata"]["creationTimestamp"]
    return document


def by_nvidia() -> Document:
    document = healthy()
    for number in range(2):
        name = f"nvidia-cuda-validator-{number}"
        document["kubernetes"]["pods"].append(pod(name, number=number, gpus=1))
        document["logs"][f"gpu-operator/{name}"] = STORE
    return document


def unplaced(name: str) -> Document:
    return pod(name, "lab", None, gpus=1, owner="Job/nccl", phase="Pending", minute=10)


DONE = {
    "metadata": {"name": "nccl", "namespace": "lab"},
    "spec": {"completions": 2},
    "status": {"succeeded": 2},
}


test_ranks_are_judged = table(
    ("not one that is alone", ranks("", closed=True), []),
    ("not two on one node", together(), []),
    ("not those that succeeded in the end", ranks(STORE, STORE, phase="Succeeded"), []),
    ("those that failed", ranks(STORE, STORE, phase="Failed"), [BLOCKED]),
    ("not those that failed long ago", ranks(STORE, STORE, phase="Failed", minute=-10), []),
    ("not those whose job succeeded in the end", ranks(STORE, STORE, phase="Failed", with_={"jobs": [DONE]}), []),
    ("those of which nobody says when they were made", unmade(), [BLOCKED]),
    ("not NVIDIA's own pods with a GPU", by_nvidia(), []),
    ("not while one waits for a node", given(ranks(STORE, ""), unplaced("nccl-2")), []),
)  # fmt: skip


def beside(number: int, said: str, log: str = STORE, *, owner: str = "Job/nccl", closed: bool = False,
           phase: str = "", reason: str = "ErrImagePull") -> Document:  # fmt: skip
    """The first rank prints this log; the other one waits, and prints nothing."""
    document = ranks(log, "", owner=owner, closed=closed)
    waits = waiting(rank(1, owner=owner), reason, said, restarts=number)
    waits["status"] |= {"phase": phase} if phase else {}
    document["logs"].pop("lab/nccl-1")
    return given(document, waits)


def failed(log: str = STORE, phase: str = "Failed") -> Document:
    """A job of two ranks, in which the first timed out waiting for the second, of which nothing is known."""
    document = ranks(log, "", phase=phase)
    del document["logs"]["lab/nccl-1"]
    return document


def never_pulled(phase: str, *, ended: bool = False) -> Document:
    """`ended`: the job's deadline ended the rank that never started."""
    document = given(failed(phase=phase), waiting(rank(1), "ErrImagePull", "not found"))
    if ended:
        document["kubernetes"]["pods"][-1]["status"]["phase"] = "Failed"
        document["aws"]["security_groups"][0]["IpPermissions"] = []
    return document


def on_a_broken_node(log: str, *, closed: bool) -> Document:
    document = ranks(log, "", closed=closed)
    document["kubernetes"]["nodes"][1] = node(0, 1, ready=False)
    return document


def of_a_jobset(*pods: Document) -> Document:
    document = given(failed(), *pods, gone="nccl-1")
    return labelled(document, "nccl", "workers", **{"jobset.sigs.k8s.io/jobset-name": "nccl"})


def without_pods() -> Document:
    failing = event(
        "Pod", "nccl-1", "Failed", 'Failed to pull image "lab/nccl:1": not found', namespace="lab"
    )
    return given(failed(), pods=UNREAD, events=[failing])


def of_the_other(log: str, *, dead: bool = False) -> Document:
    """Both failed, the first because the second is gone."""
    document = given(failed(log), rank(1, phase="Failed"))
    if dead:
        conditions(document, 1).append(DEAD)
    return document


TOO_OLD = "unsatisfied condition: cuda>=13"
OF_WORKERS = pod("workers-0", "lab", 1, gpus=1, owner="Job/workers", phase="Failed", minute=10)
WORKERS_WAIT = waiting(
    pod("workers-0", "lab", 1, gpus=1, owner="Job/workers", minute=10), "ErrImagePull", "not found"
)
NEVER_PULLED = ["image-pull-failed"]
HOLDERS = (pod("holds", "lab", 0, gpus=1), pod("holds-too", "lab", 1, gpus=1))


test_what_broke_the_other_rank = table(
    *((f"an image that was never pulled, {sentence}", document, NEVER_PULLED) for sentence, document in (
        *((f"of {owner or 'pods of their own'}, closed: {closed}",
           beside(0, "not found: manifest unknown", owner=owner, closed=closed))
          for owner in ("Job/nccl", "") for closed in (False, True)),
        *((f"{phase}, ended: {ended}", never_pulled(phase, ended=ended))
          for phase in ("Running", "Failed") for ended in (False, True)),
        ("of another Job of the JobSet", of_a_jobset(pod("nccl-2", "lab", 1, gpus=1, owner="Job/nccl",
         phase="Failed", minute=10), WORKERS_WAIT)),
        ("of which only events are known", without_pods()),
    )),
    ("a trouble of its own", beside(3, TOO_OLD, reason="CrashLoopBackOff"), ["driver-too-old"]),
    ("with a closed path both are said", beside(3, TOO_OLD, reason="CrashLoopBackOff", closed=True),
     [BLOCKED, "driver-too-old"]),
    ("not a crash by itself", beside(3, "back-off", reason="CrashLoopBackOff"), [BLOCKED]),
    ("a node that is not Ready", on_a_broken_node(STORE, closed=False), ["node-not-ready"]),
    ("also where they say nothing behind a closed path", on_a_broken_node("", closed=True), ["node-not-ready"]),
    ("with a closed path and their word both are said", on_a_broken_node(STORE, closed=True), [BLOCKED,
     "node-not-ready"]),
    ("a missing node: it is no finding of its own", given(failed(), unplaced("nccl-1"), *HOLDERS, gone="nccl-1"), []),
    ("nothing of a JobSet whose ranks were kept apart: that is one finding", of_a_jobset(OF_WORKERS),
     [(BLOCKED, "lab/jobset/nccl")]),
    ("nothing that it says", of_the_other("RuntimeError: the other rank is gone"), ["unknown"]),
    ("its dead GPU", of_the_other("RuntimeError: the other rank is gone", dead=True), [("xid", NODES[1])]),
)  # fmt: skip


def later(minute: float, phase: str, log: str, *, apart: bool = True) -> Document:
    document = ranks(STORE, "")
    for number in range(2):
        again = pod(
            f"next-{number}", "lab", number * apart, gpus=1, owner="Job/next", phase=phase, minute=minute
        )
        document["kubernetes"]["pods"].append(again)
    document["logs"]["lab/next-0"] = log
    return document


def two_jobs() -> Document:
    document = healthy()
    aws.ranks(document, aws.STORE, called="first", phase="Failed", minute=5)
    aws.ranks(document, aws.RESULT, called="second", phase="Succeeded", minute=12)
    return document


ECC = "CUDA error: uncorrectable ECC error encountered"


def once_more(index: str = "") -> Document:
    """The second rank failed while the first runs on; a new pod of an indexed job may have taken its place."""
    document = given(ranks("", ""), rank(1, phase="Failed"), logs={"lab/nccl-1": ECC})
    if index:
        again = pod("nccl-1-again", "lab", 1, gpus=1, owner="Job/nccl", minute=12)
        again["metadata"]["labels"] = {"batch.kubernetes.io/job-completion-index": index}
        replace(document, again)
        for each in document["kubernetes"]["pods"]:
            if each["metadata"]["name"] == "nccl-1":
                each["metadata"]["labels"] = {"batch.kubernetes.io/job-completion-index": "1"}
    return document


test_later_ranks_make_a_failure_history = table(
    ("ranks that succeeded on two nodes", later(11, "Succeeded", ""), []),
    ("not those of the same minute", later(10, "Succeeded", ""), [BLOCKED]),
    ("not those that run", later(11, "Running", ""), [BLOCKED]),
    ("not those on one node", later(11, "Succeeded", "", apart=False), [BLOCKED]),
    ("those that printed a result", later(11, "Running", RESULT, apart=False), []),
    ("not in the same minute", later(10, "Running", RESULT, apart=False), [BLOCKED]),
    ("those of a job that succeeded after one that failed", two_jobs(), []),
    ("not a rank that runs beside one that failed", once_more(), ["xid"]),
    ("a new pod of the same rank", once_more("1"), []),
    ("not one of another rank", once_more("0"), ["xid"]),
)  # fmt: skip


def pulls(namespace: str = "lab", number: int = 1, owner: str = "") -> Document:
    return waiting(pod("rank-1", namespace, number, gpus=1, minute=10, owner=owner), "ErrImagePull", "gone")


COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}
JOB_DONE = {"metadata": {"name": "rank", "namespace": "lab"}, "status": COMPLETE}
OF_JOB = "Job/rank"


test_a_rank_that_is_a_pod_of_its_own = table(
    ("alone it was kept apart", alone(), [(BLOCKED, "lab/rank-0", f"lab/rank-0: {STORE}")]),
    ("it waits for one beside it", alone(pulls()), NEVER_PULLED),
    ("not for one of another namespace", alone(pulls("other")), [BLOCKED, "image-pull-failed"]),
    ("for one on its own node", alone(pulls(number=0)), NEVER_PULLED),
    ("not for one that runs", alone(pod("rank-1", "lab", 1, gpus=1, minute=10, owner=OF_JOB)), [BLOCKED]),
    ("for one of a job", alone(pulls(owner=OF_JOB)), NEVER_PULLED),
    ("not for one whose job is done", alone(pulls(owner=OF_JOB), jobs=[JOB_DONE]), [BLOCKED]),
)  # fmt: skip
