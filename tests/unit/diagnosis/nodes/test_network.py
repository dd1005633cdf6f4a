"""Ranks that do not reach each other: security groups, the finding, and when a failure is history."""

from typing import Any

import pytest

from tests.snapshots import (
    NODES,
    Document,
    at,
    causes,
    event,
    healthy,
    node,
    pod,
    told,
    waiting,
    without,
)

SECOND = 1 / 60
STORE = "torch.distributed.DistNetworkError: The client socket has timed out after 120000ms"
RESULT = "# Out of bounds values : 0 OK"
CLOSED = "no rule of sg-node lets a node reach another on port 29500/tcp"
TO_ITSELF = {"UserIdGroupPairs": [{"GroupId": "sg-node"}]}


def ranks(*logs: str, closed: bool = False, now: float = 20, minute: float = 10, **more: Any) -> Document:
    """A job with one rank on each node, and these logs."""
    document = healthy(now=now)
    without(document, "train")
    for number, log in enumerate(logs):
        rank = pod(f"nccl-{number}", "lab", number, gpus=1, owner="Job/nccl", minute=minute, **more)
        document["kubernetes"]["pods"].append(rank)
        document["logs"][f"lab/nccl-{number}"] = log
    if closed:
        document["aws"]["security_groups"][0]["IpPermissions"] = []
    return document


def tcp(low: int | None, high: int | None, protocol: str = "tcp", **peers: Any) -> Document:
    return {"IpProtocol": protocol, "FromPort": low, "ToPort": high, **(peers or TO_ITSELF)}


@pytest.mark.parametrize(
    ("rule", "lets_in"),
    [
        (tcp(29500, 29500), True),
        (tcp(29500, 29501), True),
        (tcp(29499, 29500), True),
        (tcp(29501, 65535), False),
        (tcp(0, 29499), False),
        (tcp(None, 65535), False),
        (tcp(0, None), False),
        (tcp(0, 65535, "6"), True),
        (tcp(0, 65535, "udp"), False),
        (tcp(None, None, "-1"), True),
        (tcp(0, 65535, UserIdGroupPairs=[{"GroupId": "sg-other"}]), False),
        (tcp(0, 65535, IpRanges=[{"CidrIp": "10.0.0.0/8"}]), True),
        (tcp(0, 65535, PrefixListIds=[{"PrefixListId": "pl-1"}]), True),
        (tcp(0, 65535, UserIdGroupPairs=[]), False),
    ],
)
def test_a_rule_lets_ranks_meet_where_it_covers_their_port_and_their_nodes(
    rule: Document, *, lets_in: bool
) -> None:
    document = ranks("", "")
    document["aws"]["security_groups"][0]["IpPermissions"] = [tcp(22, 22), rule]
    assert causes(document) == ([] if lets_in else ["nccl-path-blocked"])


@pytest.mark.parametrize(
    ("groups", "attached", "names"),
    [
        (["sg-b", "sg-a"], ["sg-b", "sg-a"], "sg-a, sg-b"),
        (["sg-a", "sg-other"], ["sg-a"], "sg-a"),
        (["sg-b", "sg-a"], [], "sg-a, sg-b"),
        (["sg-other"], ["sg-a"], None),
        ([], ["sg-a"], None),
    ],
)
def test_the_groups_of_the_instances_count_and_all_that_were_read_where_those_are_not_named(
    groups: list[str], attached: list[str], names: str | None
) -> None:
    document = ranks("", "")
    document["aws"]["security_groups"] = [{"GroupId": name, "IpPermissions": []} for name in groups]
    for each in document["aws"]["instances"]:
        each["SecurityGroups"] = [{"GroupId": name} for name in attached]
    said = [f"no rule of {names} lets a node reach another on port 29500/tcp"]
    assert told(document) == (
        []
        if names is None
        else [("nccl-path-blocked", "lab/Job/nccl", ["2 pods run and print no result", *said])]
    )


def test_ranks_may_take_three_minutes_to_meet() -> None:
    assert told(ranks("", "", closed=True, now=13)) == []
    assert told(ranks("", "", closed=True, now=13 + SECOND)) == [
        ("nccl-path-blocked", "lab/Job/nccl", ["2 pods run and print no result", CLOSED])
    ]
    # Since the last rank was created, and not before the expectation began.
    late = ranks("", "", closed=True, now=13 + SECOND)
    late["kubernetes"]["pods"][-1]["metadata"]["creationTimestamp"] = at(11)
    assert told(late) == []
    early = ranks("", "", closed=True, now=4, minute=-10)
    for each in early["kubernetes"]["nodes"][1:]:
        each["status"]["conditions"][0]["lastTransitionTime"] = at(0)
    assert causes(early) == ["nccl-path-blocked"]


def test_a_rank_alone_on_its_node_has_nobody_to_reach() -> None:
    assert told(ranks("", closed=True)) == []
    together = ranks("", "", closed=True)
    together["kubernetes"]["pods"][-1]["spec"]["nodeName"] = NODES[0]
    assert "nccl-path-blocked" not in causes(together)


@pytest.mark.parametrize(
    ("logs", "evidence"),
    [
        (("", f"one\n  {STORE}  \nlast"), [f"lab/nccl-1: {STORE}"]),
        ((STORE, STORE), [f"lab/nccl-0: {STORE}", f"lab/nccl-1: {STORE}"]),
        ((f"NCCL INFO x\n{STORE}", ""), None),
        (
            ("NCCL INFO x\nNCCL WARN Connection timed out", ""),
            ["lab/nccl-0: NCCL WARN Connection timed out"],
        ),
        ((STORE, RESULT), None),
        ((STORE, "# Avg bus bandwidth : 1"), None),
    ],
)
def test_the_line_by_which_a_rank_says_so_is_quoted_unless_the_ranks_have_met(
    logs: tuple[str, str], evidence: list[str] | None
) -> None:
    assert told(ranks(*logs)) == ([("nccl-path-blocked", "lab/Job/nccl", evidence)] if evidence else [])


def test_a_long_line_is_cut_after_400_letters() -> None:
    (found,) = told(ranks(STORE + "x" * 500, "", closed=True))
    line = STORE + "x" * (400 - len(STORE))
    assert found[2] == [f"lab/nccl-0: {line}", CLOSED]


def test_what_a_rank_printed_before_it_was_restarted_counts_where_it_printed_nothing_since() -> None:
    document = ranks("", "")
    document["logs_previous"]["lab/nccl-0"] = STORE
    assert causes(document) == ["nccl-path-blocked"]
    document["logs"]["lab/nccl-0"] = "starts again"
    assert causes(document) == []


def test_a_rank_with_a_trouble_of_its_own_explains_those_that_wait_for_it() -> None:
    def broken(said: str, *, closed: bool) -> Document:
        document = ranks(STORE, "", closed=closed)
        rank = document["kubernetes"]["pods"].pop()
        document["kubernetes"]["pods"].append(waiting(rank, "CrashLoopBackOff", said, restarts=3))
        return document

    assert causes(broken("unsatisfied condition: cuda>=13", closed=False)) == ["driver-too-old"]
    assert causes(broken("unsatisfied condition: cuda>=13", closed=True)) == [
        "nccl-path-blocked",
        "driver-too-old",
    ]
    assert causes(broken("back-off", closed=False)) == ["nccl-path-blocked"]


def test_ranks_on_a_node_with_a_trouble_of_its_own_are_not_blamed_on_the_path() -> None:
    def broken(log: str, *, closed: bool) -> Document:
        document = ranks(log, "", closed=closed)
        document["kubernetes"]["nodes"][1] = node(0, 1, ready=False)
        return document

    assert causes(broken(STORE, closed=False)) == ["node-not-ready"]
    assert causes(broken("", closed=True)) == ["node-not-ready"]
    assert causes(broken(STORE, closed=True)) == ["nccl-path-blocked", "node-not-ready"]


def test_ranks_of_which_one_still_waits_for_a_node_are_not_judged_yet() -> None:
    document = ranks(STORE, "")
    waits = pod("nccl-2", "lab", None, gpus=1, owner="Job/nccl", phase="Pending", minute=10)
    document["kubernetes"]["pods"].append(waits)
    assert "nccl-path-blocked" not in causes(document)


@pytest.mark.parametrize(
    ("minute", "phase", "log", "apart", "history"),
    [
        (11, "Succeeded", "", True, True),
        (10, "Succeeded", "", True, False),
        (11, "Running", "", True, False),
        (11, "Succeeded", "", False, False),
        (11, "Running", RESULT, False, True),
        (10, "Running", RESULT, False, False),
    ],
)
def test_a_failure_is_history_once_a_later_job_s_ranks_met(
    minute: float, phase: str, log: str, *, apart: bool, history: bool
) -> None:
    document = ranks(STORE, "")
    for number in range(2):
        later = pod(
            f"next-{number}", "lab", number * apart, gpus=1, owner="Job/next", phase=phase, minute=minute
        )
        document["kubernetes"]["pods"].append(later)
    document["logs"]["lab/next-0"] = log
    assert ("nccl-path-blocked" in causes(document)) is not history


def test_a_rank_that_is_a_pod_of_its_own_waits_for_those_beside_it() -> None:
    document = healthy()
    without(document, "train")
    alone = pod("rank-0", "lab", 0, gpus=1, minute=10)
    document["kubernetes"]["pods"].append(alone)
    document["logs"]["lab/rank-0"] = STORE
    assert told(document) == [("nccl-path-blocked", "lab/rank-0", [f"lab/rank-0: {STORE}"])]

    for namespace, number, blamed in (("lab", 1, False), ("other", 1, True), ("lab", 0, False)):
        beside = waiting(pod("rank-1", namespace, number, gpus=1, minute=10), "ErrImagePull", "gone")
        both = {**document, "kubernetes": {**document["kubernetes"]}}
        both["kubernetes"]["pods"] = [*document["kubernetes"]["pods"], beside]
        assert ("nccl-path-blocked" in causes(both)) is blamed


def test_of_a_node_that_was_held_at_its_baseline_the_last_word_is_said() -> None:
    document = healthy()
    document["kubernetes"]["events"] += [
        event("Node", NODES[0], "BandwidthInExceeded", "first", 5),
        event("Node", NODES[0], "BandwidthOutExceeded", "last", 7),
        event("Node", NODES[0], "Starting", "odd", 9),
    ]
    assert told(document) == [("bandwidth-throttled", NODES[0], [f"{NODES[0]}: BandwidthOutExceeded: last"])]
