"""What EKS does with a bearer token: from a presigned STS URL to a role, an access entry, a user with groups.

The API server asks here for every token that it does not know. The embedded AWS knows the signer of a URL and the
access entries; `Identities` asks it.
"""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from lamplighter.errors import OutsideFailed
from local.hang import HANG_SECONDS
from local.kubernetes.api import ApiError, KubernetesApi

#: EKS authorises access policies beside RBAC. Here each is a group that is bound to the most similar role.
_POLICY_ROLES = {
    "AmazonEKSAdminPolicy": "admin",
    "AmazonEKSEditPolicy": "edit",
    "AmazonEKSViewPolicy": "view",
    "AmazonEKSAdminViewPolicy": "view",
}
CLUSTER_ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_NOT_FOUND = 404


@dataclass(frozen=True)
class User:
    """The Kubernetes user behind a token."""

    name: str
    groups: tuple[str, ...]


class Identities(Protocol):
    """Knows the user behind a token."""

    def user(self, token: str) -> User | None:
        """The user; None for a token that EKS would refuse."""


class TokenWebhook:
    """An HTTP endpoint on loopback that answers TokenReviews."""

    def __init__(self) -> None:
        self.identities: Identities | None = None
        self._server: ThreadingHTTPServer | None = None

    def start(self) -> None:
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = json.dumps(webhook.review(json.loads(body))).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Writes nothing: the API server logs refusals itself."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="token-webhook", daemon=True
        ).start()

    def stop(self) -> None:
        # Two threads may call it at once: the one that starts the control plane, and the one that stops it.
        server, self._server = self._server, None
        if server:
            server.shutdown()
            server.server_close()

    def kubeconfig(self) -> dict[str, object]:
        """The kubeconfig with which the API server finds this endpoint."""
        assert self._server is not None  # noqa: S101  started before the API server
        address = f"http://127.0.0.1:{self._server.server_address[1]}/"
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "webhook", "cluster": {"server": address}}],
            "users": [{"name": "apiserver", "user": {}}],
            "contexts": [{"name": "webhook", "context": {"cluster": "webhook", "user": "apiserver"}}],
            "current-context": "webhook",
        }

    def review(self, review: Mapping[str, object]) -> dict[str, object]:
        """A TokenReview with its status. An identity that cannot be read counts as unauthenticated."""
        spec = review["spec"]
        token = str(spec["token"]) if isinstance(spec, dict) else ""
        status: dict[str, object] = {"authenticated": False}
        try:
            user = self.identities.user(token) if self.identities else None
        except Exception as error:  # noqa: BLE001  whatever it is belongs into the API server's log
            user, status["error"] = None, f"{type(error).__name__}: {error}"
        if user:
            status = {"authenticated": True, "user": {"username": user.name, "groups": list(user.groups)}}
        return {"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}


def policy_group(policy: str, namespace: str = "") -> str:
    """The Kubernetes group of an access policy that is associated with the whole cluster, or with a namespace."""
    if namespace:
        return f"eks:{policy}:{namespace}"
    return "system:masters" if policy == CLUSTER_ADMIN_POLICY else f"eks:{policy}"


def bind_access_policies(api: KubernetesApi) -> None:
    """Gives the groups of the access policies the rights of those policies."""
    for policy, role in _POLICY_ROLES.items():
        api.create(f"{_RBAC}/clusterrolebindings", _binding(policy_group(policy), role))


def bind_access_policy(api: KubernetesApi, policy: str, namespace: str) -> None:
    """Gives the policy's group of a namespace its rights there, and returns when they are in effect.

    A namespace that does not exist has nothing to give rights on.
    """
    group = policy_group(policy, namespace)
    binding = _binding(group, _POLICY_ROLES.get(policy, "cluster-admin"))
    try:
        api.create(f"{_RBAC}/namespaces/{namespace}/rolebindings", binding)
    except ApiError as error:
        if error.status == _NOT_FOUND:
            return
        raise
    asked = {"namespace": namespace, "verb": "get", "resource": "pods"}
    review = {"spec": {"user": group, "groups": [group], "resourceAttributes": asked}}
    hung = time.monotonic() + HANG_SECONDS
    while not api.request("POST", _REVIEWS, review)["status"]["allowed"]:
        if time.monotonic() > hung:
            raise OutsideFailed(f"the API server gives {group} no rights in {namespace}")
        time.sleep(0.01)


def _binding(group: str, role: str) -> dict[str, object]:
    return {
        "metadata": {"name": group},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
    }
