"""CloudFormation's custom resources: edits, present sizes, the gate, the currency, planning, and the last close.

It answers CloudFormation itself and never leaves it waiting. Any failure is answered with FAILED and a reason on one
line, which the person who deploys reads.
"""

import logging
from collections.abc import Callable, Mapping

from lamplighter.application.deploy.event import Event, known_as, properties_of
from lamplighter.application.deploy.kinds import STEPS
from lamplighter.application.deploy.response import CloudFormationResponse, answer
from lamplighter.application.deploy.steps import (
    cluster_logs,
    currency,
    emptied,
    gate,
    last_closed,
    may_be_resumed,
    plan,
    pools,
    service_cidr,
    swept,
)
from lamplighter.errors import BadInput, LamplighterError
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Reason, reason

_logger = logging.getLogger(__name__)


def handler(event: Event, _context: object) -> dict[str, object]:
    """Entry point: an event of CloudFormation, or `{"step": "Respond", "run"}` from the last close."""
    if "step" in event:
        return _respond(event)
    found: CloudFormationResponse | None
    try:
        found = _kind(event)(event)
    except LamplighterError as error:
        _logger.warning("CloudFormation is refused: %s", error)
        found = CloudFormationResponse(known_as(event), reason=error.said)
    except Exception as error:  # CloudFormation would wait an hour for an answer that never comes
        _logger.exception("CloudFormation is told of an error of ours")
        found = CloudFormationResponse(known_as(event), reason=f"{type(error).__name__}: {error}")
    if found is not None:
        answer(event, found)
    return {}


def _kind(event: Event) -> Callable[[Event], CloudFormationResponse | None]:
    kind = properties_of(event).get("Kind", "")
    if kind not in KINDS:
        raise BadInput(reason("deploy.no-such-step", kind=kind, kinds=", ".join(KINDS)))
    return KINDS[kind]


def _respond(event: Event) -> dict[str, object]:
    from lamplighter.application.deploy.last_close import unproven  # noqa: PLC0415 -- only at a destroy

    run = event.get("run")
    asked = run.get("event") if isinstance(run, Mapping) else None
    if not isinstance(run, Mapping) or not isinstance(asked, Mapping):
        raise BadInput(reason("deploy.no-event"))
    why_not: Reason | None
    try:
        why_not = unproven(run)
    except Exception as error:  # as in handler
        _logger.exception("the proof of the last close failed")
        detail = error.said if isinstance(error, LamplighterError) else str(error)
        why_not = reason("deploy.proof-failed", error=detail)
    if why_not is not None:
        may_be_resumed()
    answer(asked, CloudFormationResponse(known_as(asked), reason=why_not))
    return {"zero": why_not is None, "reason": None if why_not is None else document(why_not)}


KINDS: Mapping[str, Callable[[Event], CloudFormationResponse | None]] = {
    **STEPS,
    "ServiceCidr": service_cidr,
    "ClusterLogs": cluster_logs,
    "Gate": gate,
    "Pools": pools,
    "Currency": currency,
    "Plan": plan,
    "Swept": swept,
    "Emptied": emptied,
    "LastClosed": last_closed,
}
