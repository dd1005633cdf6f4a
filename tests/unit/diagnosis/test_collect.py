"""The collector, against an API server that answers over HTTP: pages, refused reads, and logs."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import certifi
import pytest

from lamplighter.adapters.diagnosis.kubernetes import BUDGETS, NODE_CLAIMS, NODE_CLASSES, ClusterReads
from lamplighter.adapters.diagnosis.logs import MOST_LOGS, read_logs
from lamplighter.adapters.diagnosis.reading import Reading
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.reasons.reason import reason
from tests.snapshots import POOL, Document, daemonset, event, node, pod, policy, waiting

POLICY = "/apis/nvidia.com/v1/clusterpolicies"
LISTS = {
    "/api/v1/nodes": [node(0), node(1)],
    "/api/v1/pods": [
        pod("nvidia-device-plugin-daemonset-0"),
        pod("train-0", "lab", 0, gpus=1),
        pod("train-waits", "lab", None, gpus=1, phase="Pending"),
        pod("web", "default", None),
        {**pod("web-2", "default"), "spec": {"nodeName": "elsewhere"}},
    ],
    "/api/v1/events": [
        event("Pod", "train-waits", "FailedScheduling", "0/3 nodes are available", namespace="lab"),
        event("Pod", "web", "Scheduled", "of no concern", namespace="default"),
        event("Node", "elsewhere", "NodeNotReady", "of no concern"),
    ],
    "/apis/apps/v1/daemonsets": [daemonset(), daemonset("kube-proxy")],
    "/apis/apps/v1/deployments": [{"metadata": {"name": "gpu-operator", "namespace": "gpu-operator"}}],
    "/apis/batch/v1/jobs": [],
    BUDGETS: [
        {"metadata": {"name": "keep", "namespace": "lab"}, "spec": {}},
        {"metadata": {"name": "other", "namespace": "kube-system"}, "spec": {}},
    ],
    POLICY: [policy(devicePlugin={"enabled": True, "config": {"name": "lamplighter-gpu-sharing"}})],
    "/apis/node.k8s.io/v1/runtimeclasses": [{"metadata": {"name": "nvidia"}}],
}


class Server:
    """Answers lists with two items a page. It does not serve the paths `refuses` and `silent`."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Document]] = json.loads(json.dumps(LISTS))
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {key: values[0] for key, values in parse_qs(parts.query).items()}
                outer.asked.append(self.path)
                status, said = outer.answer(parts.path, query)
                body = said.encode() if isinstance(said, str) else json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        if path in self.answers:
            return self.answers[path]
        if path.endswith("/log"):
            return 200, f"{path.split('/')[-2]} {query['container']} {query.get('previous', 'now')}"
        if path not in self.lists:
            return 404, {"message": "the server could not find the requested resource"}
        first = int(query.get("continue") or 0)
        items = self.lists[path]
        more = {"continue": str(first + 2)} if first + 2 < len(items) else {}
        return 200, {"kind": "List", "metadata": more, "items": items[first : first + 2]}


class Bearer:
    def value(self) -> str:
        return "token"

    def forget(self) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


def reads(server: Server, reading: Reading) -> ClusterReads:
    connection = Connection(server.endpoint, Path(certifi.where()).read_text("utf-8"), Bearer())
    connection.patience = 0
    return ClusterReads(connection, reading, POOL)


def names(found: list[Document]) -> list[str]:
    return [each["metadata"]["name"] for each in found]


def test_every_page_is_read_and_only_what_concerns_the_pool_is_kept(server: Server) -> None:
    found = reads(server, Reading(30)).read()

    assert names(found["pods"]) == ["nvidia-device-plugin-daemonset-0", "train-0", "train-waits"]
    assert names(found["daemonsets"]) == ["nvidia-device-plugin-daemonset"]
    assert [each["reason"] for each in found["events"]] == ["FailedScheduling"]
    assert found["jobs"] == []
    assert names(found["poddisruptionbudgets"]) == ["keep"]


def test_what_may_not_be_read_is_an_absent_key_and_loses_nothing_else(server: Server) -> None:
    server.answers[POLICY] = (403, {"message": "clusterpolicies is forbidden"})
    reading = Reading(30)
    found = reads(server, reading).read()

    assert "clusterpolicies" not in found
    assert "nodeclaims" not in found
    assert {"nodes", "pods", "events", "daemonsets", "deployments", "runtimeclasses"} <= found.keys()
    assert "forbidden" in str(reading.not_read["kubernetes.clusterpolicies"])
    assert "kubernetes.nodeclaims" not in reading.not_read, (
        "nothing is said of Karpenter where no pool needs it"
    )


def test_of_a_node_pool_a_cluster_without_karpenter_s_kinds_is_said(server: Server) -> None:
    reading = Reading(30)
    reads(server, reading).read_node_pool(NODE_CLASSES["karpenter"], "")

    assert reading.not_read["kubernetes.nodeclaims"] == reason(
        "finding.unread.no-such-kind", path=NODE_CLAIMS
    )


@pytest.mark.parametrize(
    "answer", [(500, "oops"), (200, "{ half a docu"), (200, "[]"), (200, '{"items": null}')]
)
def test_an_answer_that_is_none_loses_only_itself(server: Server, answer: tuple[int, str]) -> None:
    server.answers["/api/v1/pods"] = answer
    found = reads(server, Reading(30)).read()

    assert not found.get("pods")
    assert names(found["nodes"]) == names(LISTS["/api/v1/nodes"])
    # Whose budgets they are is not known without the pods.
    assert ("pods" in found) or names(found["poddisruptionbudgets"]) == ["keep", "other"]


def test_the_sharing_settings_are_read_by_the_name_that_the_policy_gives(server: Server) -> None:
    path = "/api/v1/namespaces/gpu-operator/configmaps/lamplighter-gpu-sharing"
    server.answers[path] = (200, {"metadata": {"name": "lamplighter-gpu-sharing"}, "data": {}})
    assert names(reads(server, Reading(30)).read()["configmaps"]) == ["lamplighter-gpu-sharing"]
    assert not any(each.startswith("/api/v1/configmaps") for each in server.asked)


def test_a_server_that_is_silent_is_not_asked_again_and_again(server: Server) -> None:
    server.http.shutdown()
    server.http.server_close()
    reading = Reading(30)
    found = reads(server, reading).read()

    assert found == {}
    assert len(set(reading.not_read.values())) == 1


def test_reading_ends_when_its_time_is_over(server: Server) -> None:
    reading = Reading(0)
    assert reads(server, reading).read() == {}
    assert reading.not_read["kubernetes.pods"] == reason("finding.unread.time-over", seconds=0)
    assert server.asked == []


def test_logs_are_read_of_what_ran_those_of_pods_that_are_not_well_first(server: Server) -> None:
    crashing = waiting(
        pod("nvidia-operator-validator-0"), "CrashLoopBackOff", restarts=4, init="cuda-validation"
    )
    crashing["status"]["initContainerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 1}}
    pulling = waiting(pod("train-1", "lab", 0, gpus=1), "ContainerCreating")
    many = [pod(f"train-{number}", "lab", 0, gpus=1) for number in range(2, MOST_LOGS + 10)]
    reading = Reading(30)
    found = read_logs(reads(server, reading).ask, reading, [*many, pulling, crashing, pod("web", "lab")])

    assert found["logs_previous"] == {
        "gpu-operator/nvidia-operator-validator-0/cuda-validation": "nvidia-operator-validator-0 cuda-validation true"
    }
    assert next(iter(found["logs"])) == "gpu-operator/nvidia-operator-validator-0/cuda-validation"
    assert not any("train-1/" in key or "web" in key for key in found["logs"])
    assert len(found["logs"]) + len(found["logs_previous"]) == MOST_LOGS
    assert str(reading.not_read["logs (the rest)"]).endswith("logs were left out")


def test_logs_that_may_not_be_read_are_asked_for_once(server: Server) -> None:
    path = "/api/v1/namespaces/lab/pods/train-0/log"
    server.answers[path] = (403, {"message": "pods/log is forbidden"})
    reading = Reading(30)
    found = read_logs(
        reads(server, reading).ask, reading, [pod(f"train-{n}", "lab", 0, gpus=1) for n in range(5)]
    )

    assert found == {"logs": {}, "logs_previous": {}}
    assert "forbidden" in str(reading.not_read["logs"])
    assert len(server.asked) == 1
