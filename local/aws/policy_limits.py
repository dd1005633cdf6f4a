"""How long policies may be, and that a permissions boundary exists: moto takes any length and any name.

IAM counts no white space (IAM user guide, "IAM and AWS STS quotas"; Amazon SQS developer guide, "Quotas related to
policies"; 2026-11). The words about a queue's statements are unpublished; they follow those about a statement's actions
(https://github.com/ministryofjustice/cloud-platform-environments/pull/9082).
"""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from moto.iam.exceptions import LimitExceededException, NotFoundException
from moto.iam.models import IAMBackend
from moto.sqs.exceptions import SQSException
from moto.sqs.models import SQSBackend

INLINE, MANAGED, TRUST = 10_240, 6_144, 2_048
"""Characters of the inline policies of a role together, of a managed policy, and of a trust policy."""
ATTACHED = 10
"""Managed policies of a role. An account may ask for 20."""
QUEUE_BYTES, QUEUE_STATEMENTS = 8_192, 20

Given = Mapping[str, Any]


def characters(document: str) -> int:
    """How IAM counts a policy."""
    return len(re.sub(r"\s", "", document))


def _trust(_: IAMBackend, given: Given) -> None:
    document = given.get("assume_role_policy_document") or given["policy_document"]
    if characters(document) > TRUST:
        raise LimitExceededException(f"Cannot exceed quota for ACLSizePerRole: {TRUST}")


def _bounded(iam: IAMBackend, given: Given) -> None:
    arn = given.get("permissions_boundary")
    if arn and arn not in iam.managed_policies:
        raise NotFoundException(f"Scope ARN: {arn} does not exist or is not attachable.")


def _created(iam: IAMBackend, given: Given) -> None:
    _trust(iam, given)
    _bounded(iam, given)


def _inline(iam: IAMBackend, given: Given) -> None:
    name = given["role_name"]
    policies = {**iam.get_role(name).policies, given["policy_name"]: given["policy_json"]}
    if sum(map(characters, policies.values())) > INLINE:
        raise LimitExceededException(f"Maximum policy size of {INLINE} bytes exceeded for role {name}")


def _managed(_: IAMBackend, given: Given) -> None:
    if characters(given["policy_document"]) > MANAGED:
        raise LimitExceededException(f"Cannot exceed quota for PolicySize: {MANAGED}")


def _attached(iam: IAMBackend, given: Given) -> None:
    if len({*iam.get_role(given["role_name"]).managed_policies, given["policy_arn"]}) > ATTACHED:
        raise LimitExceededException(f"Cannot exceed quota for PoliciesPerRole: {ATTACHED}")


def _queue(_: SQSBackend, given: Given) -> None:
    policy = given.get("attributes", given.get("kwargs", {})).get("Policy")
    if not policy:
        return
    document = json.loads(policy) if isinstance(policy, str) else policy
    # As CloudFormation sends it.
    if len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()) > QUEUE_BYTES:
        raise SQSException("OverLimit", "Submitted policy is over max allowed size.")
    statements = document.get("Statement", [])
    if isinstance(statements, list) and len(statements) > QUEUE_STATEMENTS:
        many = f"{len(statements)} statements were found in the submitted policy"
        raise SQSException("OverLimit", f"{many}, max allowed is {QUEUE_STATEMENTS}")


_JUDGES: tuple[tuple[type, str, Callable[[Any, Given], None]], ...] = (
    (IAMBackend, "create_role", _created),
    (IAMBackend, "put_role_permissions_boundary", _bounded),
    (IAMBackend, "update_assume_role_policy", _trust),
    (IAMBackend, "put_role_policy", _inline),
    (IAMBackend, "create_policy", _managed),
    (IAMBackend, "create_policy_version", _managed),
    (IAMBackend, "attach_role_policy", _attached),
    (SQSBackend, "create_queue", _queue),
    (SQSBackend, "set_queue_attributes", _queue),
)


def install() -> None:
    """Puts the limits into moto. It may be called again."""
    for backend, name, judge in _JUDGES:
        if not hasattr(getattr(backend, name), "__wrapped__"):
            setattr(backend, name, _limited(getattr(backend, name), judge))


def _limited(method: Callable[..., Any], judge: Callable[[Any, Given], None]) -> Callable[..., Any]:
    parameters = inspect.signature(method)

    @wraps(method)
    def judged(backend: Any, *given: Any, **named: Any) -> Any:
        judge(backend, parameters.bind(backend, *given, **named).arguments)
        return method(backend, *given, **named)

    return judged
