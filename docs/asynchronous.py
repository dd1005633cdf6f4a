"""The generated tables of the page of what runs asynchronously, from the templates, between marks in the written page.

This file says what a lost event costs. A rule or a listener without a line here is an error.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from docs.generated_parts import filled

Template = Mapping[str, Any]

#: The effect of a lost event, by the name of its rule without the lab's.
LOST = {
    "sweep": "the next sweep does the same; after 15 minutes without a sweep an alarm pages",
    "plan": "plans for 36 hours stay valid; after 3 hours without a plan an alarm pages",
    "doctor": "the check of one month; `lamplighter doctor --deployed` checks at any time",
    "instances": "one sweep",
    "nodegroup-calls": "one sweep",
    "group-calls": "one sweep",
    "instance-calls": "one sweep",
    "closing-failed": "the guard finds the pool and pages",
    "failsafe-leaked": "a page; the next sweep finds the pool and pages too",
    "requests": "the request: its sender gets no answer, and may put it again",
    "tell": "the next run tells what this one would have told",
}
#: What is out of date until the item changes again, by the function that listens to the ledger.
BEHIND = {
    "pages": "a page in S3 is older than the ledger",
    "board": "a message in Slack is older than the ledger",
    "lifecycle": "an event of the lab waits for the next run, five minutes at most,",
}
MINUTE, HOUR = 60, 3600


def page(written: str, templates: Sequence[Template], lab: str) -> str:
    """The page with the tables of the templates. Raises KeyError with the name that has no line here."""
    tables = {
        "rules": [
            "| rule | event | target | retried for | effect of a lost event |",
            "|---|---|---|---|---|",
        ],
        "streams": [
            "| function | items | collects for | tries | effect of a lost event |",
            "|---|---|---|---|---|",
        ],
        "functions": ["| function | tries | longest age of an event |", "|---|---|---|"],
    }
    for template in templates:
        functions = _functions(template, lab)
        tables["rules"] += _rules(template, functions, lab)
        tables["streams"] += _streams(template, functions)
        tables["functions"] += _functions_alone(template, functions)

    return filled(written, tables)


def _rules(template: Template, functions: Mapping[str, str], lab: str) -> Iterator[str]:
    ages = {
        functions[config["FunctionName"]["Ref"]]: config["MaximumEventAgeInSeconds"]
        for config in _of_type(template, "AWS::Lambda::EventInvokeConfig")
    }
    for rule in _of_type(template, "AWS::Events::Rule"):
        name = rule["Name"].removeprefix(f"{lab}-")
        (target,) = rule["Targets"]
        arn = target["Arn"]
        wakes = _target(template, functions, arn, lab)
        tried = _lasting(target["RetryPolicy"]["MaximumEventAgeInSeconds"])
        tried += f", then {_lasting(ages[wakes])} in Lambda" if wakes in ages else ""
        yield f"| `<lab>-{name}` | {_when(rule)} | {wakes} | {tried} | {LOST[name]} |"


def _target(template: Template, functions: Mapping[str, str], arn: Mapping[str, Any], lab: str) -> str:
    if "Fn::GetAtt" not in arn:
        return "the topic `<lab>-pages`"
    name = arn["Fn::GetAtt"][0]
    if name in functions:
        return functions[name]
    queue = str(template["Resources"][name]["Properties"]["QueueName"]).removeprefix(f"{lab}-")
    return f"the queue `<lab>-{queue}`"


def _when(rule: Mapping[str, Any]) -> str:
    rate = re.fullmatch(r"rate\((?:1 )?(.*)\)", rule.get("ScheduleExpression", ""))
    return f"every {rate[1]}" if rate else str(rule["Description"])


def _streams(template: Template, functions: Mapping[str, str]) -> Iterator[str]:
    for mapping in _of_type(template, "AWS::Lambda::EventSourceMapping"):
        if "StartingPosition" not in mapping:
            continue  # a queue
        name = functions[mapping["FunctionName"]["Ref"]]
        age = _lasting(mapping["MaximumRecordAgeInSeconds"])
        yield (
            f"| {name} | {'<br>'.join(_keys(mapping))} | {mapping['MaximumBatchingWindowInSeconds']} s, at most "
            f"{mapping['BatchSize']} items | {mapping['MaximumRetryAttempts'] + 1} times, within {age} "
            f"| {BEHIND[name]} until that item changes again |"
        )


def _keys(mapping: Mapping[str, Any]) -> Iterator[str]:
    for each in mapping["FilterCriteria"]["Filters"]:
        pattern = json.loads(each["Pattern"])
        keys, new = pattern["dynamodb"]["Keys"], pattern["eventName"] == ["INSERT"]
        said = {name: [key["prefix"] for key in keys[name]["S"]] for name in ("pk", "sk") if name in keys}
        under = f": {', '.join(f'`{key}`' for key in said['sk'])}" if "sk" in said else ""
        yield f"{', '.join(f'`{key}…`' for key in said['pk'])}{under}{' (new ones)' if new else ''}"


def _functions_alone(template: Template, functions: Mapping[str, str]) -> Iterator[str]:
    rows = sorted(
        (functions[config["FunctionName"]["Ref"]], config)
        for config in _of_type(template, "AWS::Lambda::EventInvokeConfig")
    )
    for name, config in rows:
        tries = config["MaximumRetryAttempts"] + 1
        yield f"| {name} | {tries} | {_lasting(config['MaximumEventAgeInSeconds'])} |"


def _functions(template: Template, lab: str) -> dict[str, str]:
    """The short name of every function, by its name in the template."""
    return {
        name: str(found["Properties"]["FunctionName"]).removeprefix(f"{lab}-")
        for name, found in template["Resources"].items()
        if found["Type"] == "AWS::Lambda::Function" and "FunctionName" in found["Properties"]
    }


def _lasting(seconds: int) -> str:
    return f"{seconds // HOUR} h" if seconds % HOUR == 0 else f"{seconds // MINUTE} min"


def _of_type(template: Template, kind: str) -> list[Mapping[str, Any]]:
    return [found["Properties"] for found in template["Resources"].values() if found["Type"] == kind]
