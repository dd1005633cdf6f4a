"""The doctor's checks of the account: caller, region, plan, CDK's bootstrap, Lambda's concurrency, and CloudTrail."""

from collections.abc import Iterator
from datetime import datetime

from lamplighter.data.lambda_concurrency import CONCURRENCY, EVERY_ACCOUNT, NEW_ACCOUNT, UNRESERVED
from lamplighter.domain.doctor.facts import Facts, NoAccess
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason

NEEDED_BOOTSTRAP = 6
"""The version that the templates require. A test compares it with theirs."""
CDK = "make cdk && .venv/bin/cdk"


def credentials(facts: Facts, _lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """AWS accepts the caller's credentials."""
    caller = facts.caller
    if isinstance(caller, Unread):
        yield unknown(caller)
    elif isinstance(caller, NoAccess):
        yield unwell(caller.why, caller.advice)
    else:
        yield well(reason("doctor.caller", arn=caller.arn, account=caller.account))


def region(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The caller's settings name the region of the lab."""
    advice = reason("doctor.region-advice", region=lab.region)
    if facts.region is None:
        yield unwell(reason("doctor.region-unset", region=lab.region), advice)
    elif facts.region != lab.region:
        yield unwell(reason("doctor.region-elsewhere", here=facts.region, region=lab.region), advice)
    else:
        yield well(reason("doctor.region-ok", region=lab.region))


def plan(facts: Facts, _lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The account is not on AWS's Free plan, which has no GPU instances."""
    if isinstance(facts.plan, Unread):
        yield unknown(facts.plan)
    elif facts.plan == "FREE":
        yield unwell(reason("doctor.plan-free"), reason("doctor.plan-free.advice"))
    else:
        yield well(reason("doctor.plan-ok"))


def bootstrap(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """CDK is bootstrapped, so that it can deploy."""
    version = facts.bootstrap
    account = getattr(facts.caller, "account", "ACCOUNT")
    advice = f"{CDK} bootstrap aws://{account}/{lab.region}"
    if isinstance(version, Unread):
        yield unknown(version)
    elif version is None:
        yield unwell(reason("doctor.not-bootstrapped", region=lab.region), advice)
    elif version < NEEDED_BOOTSTRAP:
        yield unwell(
            reason("doctor.bootstrap-old", region=lab.region, version=version, needed=NEEDED_BOOTSTRAP),
            advice,
        )
    else:
        yield well(reason("doctor.bootstrap-ok", region=lab.region, version=version))


def concurrency(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Lambda may run enough functions at once for the lab."""
    if isinstance(facts.concurrency, Unread):
        yield unknown(facts.concurrency)
        return
    held = reason("doctor.functions-at-once", count=f"{facts.concurrency:g}", region=lab.region)
    reserved = lab.guard.reserved_concurrency
    needed = NEW_ACCOUNT if reserved is None else UNRESERVED + reserved
    if facts.concurrency < needed:
        yield unwell(
            reason("doctor.functions-too-few", held=held, needed=NEW_ACCOUNT)
            if reserved is None
            else reason("doctor.functions-unreserved", held=held, reserved=reserved, needed=needed),
            reason(
                "doctor.quota-increase",
                service="lambda",
                code=CONCURRENCY,
                value=max(EVERY_ACCOUNT, needed),
                region=lab.region,
            ),
        )
    elif facts.concurrency < EVERY_ACCOUNT:
        yield well(reason("doctor.functions-shared", held=held, new=NEW_ACCOUNT))
    else:
        yield well(held)


def trail(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """CloudTrail records changes by hand, which trigger the guard."""
    if isinstance(facts.trails, Unread):
        yield unknown(facts.trails)
        return
    recording = tuple(trail.name for trail in facts.trails if trail.logging and trail.changes)
    if recording:
        yield well(reason("doctor.trail-ok", trails=recording, region=lab.region))
        return
    off = [trail.name for trail in facts.trails if not trail.logging]
    so = reason("doctor.trail-so")
    if off:
        name = off[0]
        yield unwell(
            reason("doctor.trail-off", trail=name, so=so), f"aws cloudtrail start-logging --name {name}"
        )
    elif facts.trails:
        names = tuple(trail.name for trail in facts.trails)
        yield unwell(
            reason("doctor.trail-blind", trails=names, so=so),
            reason("doctor.trail-events-on"),
        )
    else:
        yield unwell(reason("doctor.trail-none", region=lab.region, so=so), reason("doctor.trail-make"))
