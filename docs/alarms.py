"""The reference page of what pages and what to do then: alarms and rules from the template, the rest from here.

An alarm or a paging rule without a line of its own here is an error: nobody should be woken without advice.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lamplighter.domain.guard.breach import Rule

Template = Mapping[str, Any]

#: What to do first, by the name behind the lab's.
RUNBOOK = {
    "guard-silent": (
        "Look at the rule `<lab>-sweep` and at the errors of the function `<lab>-guard`; the failsafe still brings"
        " every pool to zero. Until it sweeps again, `lamplighter status` shows what runs."
    ),
    "failsafe-failed": (
        "Run `lamplighter close POOL --yes --wait` for the pool that the message in the queue `<lab>-failsafe-failed`"
        " names, and look at EC2 until it is at zero: AWS would not do it without us. Then purge the queue."
    ),
    "dead-letters": (
        "Read the queue `<lab>-dead-letters` without deleting: the message names the target that failed and why; then"
        " purge the queue, which ends the alarm."
    ),
    "closing-failed": (
        "`lamplighter why POOL` names the step; `lamplighter close POOL --yes --wait` closes again. Failsafe and guard"
        " go on meanwhile."
    ),
}

HEAD = """# What pages, and what to do

Generated from the template of the default lab by `make docs`. All of it goes to the topic `<lab>-pages`, and from there
to `notify.email` and `notify.pages` of the lab ([route notices](../../how-to/run/route-notices.md)). `<lab>` is the
lab's name. A linked name leads to its runbook: what is true meanwhile, and what to do, step by step.
"""
#: The same for what a sweep finds: what it means, what the guard does itself, what is left to do.
FOUND = {
    Rule.NODE_WITHOUT_LEASE: "Somebody started nodes that no lease justifies; they are being closed. Ask who did it.",
    Rule.MORE_NODES_THAN_LEASES: "More nodes run than the leases justify; the rest is being closed.",
    Rule.FEWER_NODES_THAN_LEASES: (
        "Somebody, or a Cluster Autoscaler, lowered a pool under a lease. The guard never grows a pool: close and open"
        " again if the nodes are needed."
    ),
    Rule.STRAY_INSTANCE: "An instance has a pool's tags, is not in its group, no lease justifies it; it is ended.",
    Rule.LEASE_PAST_ITS_END: "A lease was not closed when it ended; it is now. `lamplighter why POOL` says why.",
    Rule.LEASE_TOO_LONG: (
        "A lease runs longer than `guard.longest_lease` allows; its people were told a quarter of an hour ago, now it"
        " is closed. Was the bound lowered by a deploy?"
    ),
    Rule.IDLE_LEASE: (
        "Nobody used the GPUs of a lease, its people were told, now it is closed. `guard.idle_after` says how long is"
        " too long."
    ),
    Rule.BUDGET_REACHED: (
        "What runs has used up a budget. Its people are told 15 minutes ahead, then it is closed. Raise the budget in"
        " the lab and deploy, if it should go on."
    ),
    Rule.OPENING_ABANDONED: (
        "The run that should open a lease ended without doing so; the lease is closed. Look at that run in the"
        " console, then open again."
    ),
    Rule.CLOSING_ABANDONED: (
        "A close never came to its end; it is started again, proves zero and settles. Look at `<lab>-close` in the"
        " console if it comes back."
    ),
    Rule.EXPERIMENT_OVERDUE: (
        "An experiment is not undone though its time is up: its workflow and its schedules came to nothing. It is being"
        " undone again; `lamplighter experiment restore` does so too, and says what fails. For the security groups the"
        " rules to give back stand in `lamplighter experiment report`."
    ),
    Rule.SECOND_CLAIM: (
        "The parameter `/lamplighter/claims/CLUSTER/NODEGROUP` names another lab. This one only says what it finds"
        " until one of the two lets go: remove the pool from one lab and deploy that."
    ),
    Rule.FAILSAFE_WRONG: "The failsafe was not where the leases need it; it is put right. Did somebody edit schedules?",
    Rule.CURFEW_WRONG: (
        "A schedule of the curfew is gone; everything else still guards the pool. Deploy again, and ask who deleted it."
    ),
    Rule.SIZES_CHANGED: "Somebody changed the minimum or maximum of a pool; both are put back. Change the lab instead.",
    Rule.LEAKED: (
        "A pool that should be at zero is not, 30 minutes on. It keeps being closed; after 15 minutes what its group"
        " keeps is ended in EC2. `lamplighter why POOL` says what is left; `lamplighter ack POOL` silences the pages."
    ),
    Rule.NO_LONGER_LEAKED: "The pool is at zero, or leased again; nothing to do.",
}
#: Put right without waking anybody.
SILENT = {Rule.FAILSAFE_LEFT, Rule.NODE_UNPROTECTED}

#: Where each alarm and paging rule has its steps; every one of them must.
RUNBOOKS = "../../how-to/trouble/answer-a-page.md"
#: What a sweep finds and somebody has to act upon.
WITH_RUNBOOK = {Rule.LEAKED, Rule.BUDGET_REACHED, Rule.EXPERIMENT_OVERDUE, Rule.SECOND_CLAIM}

GUARD = """## The guard

A sweep pages through the same topic, without an alarm, about what it finds and what it does about it; also when a
failsafe cannot be set. In `watch` mode it only says so. `lamplighter why POOL` tells the whole story.
"""


def page(controller: Template, lab: str) -> str:
    """The whole page; KeyError names what has no line in the runbook."""
    alarms = "\n".join(
        ["## Alarms\n", "| alarm | when | do |", "|---|---|---|", *_alarms(controller, lab), ""]
    )
    rules = "\n".join(["## Rules\n", "| rule | when | do |", "|---|---|---|", *_rules(controller, lab), ""])
    found = [f"| {_linked(rule)} | {FOUND[rule]} |" for rule in Rule if rule not in SILENT]
    guard = "\n".join([GUARD, "| found | what it means, and what to do |", "|---|---|", *found, ""])
    return f"{HEAD}\n{alarms}\n{rules}\n{guard}"


def _linked(rule: Rule) -> str:
    return f"[`{rule.value}`]({RUNBOOKS}#{rule.value})" if rule in WITH_RUNBOOK else f"`{rule.value}`"


def _alarms(controller: Template, lab: str) -> Iterator[str]:
    for alarm in _of_type(controller, "AWS::CloudWatch::Alarm"):
        yield _row(alarm["AlarmName"], alarm["AlarmDescription"], lab)


def _rules(controller: Template, lab: str) -> Iterator[str]:
    """Rules that lead to a topic."""
    resources = controller["Resources"]
    topics = {name for name, found in resources.items() if found["Type"] == "AWS::SNS::Topic"}
    for rule in _of_type(controller, "AWS::Events::Rule"):
        if any(target["Arn"].get("Ref") in topics for target in rule["Targets"]):
            yield _row(rule["Name"], rule["Description"], lab)


def _row(name: str, when: str, lab: str) -> str:
    kind = name.removeprefix(f"{lab}-")
    # A name in angle brackets is no tag of HTML only where it is code.
    said = re.sub(rf"{re.escape(lab)}-([a-z-]+)", r"`<lab>-\1`", when).replace(lab, "the lab")
    return f"| [`<lab>-{kind}`]({RUNBOOKS}#{kind}) | {said} | {RUNBOOK[kind]} |"


def _of_type(template: Template, kind: str) -> list[Mapping[str, Any]]:
    return [found["Properties"] for found in template["Resources"].values() if found["Type"] == kind]
