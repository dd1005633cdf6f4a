"""Whether EKS can put a cluster into the lab's zones: the account has each, and EKS takes subnets there.

The doctor asks before a deploy. The first step of a deploy asks again, before the VPC exists.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from lamplighter.data import regions
from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Reason, Said, reason

FEWEST = 2
"""EKS needs subnets in two zones."""


def zones(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """EKS takes subnets in each zone of a cluster that the deploy creates."""
    wanted = lab.cluster.zones
    if lab.cluster.existing is not None or facts.deployed:
        yield well(reason("doctor.zones-settled", cluster=lab.cluster_name))
    elif isinstance(facts.zones, Unread):
        yield unknown(facts.zones)
    else:
        wrong = tuple(misfits(wanted, facts.zones))
        advice = other_zones(wanted, facts.zones)
        yield from (unwell(each, advice) for each in wrong)
        if not wrong:
            yield well(reason("doctor.zones-ok", zones=tuple(wanted)))


def misfits(wanted: Sequence[str], ids: Mapping[str, str]) -> Iterator[Reason]:
    """Why the cluster cannot be in some of these zones. `ids` are the account's zones by name."""
    for zone in wanted:
        if zone not in ids:
            yield reason("doctor.zone-absent", zone=zone)
        elif regions.takes_no_cluster(ids[zone]):
            yield reason("doctor.zone-refused", zone=zone, id=ids[zone])


def other_zones(wanted: Sequence[str], ids: Mapping[str, str]) -> Said:
    """What to write instead: the good zones of the lab, and others of the account in the places of the rest."""
    usable = [zone for zone in sorted(ids) if not regions.takes_no_cluster(ids[zone])]
    if len(usable) < FEWEST:
        return reason("doctor.zones-elsewhere")
    spare = iter([zone for zone in usable if zone not in wanted])
    chosen = [zone if zone in usable else next(spare, "") for zone in wanted]
    return reason("doctor.zones-advice", zones=f"[{', '.join(filter(None, chosen))}]")
