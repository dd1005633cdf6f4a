"""NodeClaims through the API server: reads those of a NodePool, ends chosen ones, and tries one as a dry run."""

import re
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from lamplighter import clock
from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked, instance_id
from lamplighter.adapters.kubernetes.connection import (
    MERGE_PATCH,
    NOT_FOUND,
    Connection,
    Forbidden,
    Object,
)
from lamplighter.adapters.kubernetes.existing_node_pools import duration
from lamplighter.adapters.kubernetes.nodes import instant
from lamplighter.domain.capacity.evidence import Claim, HealthIssue, Instance
from lamplighter.domain.capacity.node_pool.kind import LABEL
from lamplighter.domain.capacity.node_pool.probe import refusing_policy
from lamplighter.domain.capacity.unlisted import unlisted, unsure
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.reason import reason
from lamplighter.values.instant import foreign, written

PATH = "/apis/karpenter.sh/v1/nodeclaims"
ENDS_AT = "karpenter.sh/nodeclaim-termination-timestamp"
"""Karpenter sets it from the claim's grace, only where it is absent: given before, it is the grace."""
LIMITED = "lamplighter/ends-at"
"""The same instant again, where the lab set it: node repair sets ENDS_AT as well."""
ZONE = "topology.kubernetes.io/zone"
EC2 = "aws://"
NOT_TRIED = "AwaitingReconciliation"
_NAME = re.compile("[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


@border
class Claims:
    """The NodeClaims of one cluster."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of(self, node_pool: str, *, served: bool = False) -> tuple[Claim, ...]:
        """Every claim of a NodePool, the oldest first; `served` where the cluster is known to have such kinds."""
        listed = self._connection.list(PATH, served=served, labelSelector=f"{LABEL}={node_pool}")
        found = {claim.name: claim for claim in map(_claim, listed)}.values()
        return tuple(sorted(found, key=lambda claim: (str(claim.created), claim.name)))

    def named(self, name: str) -> Claim | None:
        """One claim; None where EC2 has none of this name, or where no claim can have such a name."""
        found = self._connection.get(f"{PATH}/{name}") if _NAME.fullmatch(name) else {}
        return _claim(found) if found and _of_ec2(found) else None

    def unlisted(
        self, node_pool: str, known: Collection[Claim], instances: Collection[Instance]
    ) -> tuple[tuple[Claim, ...], frozenset[str]]:
        """The claims of a NodePool that its list lacks and that instances name; and the instances of which nothing
        was said.
        """
        listed, now = {each for claim in known for each in (claim.name, claim.instance)}, clock.now()
        alone = [one for one in unlisted(instances, listed, now) if one.controller not in listed]
        claims: list[Claim] = []
        unread: list[Instance] = []
        for name in sorted({str(one.controller) for one in alone}):
            its = [one for one in alone if one.controller == name]
            try:
                claim = self.named(name)
            except (OutsideFailed, TryLater):
                unread += its
                continue
            if claim and claim.node_pool == node_pool and claim.instance in {"", *(one.id for one in its)}:
                claims.append(claim)
        return tuple(claims), unsure(unread, now)

    def every(self) -> tuple[Claim, ...]:
        """Every claim of the cluster. One of another cloud than EC2 hides none of the others."""
        listed = self._connection.list(PATH)
        return tuple(_claim(found) for found in listed if _of_ec2(found))

    def delete(self, claim: str) -> None:
        """Delete a claim: its controller drains the node and ends the instance. A deleted one is fine."""
        self._gone_is_fine("DELETE", f"{PATH}/{claim}")

    def end_by(self, claim: str, at: datetime) -> None:
        """Limit a claim's end, also one that is under way: from then on its controller waits for no pod."""
        limit = written(at.replace(microsecond=0))
        body = {"metadata": {"annotations": {ENDS_AT: limit, LIMITED: limit}}}
        self._gone_is_fine("PATCH", f"{PATH}/{claim}", body)

    def admitted(self, claim: Object, policy: str) -> bool:
        """Whether the API server would take the claim now, or the policy refuses it. Nothing is kept.

        The API server tells only one refusal. OutsideFailed names another policy that was first.
        """
        try:
            answer = self._connection.ask("POST", PATH, body=claim, query={"dryRun": "All"})
        except Forbidden as forbidden:
            if _refused(str(forbidden), policy):
                return False
            raise
        if not answer.ok and _refused(answer.message, policy):
            return False
        self._connection.expect(answer, "POST", PATH)
        return True

    def _gone_is_fine(self, method: str, path: str, body: Object | None = None) -> None:
        content_type = MERGE_PATCH if body else None
        answer = self._connection.ask(method, path, body=body, content_type=content_type)
        if answer.status != NOT_FOUND:
            self._connection.expect(answer, method, path)


def _refused(message: str, policy: str) -> bool:
    """Whether it is the policy that refuses; False for a message of no policy."""
    by = refusing_policy(message)
    if by is not None and by != policy:
        raise OutsideFailed(reason("guard.bar.other-policy", policy=policy, other=by), f"POST {PATH}", by)
    return by is not None


def _claim(found: Object) -> Claim:
    metadata, spec, status = found["metadata"], found["spec"], found.get("status") or {}
    conditions = status.get("conditions") or []
    created = instant(metadata["creationTimestamp"])
    left, notes = metadata.get("deletionTimestamp"), metadata.get("annotations") or {}
    provider = status.get("providerID")
    # Karpenter, too, takes nothing else than an instant for the limit of a claim's end.
    ends_at = foreign(notes.get(ENDS_AT))
    return checked(
        Claim(
            name=metadata["name"],
            # aws:///ap-northeast-2a/i-0abc
            instance=instance_id(provider.rpartition("/")[2]) if provider else "",
            node_pool=str((metadata.get("labels") or {}).get(LABEL, "")),
            created=created,
            expires=_expires(created, duration(spec.get("expireAfter") or "")),
            zone=str((metadata.get("labels") or {}).get(ZONE, "")),
            leaving=left is not None,
            left=instant(left) if left else None,
            grace=duration(spec.get("terminationGracePeriod") or ""),
            ends_at=ends_at,
            limited=ends_at is not None and ends_at == foreign(notes.get(LIMITED)),
            stages={
                str(each["type"]): at
                for each in conditions
                if each.get("status") == "True" and (at := foreign(each.get("lastTransitionTime")))
            },
            trouble=_trouble(conditions),
        )
    )


def _of_ec2(found: Object) -> bool:
    provider = (found.get("status") or {}).get("providerID")
    return not provider or str(provider)[: len(EC2)] == EC2


def _expires(created: datetime, life: timedelta | None) -> datetime | None:
    """When its node has lived long enough; None where that is never, or past every calendar."""
    try:
        return None if life is None else created + life
    except OverflowError:
        return None


def _trouble(conditions: Iterable[Object]) -> HealthIssue | None:
    for each in conditions:
        if each.get("type") == "Launched" and each.get("status") != "True":
            if each.get("reason") in {None, "", NOT_TRIED}:
                return None
            return HealthIssue(str(each["reason"]), str(each.get("message", "")))
    return None
