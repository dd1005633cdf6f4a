"""Who refused a NodeClaim that only asks, by the words of the API server."""

from typing import Any, cast

import pytest

from lamplighter.adapters.capacity.node_pool.claims import Claims
from lamplighter.adapters.kubernetes.connection import Connection, Forbidden, KubernetesResponse
from lamplighter.domain.capacity.node_pool.probe import refusing_policy
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

CLAIM = 'nodeclaims.karpenter.sh "lamplighter-asks-x2b7k" is forbidden'


@pytest.mark.parametrize(
    ("message", "policy"),
    [
        (
            f"{CLAIM}: ValidatingAdmissionPolicy 'lab-launch-bar' with binding 'lab-gpu' denied request: no lease",
            "lab-launch-bar",
        ),
        (f"{CLAIM}: ValidatingAdmissionPolicy 'sizes' denied request: too large", "sizes"),
        ('admission webhook "validate.kyverno.svc-fail" denied the request: no owner', "validate.kyverno.svc-fail"),
        ('admission webhook "quota.example.com" does not support dry run', "quota.example.com"),
        (f'{CLAIM}: User "lamplighter" cannot create resource "nodeclaims" in API group "karpenter.sh"', None),
        ('NodeClaim.karpenter.sh "x" is invalid: spec.requirements: Required value', None),
    ],
    ids=["the bar", "another policy", "a webhook", "no dry run", "RBAC", "the schema"],
)  # fmt: skip
def test_a_refusal_names_its_policy_or_webhook(message: str, policy: str | None) -> None:
    assert refusing_policy(message) == policy


class Server:
    """An API server with one answer to a claim: a refusal with 403, or with another status."""

    def __init__(self, status: int, message: str) -> None:
        self._status, self._message = status, message

    def ask(self, _method: str, _path: str, **_sent: Any) -> KubernetesResponse:
        if self._status == 403:
            raise Forbidden(reason("gpu.kubernetes.forbidden", words=self._message), "POST", "the server")
        return KubernetesResponse(self._status, self._message)

    def expect(self, answer: KubernetesResponse, _method: str, _path: str) -> KubernetesResponse:
        if not answer.ok:
            raise OutsideFailed(answer.message)
        return answer


def admitted(status: int, message: str) -> bool:
    return Claims(cast("Connection", Server(status, message))).admitted({}, "lab-launch-bar")


@pytest.mark.parametrize("status", [403, 422])
def test_a_claim_that_the_bar_refuses_is_not_admitted(status: int) -> None:
    assert not admitted(
        status, f"{CLAIM}: ValidatingAdmissionPolicy 'lab-launch-bar' denied request: no lease"
    )
    assert admitted(201, "")


@pytest.mark.parametrize(
    ("status", "message", "name"),
    [
        (403, f"{CLAIM}: ValidatingAdmissionPolicy 'sizes' denied request: too large", "sizes"),
        (400, 'admission webhook "quota.example.com" does not support dry run', "quota.example.com"),
    ],
)
def test_what_refuses_before_the_bar_is_named(status: int, message: str, name: str) -> None:
    with pytest.raises(OutsideFailed, match=f"^{name} refuses the NodeClaim that tries the launch bar"):
        admitted(status, message)


def test_a_missing_right_is_told_as_one() -> None:
    with pytest.raises(Forbidden, match="adopt --rbac"):
        admitted(403, f'{CLAIM}: User "lamplighter" cannot create resource "nodeclaims"')
