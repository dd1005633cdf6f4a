"""The generated tables of the reference page of events: what the templates have, between marks in the written page.

What is lost with an event is said here; a rule or a listener without a line of its own is an error.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Template = Mapping[str, Any]

#: What is lost when an event of a rule is, by the name behind the lab's.
LOST = {
    "sweep": "the next sweep does the same; none for 15 minutes is an alarm",
    "plan": "what is planned for 36 hours goes on; none for 3 hours is an alarm",
    "doctor": "a month's look; `lamplighter doctor --deployed` looks at any time",
    "instances": "one sweep",
    "nodegroup-calls": "one sweep",
    "group-calls": "one sweep",
    "instance-calls": "one sweep",
    "closing-failed": "the guard finds the pool and pages",
}
#: What is behind until something moves again, by the function that listens to the ledger.
BEHIND = {
    "pages": "a page in S3 is older than the ledger",
    "board": "a message in Slack is older than the ledger",
}
MINUTE, HOUR = 60, 3600
_MARKED = re.compile(
    r"(?P<begin><!-- generated: (?P<name>[a-z]+) -->\n).*?(?P<end><!-- /generated -->)", re.DOTALL
)


def page(written: str, templates: Sequence[Template], lab: str) -> str:
    """The page with its tables as the templates have them; KeyError names what has no line here."""
    tables = {
        "rules": ["| rule | event | wakes | tried for | when it is lost |", "|---|---|---|---|---|"],
        "streams": [
            "| function | hears of | collects for | tried | when it is lost |",
            "|---|---|---|---|---|",
        ],
        "functions": ["| function | tries | an event may be old |", "|---|---|---|"],
    }
    for template in templates:
        functions = _functions(template, lab)
        tables["rules"] += _rules(template, functions, lab)
        tables["streams"] += _streams(template, functions)
        tables["functions"] += _functions_alone(template, functions)

    def filled(mark: re.Match[str]) -> str:
        rows = tables[mark["name"]]
        return mark["begin"] + "\n" + "\n".join(rows) + "\n\n" + mark["end"]

    return _MARKED.sub(filled, written)


def _rules(template: Template, functions: Mapping[str, str], lab: str) -> Iterator[str]:
    ages = {
        functions[config["FunctionName"]["Ref"]]: config["MaximumEventAgeInSeconds"]
        for config in _of_type(template, "AWS::Lambda::EventInvokeConfig")
    }
    for rule in _of_type(template, "AWS::Events::Rule"):
        name = rule["Name"].removeprefix(f"{lab}-")
        (target,) = rule["Targets"]
        arn = target["Arn"]
        wakes = functions[arn["Fn::GetAtt"][0]] if "Fn::GetAtt" in arn else "the topic `<lab>-pages`"
        tried = _lasting(target["RetryPolicy"]["MaximumEventAgeInSeconds"])
        tried += f", then {_lasting(ages[wakes])} in Lambda" if wakes in ages else ""
        yield f"| `<lab>-{name}` | {_when(rule)} | {wakes} | {tried} | {LOST[name]} |"


def _when(rule: Mapping[str, Any]) -> str:
    rate = re.fullmatch(r"rate\((?:1 )?(.*)\)", rule.get("ScheduleExpression", ""))
    return f"every {rate[1]}" if rate else str(rule["Description"])


def _streams(template: Template, functions: Mapping[str, str]) -> Iterator[str]:
    for mapping in _of_type(template, "AWS::Lambda::EventSourceMapping"):
        name = functions[mapping["FunctionName"]["Ref"]]
        age = _lasting(mapping["MaximumRecordAgeInSeconds"])
        yield (
            f"| {name} | {'<br>'.join(_keys(mapping))} | {mapping['MaximumBatchingWindowInSeconds']} s, at most "
            f"{mapping['BatchSize']} items | {mapping['MaximumRetryAttempts'] + 1} times, within {age} "
            f"| {BEHIND[name]} until that item moves again |"
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
