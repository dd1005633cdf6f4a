"""NodeClaims through the API server: reads those of a NodePool, ends chosen ones, and tries one as a dry run."""

from collections.abc import Iterable
from datetime import datetime

from lamplighter.adapters.kubernetes.connection import (
    MERGE_PATCH,
    NOT_FOUND,
    Connection,
    Forbidden,
    Object,
)
from lamplighter.adapters.kubernetes.nodes import instant
from lamplighter.domain.capacity.evidence import Claim, HealthIssue
from lamplighter.domain.capacity.node_pool.kind import LABEL
from lamplighter.values.instant import written

PATH = "/apis/karpenter.sh/v1/nodeclaims"
ENDS_AT = "karpenter.sh/nodeclaim-termination-timestamp"
"""Karpenter sets it from the claim's grace, only where it is absent: given before, it is the grace."""
ZONE = "topology.kubernetes.io/zone"
NOT_TRIED = "AwaitingReconciliation"
REFUSED = 422


class Claims:
    """The NodeClaims of one cluster."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of(self, node_pool: str) -> tuple[Claim, ...]:
        """Every claim of a NodePool, the oldest first."""
        found = self._connection.list(PATH, labelSelector=f"{LABEL}={node_pool}")
        return tuple(sorted(map(_claim, found), key=lambda claim: (str(claim.created), claim.name)))

    def every(self) -> tuple[Claim, ...]:
        """Every claim of the cluster."""
        return tuple(map(_claim, self._connection.list(PATH)))

    def delete(self, claim: str) -> None:
        """Delete a claim: its controller drains the node and ends the instance. A deleted one is fine."""
        self._gone_is_fine("DELETE", f"{PATH}/{claim}")

    def end_by(self, claim: str, at: datetime) -> None:
        """Limit a claim's end, also one that is under way: from then on its controller waits for no pod."""
        body = {"metadata": {"annotations": {ENDS_AT: written(at.replace(microsecond=0))}}}
        self._gone_is_fine("PATCH", f"{PATH}/{claim}", body)

    def admitted(self, claim: Object, policy: str) -> bool:
        """Whether the API server would take the claim now, or the policy refuses it. Nothing is kept."""
        try:
            answer = self._connection.ask("POST", PATH, body=claim, query={"dryRun": "All"})
        except Forbidden as forbidden:
            if _by(policy, str(forbidden)):
                return False
            raise
        if answer.status == REFUSED and _by(policy, answer.message):
            return False
        self._connection.expect(answer, "POST", PATH)
        return True

    def _gone_is_fine(self, method: str, path: str, body: Object | None = None) -> None:
        content_type = MERGE_PATCH if body else None
        answer = self._connection.ask(method, path, body=body, content_type=content_type)
        if answer.status != NOT_FOUND:
            self._connection.expect(answer, method, path)


def _by(policy: str, message: str) -> bool:
    return f"ValidatingAdmissionPolicy '{policy}'" in message


def _claim(found: Object) -> Claim:
    metadata, spec, status = found["metadata"], found["spec"], found.get("status") or {}
    conditions = status.get("conditions") or []
    return Claim(
        name=metadata["name"],
        # aws:///ap-northeast-2a/i-0abc
        instance=str(status.get("providerID") or "").rpartition("/")[2],
        node_pool=str((metadata.get("labels") or {}).get(LABEL, "")),
        created=instant(metadata["creationTimestamp"]),
        zone=str((metadata.get("labels") or {}).get(ZONE, "")),
        leaving="deletionTimestamp" in metadata,
        leaving_since=instant(metadata["deletionTimestamp"]) if "deletionTimestamp" in metadata else None,
        ends_in_time=bool(
            spec.get("terminationGracePeriod") or ENDS_AT in (metadata.get("annotations") or {})
        ),
        stages={
            str(each["type"]): instant(each["lastTransitionTime"])
            for each in conditions
            if each.get("status") == "True" and each.get("lastTransitionTime")
        },
        trouble=_trouble(conditions),
    )


def _trouble(conditions: Iterable[Object]) -> HealthIssue | None:
    for each in conditions:
        if each.get("type") == "Launched" and each.get("status") != "True":
            if each.get("reason") in {None, "", NOT_TRIED}:
                return None
            return HealthIssue(str(each["reason"]), str(each.get("message", "")))
    return None
