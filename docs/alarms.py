"""The reference page of what pages and what to do then: alarms and rules from the template, the rest from here.

An alarm or a paging rule without a line of its own here is an error: nobody should be woken without advice.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Template = Mapping[str, Any]

#: What to do first, by the name behind the lab's.
RUNBOOK = {
    "guard-silent": (
        "Look at the rule `<lab>-sweep` and at the errors of the function `<lab>-guard`; the failsafe still brings"
        " every pool to zero. Until it sweeps again, `lamplighter status` shows what runs."
    ),
    "dead-letters": (
        "Read the queue `<lab>-dead-letters` without deleting: the message names the target that failed and why. If it"
        " is a failsafe, run `lamplighter close POOL --yes --wait`; then purge the queue, which ends the alarm."
    ),
    "closing-failed": (
        "`lamplighter why POOL` names the step; `lamplighter close POOL --yes --wait` closes again. Failsafe and guard"
        " go on meanwhile."
    ),
}

HEAD = """# What pages, and what to do

Generated from the template of the default lab by `make docs`. All of it goes to the topic `<lab>-pages`, and by e-mail
to `notify.email` of the lab. `<lab>` is the lab's name.
"""
GUARD = """## The guard

A sweep pages through the same topic, without an alarm, when it finds a breach: nodes that no lease justifies, a pool
that is *leaked*, a function that cannot reach AWS or Kubernetes. The page says what was found and what is being done;
`lamplighter why POOL` tells the whole story.
"""


def page(controller: Template, lab: str) -> str:
    """The whole page; KeyError names what has no line in the runbook."""
    alarms = "\n".join(
        ["## Alarms\n", "| alarm | when | do |", "|---|---|---|", *_alarms(controller, lab), ""]
    )
    rules = "\n".join(["## Rules\n", "| rule | when | do |", "|---|---|---|", *_rules(controller, lab), ""])
    return f"{HEAD}\n{alarms}\n{rules}\n{GUARD}"


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
    said = when.replace(f"{lab}-", "<lab>-").replace(lab, "the lab")
    return f"| `<lab>-{kind}` | {said} | {RUNBOOK[kind]} |"


def _of_type(template: Template, kind: str) -> list[Mapping[str, Any]]:
    return [found["Properties"] for found in template["Resources"].values() if found["Type"] == kind]
