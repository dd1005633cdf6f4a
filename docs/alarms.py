"""The reference page of pages and what to do: alarms and rules from the template, the advice from this file.

An alarm or a paging rule without advice in this file is an error: a page must never wake a person without advice.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lamplighter.domain.guard.breach import Rule

Template = Mapping[str, Any]

#: What to do first, by the name behind the lab's.
RUNBOOK = {
    "guard-silent": (
        "Check the rule `<lab>-sweep` and the errors of the function `<lab>-guard`. The failsafe still brings every"
        " pool to zero. Until the guard sweeps again, `lamplighter status` shows what runs."
    ),
    "failsafe-failed": (
        "The message in the queue `<lab>-failsafe-failed` names the pool. Run `lamplighter close POOL --yes --wait`"
        " for it, and check EC2 until the pool is at zero: the failsafe cannot close it. Then purge the queue."
    ),
    "failsafe-leaked": (
        "The run of `<lab>-failsafe` names the pool in its input, and its last step says what failed. Run"
        " `lamplighter close POOL --yes --wait` for it, and check EC2 until the pool is at zero."
    ),
    "dead-events": (
        "Read the queue `<lab>-dead-events` without deleting: a request has the sender's `detail`, anything"
        " else is a run that told nothing. Pools open and close meanwhile. Then purge the queue, which ends the alarm."
    ),
    "slack-requests": (
        "Check the errors and throttles of the function `<lab>-slack`, and its mapping. Until it takes requests, use"
        " the command line; a request that is an hour old is forgotten."
    ),
    "event-requests": (
        "Check the errors and throttles of the function `<lab>-events`, and its mapping. Requests wait for a day; those"
        " older than 15 minutes are then refused."
    ),
    "closing-failed": (
        "`lamplighter why POOL` names the failed step. `lamplighter close POOL --yes --wait` closes the pool again."
        " Failsafe and guard continue meanwhile."
    ),
}

HEAD = """# What pages, and what to do

Generated from the templates of the default lab, with events, by `make docs`. Every page goes to the topic
`<lab>-pages`, and from there to `notify.email` and `notify.pages` of the lab
([route notices](../../how-to/run/route-notices.md)). `<lab>` is the lab's name. A linked name leads to its runbook,
which describes the situation and each step.
"""
#: Alarms of `observability.queue_alarms`, which the default lab does not have.
ASKED = ("slack-requests", "event-requests")
ASKED_HEAD = """With `observability.queue_alarms` two more page when a request has waited for five minutes in its queue:

| alarm | do |
|---|---|"""
#: The same for each breach: its meaning, what the guard does itself, and what a person has to do.
FOUND = {
    Rule.NODE_WITHOUT_LEASE: "Somebody started nodes that no lease justifies. The guard closes them. Ask who did it.",
    Rule.MORE_NODES_THAN_LEASES: "More nodes run than the leases justify. The guard closes the others.",
    Rule.FEWER_NODES_THAN_LEASES: (
        "Somebody, or a Cluster Autoscaler, lowered a pool below its leases. The guard never grows a pool. If you need"
        " the nodes, close the pool and open it again."
    ),
    Rule.STRAY_INSTANCE: (
        "An instance has a pool's tags but is not in its group, and no lease justifies it. The guard terminates it."
        " While Kubernetes does not answer and a lease runs, it does so once: ended nodes that come back stay. Let the"
        " guard reach the API server again (`lamplighter doctor`), or scale the NodePool from inside the cluster."
    ),
    Rule.OTHER_INSTANCE_TYPE: (
        "A pool runs nodes of another instance type than its leases were granted for; the page has the price. No lease"
        " pays for them, and they count as spent at that price. The guard removes them, and the pool has fewer nodes."
        " Find out who changed the node group, the launch template or the NodePool, or whose pod chose the type. A"
        " pool may have several: name them in `instance_types`."
    ),
    Rule.LEASE_PAST_ITS_END: "A lease ended and was not closed. The guard closes it. `lamplighter why POOL` says why.",
    Rule.LEASE_TOO_LONG: (
        "A lease runs longer than `guard.longest_lease` allows. The guard warned its people 15 minutes ago and now"
        " closes it. Check whether a deploy lowered the limit."
    ),
    Rule.IDLE_LEASE: (
        "Nobody used the GPUs of a lease. The guard warned its people and now closes it. `guard.idle_after` is the"
        " longest idle time, and `guard.idle_by` says what use is."
    ),
    Rule.BUDGET_REACHED: (
        "The running nodes use up a budget. The guard warns the people of the lease 15 minutes ahead, then closes it."
        " If it should continue, raise the budget in the lab and deploy."
    ),
    Rule.OPENING_ABANDONED: (
        "The run that should open a lease ended without opening it. The guard closes the lease. Read that run in the"
        " console, then open again."
    ),
    Rule.CLOSING_ABANDONED: (
        "A close did not finish. The guard starts it again; it proves zero and settles. If this repeats, read the"
        " runs of `<lab>-close` in the console."
    ),
    Rule.EXPERIMENT_OVERDUE: (
        "The time of an experiment is over, and neither its workflow nor its schedules undid it. The guard undoes it"
        " again. `lamplighter experiment restore` does the same and names what fails. `lamplighter experiment report`"
        " lists the rules of security groups to restore."
    ),
    Rule.SECOND_CLAIM: (
        "The parameter `/lamplighter/claims/CLUSTER/NODEGROUP` names another lab. If its deploy claimed an adopted"
        " pool, this lab only reports what it finds: remove the pool from one lab and deploy that lab. Otherwise the"
        " guard goes on: ask who wrote the parameter, and write this lab's name into it."
    ),
    Rule.FAILSAFE_WRONG: (
        "The failsafe does not fit the leases. The guard arms it again. Check whether somebody edited its schedules."
    ),
    Rule.CURFEW_WRONG: (
        "A curfew schedule is missing. Everything else still guards the pool. Deploy again, and ask who deleted it."
    ),
    Rule.SIZES_CHANGED: (
        "Somebody changed the minimum or maximum of a pool. The guard restores both. Change the lab instead."
    ),
    Rule.SIZE_WITHOUT_LEASE: (
        "Somebody scaled the NodePool without a lease. The launch bar let nothing start, and the guard sets the size"
        " back. Ask who did it; open a lease instead. Or NodeClaims stay without an instance and without a lease: the"
        " guard deletes them. Check whether Karpenter runs."
    ),
    Rule.LAUNCH_BAR_WRONG: (
        "The launch bar is open without a lease, shut under one, has a text that is no RFC 3339 instant, or the API"
        " server does not follow it. The guard moves a wrong one. Where its admission policy or binding is missing,"
        " deploy again: until then nothing opens."
    ),
    Rule.NODE_INTERRUPTED: (
        "EC2 takes a leased node away, or node repair ends an unhealthy one, and its controller starts another one."
        " Work on the old node ends. Nobody checks the GPUs of the new one: where that matters, close the pool and open"
        " it again. A node of a pool with `buy: spot` pages nobody: the lab replaces it and proves the other one, or"
        " goes on with fewer."
    ),
    Rule.NODE_LIFE_ENDS: (
        "Leases that overlap have kept a node longer than its NodePool lets a node live. Its controller ends it at the"
        " instant that the notice names, and starts another one. Tell its people to save their work before."
    ),
    Rule.NODE_NOT_ENDED: (
        "Karpenter or Auto Mode has not ended a node that it was told to end. The guard ended the instance in EC2; on"
        " Auto Mode it left the pods no more time. The page says why. Repair Karpenter: its objects stay until it runs."
    ),
    Rule.KARPENTER_NOT_READY: (
        "Karpenter does not run, or its queue or kinds of object are missing. Leases keep their nodes; no other node"
        " starts. `kubectl -n kube-system describe deployment karpenter` and `lamplighter doctor` say more."
    ),
    Rule.GPU_OUTSIDE_POOLS: (
        "A GPU instance of the cluster belongs to no pool of the lab, such as one of another NodePool. In the lab's own"
        " cluster the next sweep ends it; `lamplighter arm POOL --watch` on any pool prevents that. Ask its owner to"
        " scale the NodePool to 0 or delete it, or others come. Elsewhere the guard only reports it."
    ),
    Rule.LEAKED: (
        "A pool should be at zero and is not, after 30 minutes. The guard continues to close it. 15 minutes later it"
        " terminates the remaining instances of the group in EC2. `lamplighter why POOL` names what is left."
        " `lamplighter ack POOL` silences the pages."
    ),
    Rule.NO_LONGER_LEAKED: "The pool is at zero, or leased again. You need to do nothing.",
}
#: The guard corrects these without a page.
SILENT = {Rule.FAILSAFE_LEFT, Rule.NODE_UNPROTECTED}

#: The runbooks. Every alarm and paging rule must have one.
RUNBOOKS = "../../how-to/trouble/answer-a-page.md"
#: Breaches that a person has to act on.
WITH_RUNBOOK = {Rule.LEAKED, Rule.BUDGET_REACHED, Rule.EXPERIMENT_OVERDUE, Rule.SECOND_CLAIM}

GUARD = """## The guard

A sweep sends pages to the same topic, without an alarm. It pages about each breach and its action, and if it cannot set
a failsafe. In `watch` mode it only reports the breach. `lamplighter why POOL` shows the whole history.

It also pages when the queue [`<lab>-dead-letters`](../../how-to/trouble/answer-a-page.md#dead-letters) has a message: a
schedule, a plan, a notice or a request failed for good. It pages again every day until somebody purges the queue,
and more and more rarely where further messages come.
"""


def page(templates: Sequence[Template], lab: str) -> str:
    """The whole page. Raises KeyError with the name that has no advice."""
    alarms = [row for template in templates for row in _alarms(template, lab)]
    rules = [row for template in templates for row in _rules(template, lab)]
    asked = [ASKED_HEAD, *(f"| [`<lab>-{kind}`]({RUNBOOKS}#{kind}) | {RUNBOOK[kind]} |" for kind in ASKED)]
    alarms_table = "\n".join(
        ["## Alarms\n", "| alarm | when | do |", "|---|---|---|", *alarms, "", *asked, ""]
    )
    rules_table = "\n".join(["## Rules\n", "| rule | when | do |", "|---|---|---|", *rules, ""])
    found = [f"| {_linked(rule)} | {FOUND[rule]} |" for rule in Rule if rule not in SILENT]
    guard = "\n".join([GUARD, "| breach | what it means, and what to do |", "|---|---|", *found, ""])
    return f"{HEAD}\n{alarms_table}\n{rules_table}\n{guard}"


def _linked(rule: Rule) -> str:
    return f"[`{rule.value}`]({RUNBOOKS}#{rule.value})" if rule in WITH_RUNBOOK else f"`{rule.value}`"


def _alarms(template: Template, lab: str) -> Iterator[str]:
    for alarm in _of_type(template, "AWS::CloudWatch::Alarm"):
        yield _row(alarm["AlarmName"], alarm["AlarmDescription"], lab)


def _rules(template: Template, lab: str) -> Iterator[str]:
    """Rules whose target is a topic."""
    resources = template["Resources"]
    topics = {name for name, found in resources.items() if found["Type"] == "AWS::SNS::Topic"}
    for rule in _of_type(template, "AWS::Events::Rule"):
        if any(target["Arn"].get("Ref") in topics for target in rule["Targets"]):
            yield _row(rule["Name"], rule["Description"], lab)


def _row(name: str, when: str, lab: str) -> str:
    kind = name.removeprefix(f"{lab}-")
    # A name in angle brackets is an HTML tag unless it is code.
    said = re.sub(rf"{re.escape(lab)}-([a-z-]+)", r"`<lab>-\1`", when).replace(lab, "the lab")
    return f"| [`<lab>-{kind}`]({RUNBOOKS}#{kind}) | {said} | {RUNBOOK[kind]} |"


def _of_type(template: Template, kind: str) -> list[Mapping[str, Any]]:
    return [found["Properties"] for found in template["Resources"].values() if found["Type"] == kind]
