"""Whether the account has two zones that EKS takes, and the lab is in such zones."""

from datetime import timedelta

from cli import printing
from cli.verification.outcome import Differs
from cli.verification.step import Play, Step
from lamplighter.adapters.doctor.quotas import Zones
from lamplighter.data import regions
from lamplighter.domain.doctor.zones import FEWEST, misfits
from lamplighter.values.zones import zone as time_zone


def _play(play: Play) -> None:
    ids = Zones().ids()
    refused = {name for name, zone in ids.items() if regions.takes_no_cluster(zone)}
    usable = sorted(ids.keys() - refused)
    others = ", ".join(f"{name} is {ids[name]}" for name in sorted(refused))
    play.evidence(f"EKS takes {', '.join(usable)}; it refuses {others or 'none'}")
    if len(usable) < FEWEST:
        raise Differs(f"EKS needs {FEWEST} zones")
    deployment = play.account.deployment
    if deployment is not None and deployment.lab.cluster.existing is None:
        for wrong in misfits(deployment.lab.cluster.zones, ids):
            raise Differs(printing.drawn(wrong, time_zone(deployment.lab.time_zone)))


STEP = Step(
    name="zones",
    asks="read which zones the letters of this account stand for",
    passes="EKS takes subnets in two of them, and in each zone of the lab",
    longest=timedelta(minutes=5),
    play=_play,
)
