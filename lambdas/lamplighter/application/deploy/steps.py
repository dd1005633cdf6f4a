"""The deploy steps about the lab: the gate, the pools, the currency, planning, the first sweep, and the last close."""

import logging
import os
from collections.abc import Mapping

from lamplighter import clock
from lamplighter.application.deploy.event import Event, known_as, properties_of
from lamplighter.application.deploy.kinds import all_pools_are_reached
from lamplighter.application.deploy.response import CloudFormationResponse
from lamplighter.application.environment import ENVIRONMENT, lab
from lamplighter.errors import BadInput, LamplighterError
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Sentences

_logger = logging.getLogger(__name__)


def gate(event: Event) -> CloudFormationResponse:
    """Fails a change of a pool's own resources while a lease holds it, and keeps it empty until they are changed.

    The physical id carries the digest that is deployed, so that a rollback to it is no change; and so that
    the id before, or on the way back the new one, is deleted as the deploy's last act: the pool is let go.
    """
    properties = properties_of(event)
    pool = properties["Pool"]
    name = f"gate-{pool}-{properties['Digest']}"
    deleted = event["RequestType"] == "Delete"
    if "Reservation" in properties and not deleted and known_as(event) != name:
        from lamplighter.application.deploy.reservation import refuse_reservation  # noqa: PLC0415 -- few labs have one

        refuse_reservation(properties)
    if event["RequestType"] == "Create" or (known_as(event) == name and not deleted):
        return CloudFormationResponse(name)
    from lamplighter.application.deploy import mark as deploy_mark  # noqa: PLC0415 -- brings the ledger

    if deleted:
        deploy_mark.let_go(pool)
        return CloudFormationResponse(known_as(event))
    deploy_mark.hold_still(pool, deploy_mark.Write.CHANGE)
    return CloudFormationResponse(name)


def pools(event: Event) -> CloudFormationResponse:
    """Fails a deploy that removes a pool, or nodes of it, that leases hold."""
    old = event.get("OldResourceProperties")
    had = str(old.get("Pools", "")) if isinstance(old, Mapping) else ""
    if event["RequestType"] == "Update":
        from lamplighter.application.deploy import mark as deploy_mark  # noqa: PLC0415 -- brings the ledger

        for pool in sorted(set(filter(None, had.split(","))) - set(properties_of(event)["Pools"].split(","))):
            deploy_mark.hold_still(pool, deploy_mark.Write.TAKE_AWAY)
        most = _most(properties_of(event))
        for pool, before in _most(old).items():
            if most.get(pool, before) < before:
                deploy_mark.refuse_fewer(pool, most[pool])
    return CloudFormationResponse("pools")


def _most(properties: object) -> dict[str, int]:
    """The maximum of nodes by pool; empty if an older deploy did not state it."""
    said = str(properties.get("Most", "")) if isinstance(properties, Mapping) else ""
    return {pool: int(most) for pool, _, most in (each.partition("=") for each in said.split(",") if each)}


def currency(event: Event) -> CloudFormationResponse:
    """Fails a deploy after which the ledger would have money in two currencies."""
    if event["RequestType"] != "Delete":
        from lamplighter.application.deploy.currency import refuse_another  # noqa: PLC0415 -- only here

        old = event.get("OldResourceProperties")
        before = [{key: str(value) for key, value in old.items()}] if isinstance(old, Mapping) else []
        refuse_another(lab().pools, properties_of(event), *before)
    return CloudFormationResponse("currency")


def plan(event: Event) -> CloudFormationResponse:
    """Runs the planner to its end, so that changed windows are in force when the deploy ends.

    A first deploy fails where a pool's capacity is not there or nobody knows its price: the name is wrong.
    """
    from lamplighter.adapters.aws.functions import Functions  # noqa: PLC0415 -- only here

    known = known_as(event)
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(known)
    name = f"plan-{properties_of(event)['Digest']}"
    # As with the gate, a rollback to the deployed state is not refused.
    if known != name:
        all_pools_are_reached()
    _may_open_again()
    planned = Functions().run(os.environ["PLANNER_FUNCTION_ARN"], {"source": "deploy"})
    unknown = planned.get("unknown")
    if event["RequestType"] == "Create" and isinstance(unknown, list) and unknown:
        raise BadInput(Sentences(tuple(read(problem) for problem in unknown)))
    return CloudFormationResponse(name)


def service_cidr(event: Event) -> CloudFormationResponse:
    """The network, which never changes while the cluster exists. CloudFormation has no attribute for it."""
    cluster = properties_of(event)["Cluster"]
    name = f"service-cidr-of-{cluster}"
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(name)
    from lamplighter.adapters.aws import cluster_description  # noqa: PLC0415 -- on first use

    return CloudFormationResponse(name, data={"ServiceCidr": cluster_description.service_cidr(cluster)})


def swept(event: Event) -> CloudFormationResponse:
    """Lets the guard sweep before the alarm on missing sweeps is created."""
    if event["RequestType"] == "Create":
        from lamplighter.application.deploy.first_sweep import await_sweep  # noqa: PLC0415 -- only at a first deploy

        await_sweep()
    return CloudFormationResponse("swept")


def _may_open_again() -> None:
    """A retained ledger still has the mark of an earlier destroy: this deploy removes it."""
    from lamplighter.adapters.aws.ledger.ledger import Ledger  # noqa: PLC0415 -- only here

    Ledger(ENVIRONMENT.ledger_table).end_last_close()


def cluster_logs(event: Event) -> CloudFormationResponse:
    """The log group of the control plane: room for it before it is created, and nothing of it after its deletion."""
    from lamplighter.application.deploy.cluster_logs import make_room, remove_for_good  # noqa: PLC0415 -- only here

    asked = properties_of(event)
    name = asked["LogGroup"]
    if event["RequestType"] == "Create":
        make_room(name, asked["Cluster"])
    elif event["RequestType"] == "Delete":
        remove_for_good(name)
    return CloudFormationResponse(f"logs-in-{name}")


def emptied(event: Event) -> CloudFormationResponse:
    """On deletion, empties the bucket of pages: CloudFormation deletes only an empty bucket."""
    bucket = properties_of(event)["Bucket"]
    if event["RequestType"] == "Delete":
        from lamplighter.adapters.aws.bucket import Bucket  # noqa: PLC0415 -- only at a destroy

        Bucket(bucket).empty()
    return CloudFormationResponse(f"pages-in-{bucket}")


def last_closed(event: Event) -> CloudFormationResponse | None:
    """On deletion, starts the workflow that closes every pool; the workflow answers, with or without proof."""
    if event["RequestType"] != "Delete":
        return CloudFormationResponse("last-closed")
    from lamplighter.application.deploy.last_close import start  # noqa: PLC0415 -- only at a destroy

    start(event, os.environ["LAST_CLOSE_ARN"])
    return None


def may_be_resumed() -> None:
    """After a failed destroy nothing opens until a person resumes the lab."""
    from lamplighter.adapters.aws.ledger.ledger import Ledger  # noqa: PLC0415 -- only after a failed destroy

    try:
        Ledger(ENVIRONMENT.ledger_table).last_close_failed("cdk destroy", clock.now())
    except LamplighterError:
        _logger.exception("that the destroy failed is not written down; the answer counts more")
