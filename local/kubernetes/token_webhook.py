"""What EKS does with a bearer token: a presigned STS URL becomes a role, an access entry, a user with groups.

The API server asks here for every token it does not know. Who a URL's signer is, and which entries exist,
is the embedded AWS's knowledge; it is asked through `Identities`.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from local.kubernetes.api import KubernetesApi

#: EKS authorises access policies beside RBAC. Here each is a group bound to the role that comes closest.
_POLICY_ROLES = {
    "AmazonEKSAdminPolicy": "admin",
    "AmazonEKSEditPolicy": "edit",
    "AmazonEKSViewPolicy": "view",
    "AmazonEKSAdminViewPolicy": "view",
}
CLUSTER_ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"


@dataclass(frozen=True)
class User:
    """Whom Kubernetes sees behind a token."""

    name: str
    groups: tuple[str, ...]


class Identities(Protocol):
    """Knows whom a token stands for."""

    def user(self, token: str) -> User | None:
        """The user, or None for a token that EKS would not accept."""


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
                """The API server logs refusals itself."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="token-webhook", daemon=True
        ).start()

    def stop(self) -> None:
        # Whoever starts the control plane and whoever takes it down may both be at it.
        server, self._server = self._server, None
        if server:
            server.shutdown()
            server.server_close()

    def kubeconfig(self) -> dict[str, object]:
        """What the API server reads to find this endpoint."""
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
        """A TokenReview with its status; an identity that cannot be looked up is an unauthenticated one."""
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


def policy_group(policy: str) -> str:
    """The Kubernetes group that stands for an access policy associated with the whole cluster."""
    return "system:masters" if policy == CLUSTER_ADMIN_POLICY else f"eks:{policy}"


def bind_access_policies(api: KubernetesApi) -> None:
    """Let the groups of the access policies do what those policies allow."""
    for policy, role in _POLICY_ROLES.items():
        binding = {
            "metadata": {"name": f"eks:{policy}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": policy_group(policy)}
            ],
        }
        api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
