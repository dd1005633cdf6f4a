"""What the doctor says of the account: who asks, where, whether CDK and CloudTrail are set up there."""

from collections.abc import Iterator
from datetime import datetime

from lamplighter.data.quotas import CONCURRENCY, EVERY_ACCOUNT, NEW_ACCOUNT
from lamplighter.domain.doctor.facts import Facts, NoAccess
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.lab.model import Lab

NEEDED_BOOTSTRAP = 6
"""What the templates ask for; a test compares it with theirs."""
CDK = "make cdk && .venv/bin/cdk"


def credentials(facts: Facts, _lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """AWS knows who asks."""
    caller = facts.caller
    if isinstance(caller, Unread):
        yield unknown(caller)
    elif isinstance(caller, NoAccess):
        yield unwell(caller.why, caller.advice)
    else:
        yield well(f"{caller.arn} in account {caller.account}")


def region(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Whoever asks looks where the lab is."""
    advice = f"export AWS_REGION={lab.region}, or write another region in the lab"
    if facts.region is None:
        yield unwell(f"no AWS region is set, and the lab is in {lab.region}", advice)
    elif facts.region != lab.region:
        yield unwell(
            f"your settings lead to {facts.region}, and the lab is in {lab.region}: after a deploy no verb"
            " would find it",
            advice,
        )
    else:
        yield well(f"calls go to {lab.region}, where the lab is")


def bootstrap(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """CDK can deploy."""
    version = facts.bootstrap
    account = getattr(facts.caller, "account", "ACCOUNT")
    advice = f"{CDK} bootstrap aws://{account}/{lab.region}"
    if isinstance(version, Unread):
        yield unknown(version)
    elif version is None:
        yield unwell(f"CDK is not bootstrapped in {lab.region}: nothing can be deployed there", advice)
    elif version < NEEDED_BOOTSTRAP:
        yield unwell(
            f"CDK's bootstrap in {lab.region} has version {version}, the templates need {NEEDED_BOOTSTRAP}",
            advice,
        )
    else:
        yield well(f"CDK is bootstrapped in {lab.region}, version {version}")


def concurrency(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Lambda runs enough functions at once for the lab."""
    if isinstance(facts.concurrency, Unread):
        yield unknown(facts.concurrency)
        return
    held = f"Lambda runs {facts.concurrency:g} functions at once in this account and {lab.region}"
    if facts.concurrency < NEW_ACCOUNT:
        yield unwell(
            f"{held}: the lab needs {NEW_ACCOUNT}",
            f"aws service-quotas request-service-quota-increase --service-code lambda --quota-code {CONCURRENCY}"
            f" --desired-value {EVERY_ACCOUNT} --region {lab.region}, which takes hours to days",
        )
    elif facts.concurrency < EVERY_ACCOUNT:
        yield well(f"{held}, which other functions of the account share; new accounts have {NEW_ACCOUNT}")
    else:
        yield well(held)


def trail(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Changes by hand are recorded, and wake the guard."""
    if isinstance(facts.trails, Unread):
        yield unknown(facts.trails)
        return
    good = [one.name for one in facts.trails if one.logging and one.changes]
    if good:
        yield well(f"trail {', '.join(good)} records changes in {lab.region}")
        return
    off = [one.name for one in facts.trails if not one.logging]
    so = "the guard sees a change by hand after up to 5 minutes, and nobody can tell whose it was"
    if off:
        name = off[0]
        yield unwell(f"trail {name} is switched off: {so}", f"aws cloudtrail start-logging --name {name}")
    elif facts.trails:
        names = ", ".join(one.name for one in facts.trails)
        yield unwell(
            f"trail {names} records no changes by API calls: {so}",
            "switch its management events on, with writes",
        )
    else:
        yield unwell(
            f"no CloudTrail trail records {lab.region}: {so}",
            "make one for all regions (the first copy of management events costs nothing but its bucket):"
            " aws cloudtrail create-trail --name TRAIL --s3-bucket-name BUCKET --is-multi-region-trail,"
            " then aws cloudtrail start-logging --name TRAIL",
        )
