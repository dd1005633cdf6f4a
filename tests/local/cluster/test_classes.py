"""The step of classes against a real API server, with the rights and the policy of its function and nothing more."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from lamplighter import clock as lab_clock
from lamplighter.adapters.kubernetes import class_namespaces
from lamplighter.adapters.kubernetes.connection import Connection, Forbidden
from lamplighter.application.classes.keep import keep_classes
from lamplighter.domain.classes import access
from lamplighter.domain.classes.objects import CRITICAL, LAB_LABEL, NAME
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from local.kubernetes.api import ApiError, KubernetesApi, Object
from local.kubernetes.token_webhook import User
from tests.builders.leases import HOUR, MINUTE, lease
from tests.local.cluster.functions import Token
from tests.local.cluster.lab import await_true

SPACE, STUDENTS = "gpu-101", "gpu-101-students"
CLASS = {
    "namespace": SPACE,
    "people": [{"group": STUDENTS}, {"user": "teacher@example.com"}],
    "quota_per_seat": {"cpu": "2", "memory": "4Gi", "services.loadbalancers": "0"},
}
PRIVILEGED = {LAB_LABEL: "lab", "pod-security.kubernetes.io/enforce": "privileged"}
WINDOW = {"days": ["daily"], "start": "20:00", "end": "23:00", "seats": 2, "class": CLASS}
LAB = Lab.model_validate(
    {
        "name": "lab",
        "gpu": {"sharing": {"replicas": 2, "rename": True}},
        "windows": [{"name": name, **WINDOW} for name in ("evening", "night")],
    }
)
SHARED = "requests.nvidia.com/gpu.shared"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PATHS = {
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
}


class People:
    """Whom a token stands for: our function, a student, somebody else."""

    def user(self, token: str) -> User | None:
        groups = {"classes": (access.group(LAB),), "student": (STUDENTS,), "stranger": ()}
        return User(token, groups[token]) if token in groups else None


@dataclass
class Leases:
    """A ledger with these leases; `meanwhile` changes them after the first look."""

    running: list[Lease] = field(default_factory=list)
    meanwhile: list[Lease] | None = None

    def leases(self, pool: str) -> list[Lease]:
        now = [each for each in self.running if each.pool == pool]
        if self.meanwhile is not None:
            self.running, self.meanwhile = self.meanwhile, None
        return now


@pytest.fixture(scope="module")
def admin(control_plane) -> KubernetesApi:
    return control_plane.admin()


@pytest.fixture
def connection(control_plane, admin, clock, monkeypatch) -> Iterator[Connection]:
    monkeypatch.setenv("LAMPLIGHTER_INSTANT", str(clock.path))
    control_plane.authenticate_through(People())
    documents: list[Any] = access.documents(LAB)
    for document in documents:
        admin.apply(f"{PATHS[document['kind']]}/{document['metadata']['name']}", document, "cdk")
    found = Connection(control_plane.endpoint, control_plane.ca_pem, Token("classes"))
    await_true(lambda: _narrowed(found), "the policy of classes acts")
    yield found
    for name in (SPACE, "elsewhere"):
        admin.delete(f"/api/v1/namespaces/{name}")
        await_true(lambda: admin.find(f"/api/v1/namespaces/{name}") is None, f"{name} is gone")  # noqa: B023


def _narrowed(connection: Connection) -> bool:
    """RBAC allows this write and the policy refuses it, once both act."""
    try:
        class_namespaces.apply(connection, *_quota("default"))
    except Forbidden as refused:
        return "lamplighter: only the namespaces" in str(refused)
    return False


def _quota(namespace: str, **hard: str) -> tuple[str, Object]:
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {"hard": hard or {"pods": "1"}},
    }
    return f"/api/v1/namespaces/{namespace}/resourcequotas/{NAME}", body


def running(window: str = "evening") -> Lease:
    now = lab_clock.now()
    return replace(lease(f"{window}-1"), opens=now - MINUTE, closes=now + HOUR)


def test_a_class_opens_with_its_seats_and_closes_to_nothing(connection, admin, control_plane) -> None:
    done = keep_classes(LAB, Leases([running()]), connection)
    assert done == {"seats": {SPACE: 2}, "refused": []}
    assert LAB_LABEL in admin.get(f"/api/v1/namespaces/{SPACE}")["metadata"]["labels"]
    quota = f"/api/v1/namespaces/{SPACE}/resourcequotas/{NAME}"
    hard = admin.get(quota)["spec"]["hard"]
    assert {name: amount for name, amount in hard.items() if "nvidia.com" not in name or amount != "0"} == {
        "requests.cpu": "4",
        "limits.cpu": "4",
        "requests.memory": "8Gi",
        "limits.memory": "8Gi",
        "services.loadbalancers": "0",
        "requests.vpc.amazonaws.com/efa": "0",
        SHARED: "2",
    }
    await_true(lambda: admin.get(quota).get("status", {}).get("hard"), "the quota is counted")
    student = KubernetesApi(control_plane.endpoint, control_plane.ca_pem, token="student")
    pods = f"/api/v1/namespaces/{SPACE}/pods"
    account = f"/api/v1/namespaces/{SPACE}/serviceaccounts/default"
    await_true(lambda: admin.find(account), "the namespace has its service account")
    await_true(lambda: student.is_there(pods), "the binding acts")

    # Another lab of the cluster may offer whole GPUs, and pods of the system evict those of others.
    with pytest.raises(ApiError, match=r"exceeded quota: .*nvidia\.com/gpu"):
        student.create(pods, _pod("whole", "nvidia.com/gpu"))
    critical = _pod("critical")
    critical["spec"]["priorityClassName"] = "system-node-critical"
    with pytest.raises(ApiError, match=f"exceeded quota: {CRITICAL}"):
        student.create(pods, critical)

    # A pod that asks for a GPU alone gets one seat's share of the rest.
    seat = student.create(pods, _pod("one"))
    assert seat is not None
    asked = seat["spec"]["containers"][0]["resources"]
    assert (asked["limits"]["cpu"], asked["requests"]["memory"]) == ("2", "4Gi")
    student.create(pods, _pod("two"))
    with pytest.raises(ApiError, match="exceeded quota"):
        student.create(pods, _pod("three"))
    for theirs in (
        f"/api/v1/namespaces/{SPACE}/resourcequotas",
        f"{RBAC}/namespaces/{SPACE}/rolebindings",
    ):
        with pytest.raises(ApiError, match="forbidden"):
            student.request("DELETE", theirs)
    with pytest.raises(ApiError, match="PodSecurity"):
        student.create(pods, _pod("master", privileged=True))
    stranger = KubernetesApi(control_plane.endpoint, control_plane.ca_pem, token="stranger")
    assert not stranger.is_there(pods)
    assert not student.is_there("/api/v1/namespaces/default/pods")

    # The other lease still runs: one close leaves its seats.
    keep_classes(LAB, Leases([running(), running("night")]), connection)
    assert admin.get(quota)["spec"]["hard"][SHARED] == "4"
    keep_classes(LAB, Leases([running("night")]), connection)
    assert admin.get(quota)["spec"]["hard"][SHARED] == "2"

    assert keep_classes(LAB, Leases(), connection)["seats"] == {SPACE: 0}
    assert set(admin.get(quota)["spec"]["hard"].values()) == {"0"}
    await_true(lambda: admin.get(quota)["status"]["hard"].get("pods") == "0", "the quota is counted")
    with pytest.raises(ApiError, match="exceeded quota"):
        student.create(pods, _pod("late"))
    # Nothing of theirs is deleted.
    assert {pod["metadata"]["name"] for pod in student.get(pods)["items"]} == {"one", "two"}


def _pod(name: str, resource: str = "nvidia.com/gpu.shared", *, privileged: bool = False) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "work", "image": "busybox", "resources": {"limits": {resource: "1"}}}
    if privileged:
        container["securityContext"] = {"privileged": True}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def test_leases_that_change_while_it_writes_make_it_write_again(connection, admin) -> None:
    with pytest.raises(TryLater):
        keep_classes(LAB, Leases([running(), running("night")], meanwhile=[running("night")]), connection)
    assert keep_classes(LAB, Leases([running("night")]), connection)["seats"] == {SPACE: 2}


def test_no_namespace_is_made_before_its_class_opens(connection, admin) -> None:
    assert keep_classes(LAB, Leases(), connection) == {"seats": {SPACE: 0}, "refused": []}
    assert admin.find(f"/api/v1/namespaces/{SPACE}") is None


@pytest.mark.parametrize("labels", [{}, {LAB_LABEL: "other"}])
def test_a_namespace_of_others_is_left_alone_until_it_is_handed_over(connection, admin, labels) -> None:
    path = f"/api/v1/namespaces/{SPACE}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE, "labels": labels}}
    before = admin.create("/api/v1/namespaces", body)
    assert before is not None
    done: Any = keep_classes(LAB, Leases([running()]), connection)
    (row,) = done["refused"]
    assert f"{LAB_LABEL}=lab" in str(row)
    assert admin.get(path)["metadata"].get("labels") == before["metadata"].get("labels")
    assert admin.get(f"{path}/resourcequotas")["items"] == []
    # Nor could the function, whatever its code did.
    with pytest.raises(Forbidden, match="only the namespaces"):
        class_namespaces.apply(
            connection, path, {**body, "metadata": {"name": SPACE, "labels": {LAB_LABEL: "lab"}}}
        )
    with pytest.raises(Forbidden, match="only the namespaces"):
        class_namespaces.apply(connection, *_quota(SPACE))

    admin.merge(path, {"metadata": {"labels": {LAB_LABEL: "lab"}}})
    assert keep_classes(LAB, Leases([running()]), connection)["refused"] == []
    assert admin.get(f"{path}/resourcequotas/{NAME}")


def test_the_rights_end_at_the_labs_namespaces_and_its_objects(connection, admin) -> None:
    keep_classes(LAB, Leases([running()]), connection)
    elsewhere = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}
    # Even with the label: only the names of the lab's classes.
    admin.create(
        "/api/v1/namespaces", {**elsewhere, "metadata": {"name": "elsewhere", "labels": {LAB_LABEL: "lab"}}}
    )
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "classes"}],
    }
    refused: list[tuple[str, Object]] = [
        ("/api/v1/namespaces/elsewhere", elsewhere),
        ("/api/v1/namespaces/another", {**elsewhere, "metadata": {"name": "another"}}),
        _quota("elsewhere"),
        (f"{RBAC}/namespaces/elsewhere/rolebindings/{NAME}", binding),
        (f"{RBAC}/namespaces/kube-system/rolebindings/{NAME}", binding),
        (
            f"{RBAC}/namespaces/{SPACE}/rolebindings/other",
            {**binding, "metadata": {"name": "other"}},
        ),
        # It would let pods take over their node.
        (f"/api/v1/namespaces/{SPACE}", {**elsewhere, "metadata": {"name": SPACE, "labels": PRIVILEGED}}),
        # The label is the lab's claim, and stays.
        (f"/api/v1/namespaces/{SPACE}", {**elsewhere, "metadata": {"name": SPACE}}),
    ]
    for path, body in refused:
        with pytest.raises(Forbidden):
            class_namespaces.apply(connection, path, body)
    for path in (f"/api/v1/namespaces/{SPACE}", f"/api/v1/namespaces/{SPACE}/pods"):
        with pytest.raises(Forbidden):
            connection.ask("DELETE", path)
    # `bind` is on one role alone.
    admin.delete(f"{RBAC}/namespaces/{SPACE}/rolebindings/{NAME}")
    role = {**binding, "roleRef": {**binding["roleRef"], "name": "admin"}}  # type: ignore[dict-item]
    with pytest.raises(Forbidden):
        class_namespaces.apply(connection, f"{RBAC}/namespaces/{SPACE}/rolebindings/{NAME}", role)
