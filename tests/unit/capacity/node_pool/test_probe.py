"""Who refused a NodeClaim that only asks, by the words of the API server."""

import pytest

from lamplighter.domain.capacity.node_pool.probe import refusing_policy

CLAIM = 'nodeclaims.karpenter.sh "lamplighter-asks-x2b7k" is forbidden'


@pytest.mark.parametrize(
    ("message", "policy"),
    [
        (
            f"{CLAIM}: ValidatingAdmissionPolicy 'lab-launch-bar' with binding 'lab-gpu' denied request: no lease",
            "lab-launch-bar",
        ),
        (f"{CLAIM}: ValidatingAdmissionPolicy 'sizes' denied request: too large", "sizes"),
        (
            'admission webhook "validate.kyverno.svc-fail" denied the request: no owner',
            "validate.kyverno.svc-fail",
        ),
        ('admission webhook "quota.example.com" does not support dry run', "quota.example.com"),
        (
            f'{CLAIM}: User "lamplighter" cannot create resource "nodeclaims" in API group "karpenter.sh"',
            None,
        ),
        ('NodeClaim.karpenter.sh "x" is invalid: spec.requirements: Required value', None),
    ],
    ids=["the bar", "another policy", "a webhook", "no dry run", "RBAC", "the schema"],
)
def test_a_refusal_names_its_policy_or_webhook(message: str, policy: str | None) -> None:
    assert refusing_policy(message) == policy
