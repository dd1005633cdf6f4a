"""Updates that stop because pods stay: where EKS says so, and which pods are to blame."""

from tests.snapshots import NODES, POOL, causes, healthy, judge, pod

MESSAGE = f"Reached max retries while trying to evict pods from nodes in node group {POOL}"


def stopped_health(*nodes: str):
    document = healthy()
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {"code": "PodEvictionFailure", "message": MESSAGE, "resourceIds": list(nodes)}
    ]
    return document


def test_the_health_of_the_group_says_it_as_well() -> None:
    [found] = judge(stopped_health(NODES[1])).findings
    assert (found.cause.name, found.objects) == ("pods-not-evicted", (NODES[1],))
    assert f"PodEvictionFailure: {MESSAGE}" in " ".join(map(str, found.evidence))


def test_a_node_that_nobody_knows_leaves_the_group() -> None:
    [found] = judge(stopped_health("ip-10-0-0-1.ap-northeast-2.compute.internal")).findings
    assert found.objects == (POOL,)


def test_pods_that_come_back_to_any_node_are_named() -> None:
    document = stopped_health(NODES[0])
    for name, owner in (("agent", "ReplicaSet/agent"), ("daemon", "DaemonSet/daemon")):
        returns = pod(name, "lab", 0, owner=owner)
        returns["spec"]["tolerations"] = [{"operator": "Exists"}]
        document["kubernetes"]["pods"].append(returns)
    elsewhere = pod("elsewhere", "lab", 1)
    elsewhere["spec"]["tolerations"] = [{"operator": "Exists"}]
    document["kubernetes"]["pods"].append(elsewhere)

    [found] = judge(document).findings

    assert str(found.evidence[-1]) == "pods that tolerate every taint come back to the node: lab/agent"


def test_an_update_that_stopped_for_another_reason_is_no_matter_of_evictions() -> None:
    document = healthy()
    document["aws"]["updates"] = [
        {
            "type": "VersionUpdate",
            "status": "Failed",
            "createdAt": "2026-11-20T11:03:00Z",
            "errors": [{"errorCode": "NodeCreationFailure", "errorMessage": "new nodes are not joining"}],
        }
    ]
    assert causes(document) == []


def test_an_update_that_succeeded_long_before_hides_nothing() -> None:
    document = stopped_health(NODES[1])
    document["aws"]["updates"] = [
        {"type": "VersionUpdate", "status": "Successful", "createdAt": "2026-06-01T00:00:00Z"},
        # It began before these nodes were expected; the health of the group says that it is still so.
        {"type": "VersionUpdate", "status": "Failed", "createdAt": "2026-11-20T10:00:00Z", "errors": []},
    ]
    assert causes(document) == ["pods-not-evicted"]

    document["aws"]["updates"].append(
        {"type": "VersionUpdate", "status": "Successful", "createdAt": "2026-11-20T10:30:00Z"}
    )
    assert causes(document) == []


def test_an_update_is_read_as_the_cli_prints_it() -> None:
    document = healthy()
    error = {"errorCode": "PodEvictionFailure", "errorMessage": MESSAGE, "resourceIds": [NODES[0]]}
    update = {
        "type": "VersionUpdate",
        "status": "Failed",
        "createdAt": "2026-11-20T11:03:00Z",
        "errors": [error],
    }
    for printed in ([update], [{"update": update}], {"update": update}):
        document["aws"]["updates"] = printed
        assert causes(document) == ["pods-not-evicted"]
