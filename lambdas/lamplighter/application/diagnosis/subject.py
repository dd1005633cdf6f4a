"""What a diagnosis of a pool is about, for the workflow's step and for the command line."""

from dataclasses import replace
from datetime import datetime

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.diagnosis import Subject
from lamplighter.domain.capacity.kinds import identity, kind_of
from lamplighter.domain.capacity.node_pool.launch_bar import parameter_name
from lamplighter.domain.capacity.node_pool.roles import launching_role
from lamplighter.domain.diagnosis.expected import expected
from lamplighter.lab.model import Lab


def subject_of(lab: Lab, ledger: Ledger, pool: str, now: datetime) -> Subject:
    """The pool with what its leases expect of it now."""
    found = lab.pools[pool]
    leases = ledger.leases(pool)
    wanted = expected(pool, leases, now, max_nodes=found.max_nodes, instance_type=found.instance_type)
    wanted = replace(wanted, instance_types=found.types if found.is_mixed else None)
    kind, names = kind_of(lab, pool), identity(lab, pool)
    if not found.has("launch bar"):
        return Subject(kind, names, wanted)
    wanted = replace(wanted, kind=kind, nodepool=names.name)
    return Subject(kind, names, wanted, launching_role(lab, pool), parameter_name(lab, pool))
