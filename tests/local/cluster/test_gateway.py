"""Through the gateway the same cluster is reached, its writes are noted, and it lives in the lab's time."""

import json
import socket
import ssl
import subprocess
import threading
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
import urllib3
import yaml

from local.kubernetes.api import ApiError, KubernetesApi
from local.kubernetes.gateway import Gateway
from tests.steady.hang import HANG_SECONDS

MAPS = "/api/v1/namespaces/default/configmaps"


class Noted:
    """What the gateway says of writes and reads."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str]] = []
        self.settled = 0

    def note(self, path: str, answer: dict[str, Any]) -> None:
        self.written.append((path, str(answer["metadata"].get("name"))))

    def settle(self) -> None:
        self.settled += 1


@pytest.fixture(scope="module")
def noted():
    return Noted()


@pytest.fixture(scope="module")
def proxy(control_plane, noted):
    pair = control_plane.server_certificate("gateway-test")
    gateway = Gateway(
        control_plane.endpoint,
        control_plane.ca_file,
        *pair,
        written=noted.note,
        settle=noted.settle,
    )
    gateway.start()
    yield gateway
    gateway.stop()


@pytest.fixture
def lab_clock(clock):
    return clock


@pytest.fixture(scope="module")
def outside(control_plane, proxy, tmp_path_factory):
    """A client that has nothing but the kubeconfig."""
    path = control_plane.admin_kubeconfig(tmp_path_factory.mktemp("outside") / "kubeconfig", proxy.endpoint)
    config = yaml.safe_load(path.read_text())
    token = config["users"][0]["user"]["token"]
    return KubernetesApi(config["clusters"][0]["cluster"]["server"], control_plane.ca_file, token=token)


@pytest.fixture
def began(lab_clock):
    """When a test began, before there was anything of it."""
    return lab_clock.now()


@pytest.fixture
def a_map(outside, began):
    outside.create(MAPS, {"metadata": {"name": "a"}, "data": {"note": "2020-01-01T00:00:00Z"}})
    yield f"{MAPS}/a"
    outside.delete(f"{MAPS}/a")


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def between(began: datetime, said: str, ended: datetime) -> bool:
    """Whether what happened after one instant and before another is told so, as whole seconds allow."""
    return began - timedelta(seconds=1) <= instant(said) <= ended


def head(connection: ssl.SSLSocket) -> bytes:
    """The head of a request or an answer, in however many pieces it comes, and nothing beyond it."""
    said = b""
    while not said.endswith(b"\r\n\r\n") and (piece := connection.recv(1)):
        said += piece
    return said


def test_an_object_is_as_old_as_it_is_in_the_lab(outside, began, a_map, lab_clock):
    found = outside.get(a_map)
    assert between(began, found["metadata"]["creationTimestamp"], lab_clock.now())
    assert between(began, found["metadata"]["managedFields"][0]["time"], lab_clock.now())
    assert found["data"]["note"] == "2020-01-01T00:00:00Z"


def test_a_list_of_many_pages_says_the_same(outside, began, a_map, lab_clock):
    listed = outside.get(f"{MAPS}?limit=1")
    assert [each["metadata"]["name"] for each in listed["items"]] == ["a"]
    assert between(began, listed["items"][0]["metadata"]["creationTimestamp"], lab_clock.now())


def test_writes_are_noted_and_reads_wait_for_what_they_bring_about(outside, noted, a_map):
    noted.written.clear()
    before = noted.settled
    outside.get(a_map)
    assert (noted.written, noted.settled) == ([], before + 1)
    outside.merge(a_map, {"data": {"note": "new"}})
    assert (noted.written, noted.settled) == ([(a_map, "a")], before + 1)
    with pytest.raises(ApiError):
        outside.request("PATCH", a_map, {"data": 1}, "application/merge-patch+json")
    assert noted.written == [(a_map, "a")]


def test_a_watch_tells_each_change_at_once_and_in_virtual_time(outside, began, a_map, lab_clock):
    seen: list[tuple[str, dict[str, Any]]] = []
    changed, stop = threading.Condition(), threading.Event()

    def note(change: str, item: dict[str, Any]) -> None:
        with changed:
            if item["metadata"]["name"] != "a":
                return
            seen.append((change, item))
            changed.notify_all()

    watcher = threading.Thread(target=outside.follow, args=(MAPS, note, stop), daemon=True)
    watcher.start()
    with changed:
        assert changed.wait_for(lambda: bool(seen), HANG_SECONDS)
    outside.merge(a_map, {"data": {"note": "x" * 200_000}})
    with changed:
        assert changed.wait_for(lambda: any(change == "MODIFIED" for change, _ in seen), HANG_SECONDS)
    (modified,) = [item for change, item in seen if change == "MODIFIED"]
    assert between(began, modified["metadata"]["creationTimestamp"], lab_clock.now())
    stop.set()
    outside.hang_up()
    watcher.join(HANG_SECONDS)
    assert not watcher.is_alive()


def test_the_date_is_the_labs(proxy, control_plane, lab_clock):
    http = urllib3.PoolManager(ca_certs=str(control_plane.ca_file))
    began = lab_clock.now()
    answer = http.request("GET", f"{proxy.endpoint}/version")
    assert between(began, parsedate_to_datetime(answer.headers["Date"]).isoformat(), lab_clock.now())
    assert answer.headers["Content-Type"] == "application/json"


def test_no_answer_is_kept_for_fresh_by_a_client_whose_day_is_another(proxy, control_plane, outside):
    http = urllib3.PoolManager(ca_certs=str(control_plane.ca_file))
    accept = {
        **outside._headers,
        "Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    }
    answer = http.request("GET", f"{proxy.endpoint}/apis", headers=accept)
    assert answer.headers["Cache-Control"] == "no-cache, private"
    same = http.request(
        "GET", f"{proxy.endpoint}/apis", headers={**accept, "If-None-Match": answer.headers["ETag"]}
    )
    assert same.status == 304


def test_nobody_enters_without_a_known_identity(proxy, control_plane):
    http = urllib3.PoolManager(ca_certs=str(control_plane.ca_file))
    assert http.request("GET", f"{proxy.endpoint}/api/v1/nodes").status == 403
    junk = {"Authorization": "Bearer junk"}
    assert http.request("GET", f"{proxy.endpoint}/api/v1/nodes", headers=junk).status == 401


def test_bodies_in_chunks_and_heads_without_a_body_pass(proxy, outside, control_plane):
    http = urllib3.PoolManager(ca_certs=str(control_plane.ca_file))
    parts = [
        json.dumps({"metadata": {"name": "chunked"}})[:10],
        json.dumps({"metadata": {"name": "chunked"}})[10:],
    ]
    headers = {**outside._headers, "Content-Type": "application/json"}
    made = http.request("POST", proxy.endpoint + MAPS, body=iter(parts), headers=headers, chunked=True)
    assert made.status == 201
    head = http.request("HEAD", f"{proxy.endpoint}{MAPS}/chunked", headers=headers)
    assert head.data == b""
    outside.delete(f"{MAPS}/chunked")
    assert outside.find(f"{MAPS}/chunked") is None


def test_kubectl_writes_back_what_it_read(tools, control_plane, proxy, a_map, tmp_path):
    config = control_plane.admin_kubeconfig(tmp_path / "kubeconfig", proxy.endpoint)
    kubectl = [str(tools / "kubectl" / "kubectl"), "--kubeconfig", str(config), "--cache-dir", str(tmp_path)]

    def run(*arguments: str, given: str | None = None) -> str:
        done = subprocess.run(
            [*kubectl, *arguments], input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = run("get", "configmap", a_map.rsplit("/", 1)[-1], "-o", "json")
    assert json.loads(found)["metadata"]["creationTimestamp"].startswith("2031-05-06T")
    assert "replaced" in run("replace", "-f", "-", given=found)


def test_an_upgrade_is_answered_by_the_api_server_itself(proxy, control_plane, outside):
    context = ssl.create_default_context(cafile=str(control_plane.ca_file))
    host, port = proxy.endpoint.removeprefix("https://").split(":")
    with context.wrap_socket(socket.create_connection((host, int(port))), server_hostname=host) as client:
        token = outside._headers["Authorization"]
        client.sendall(
            f"GET /api/v1/namespaces/default/pods/none/exec?command=ls HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n".encode()
        )
        assert head(client).startswith(b"HTTP/1.1 404")


def test_after_an_upgrade_bytes_pass_both_ways_untouched(control_plane):
    """The simulated kubelets know no exec; a server that echoes stands in for the API server."""
    pair = control_plane.server_certificate("echo")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(*pair)
    listener = socket.create_server(("127.0.0.1", 0))

    def echo() -> None:
        with serving.wrap_socket(listener.accept()[0], server_side=True) as peer:
            head(peer)
            peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            while piece := peer.recv(65536):
                peer.sendall(piece)

    threading.Thread(target=echo, daemon=True).start()
    address = f"https://127.0.0.1:{listener.getsockname()[1]}"
    proxy = Gateway(address, control_plane.ca_file, *pair)
    proxy.start()
    context = ssl.create_default_context(cafile=str(control_plane.ca_file))
    port = int(proxy.endpoint.rsplit(":", 1)[1])
    sent = b'{"creationTimestamp":"2026-11-20T18:00:00Z"}' * 10_000
    with (
        socket.create_connection(("127.0.0.1", port), timeout=HANG_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as client,
    ):
        client.sendall(b"GET /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
        assert head(client).startswith(b"HTTP/1.1 101")
        back = b""
        for start in range(0, len(sent), 100_000):
            piece = sent[start : start + 100_000]
            client.sendall(piece)
            while len(back) < start + len(piece):
                back += client.recv(65536)
        assert back == sent
    proxy.stop()
    listener.close()


def test_stopping_ends_a_watch(control_plane, outside):
    second = Gateway(
        control_plane.endpoint, control_plane.ca_file, *control_plane.server_certificate("second")
    )
    second.start()
    http = urllib3.PoolManager(ca_certs=str(control_plane.ca_file))
    watch = http.request(
        "GET", f"{second.endpoint}{MAPS}?watch=true", headers=outside._headers, preload_content=False
    )
    second.stop()
    with pytest.raises(urllib3.exceptions.HTTPError):
        list(watch.stream())


def test_a_log_tells_when_each_line_was_written_in_the_lab(outside, lab, began, lab_clock):
    pod = lab.run("says", "sh", "-c", "echo once")
    lab.await_phase(pod, "Succeeded")
    for how in ("timestamps=true", "timestamps=true&follow=true"):
        said, _, text = outside.text(f"{pod}/log?{how}").partition(" ")
        assert text == "once\n"
        assert between(began, said, lab_clock.now())
    since = lab_clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert outside.text(f"{pod}/log?sinceTime={since}") == "once\n"
