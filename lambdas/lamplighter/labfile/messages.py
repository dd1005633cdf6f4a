"""The errors of the model as problems for people: what is wrong, what would be right."""

from collections.abc import Callable, Mapping, Sequence
from typing import get_origin

from pydantic_core import ErrorDetails

from lamplighter.data.other_words import advice_for
from lamplighter.lab import names as lab_names
from lamplighter.lab.keys import Path, field_at, fields, hint, kind_at, nearest_key, part_at
from lamplighter.lab.types import shown

RIGHT = {
    lab_names.LAB_NAME: "begin with a letter a to z, then at most 39 of a to z, 0 to 9 and -",
    lab_names.POOL_NAME: "write 1 to 40 letters, digits, - or _, beginning with a letter or digit",
    lab_names.WINDOW_NAME: "write 1 to 40 letters, digits, -, _ or ., beginning with a letter or digit",
    lab_names.CALENDAR_FILE: "write a file beside the lab such as course.ics",
    lab_names.COURSE_CALENDAR: "write a file beside the lab such as course.ics, or an https:// address",
    lab_names.NODEGROUP_NAME: "write the node group's name: 1 to 63 letters, digits, - or _",
    lab_names.EXISTING_POOL: "write the name of the node group or NodePool: 1 to 63 letters, digits, -, _ or .",
    lab_names.AUTO_SCALING_GROUP: "write the group's name as lamplighter adopt prints it",
    lab_names.CLUSTER_NAME: "write the cluster's name: 1 to 100 letters, digits, - or _",
    lab_names.INSTANCE_TYPE: "write an EC2 instance type such as g5.xlarge",
    lab_names.ADD_ON: "write the name of an EKS add-on such as coredns",
    lab_names.AMI_TYPE: "write an EKS image type such as AL2023_x86_64_NVIDIA",
    lab_names.PACKAGE: "write the name of a package such as htop",
    lab_names.POOL_IMAGE: "write the id of an image such as ami-0123456789abcdef0, or an alias with its version such as"
    " al2023@v20260724",
    lab_names.IMAGE_ID: "write the id of an image such as ami-0123456789abcdef0",
    lab_names.RESERVATION: "write the id of a capacity reservation such as cr-0123456789abcdef0",
    lab_names.KUBERNETES_VERSION: 'write a version such as "1.35"',
    lab_names.MIG_PROFILE: "write a MIG profile such as 1g.10gb, balanced or disabled",
    lab_names.CHART_VERSION: "write a version such as v26.3.1",
    lab_names.PLAIN_VERSION: "write a version such as 0.18.2",
    lab_names.ROLE_NAME: "write a role's name such as KarpenterControllerRole, with its path if it has one such as"
    " team/KarpenterControllerRole",
    lab_names.CHART_REPOSITORY: "write an address that begins with https://",
    lab_names.NAMESPACE: "write a Kubernetes name such as gpu-operator",
    lab_names.DAYS: "write days such as 7d, at most 30d",
    lab_names.CURRENCY: "write three capital letters such as USD",
    lab_names.ADMIN_ARN: "write a role's ARN such as arn:aws:iam::123456789012:role/platform",
    lab_names.BOUNDARY_ARN: "write the ARN of a managed policy such as"
    " arn:aws:iam::123456789012:policy/organisation-boundary",
    lab_names.MEMBER: "write a Slack id such as U0123456789 or S0123456789",
    lab_names.SLACK_COMMAND: "write a word such as gpu, without the slash",
    lab_names.SLACK_CHANNEL: "write a channel's id such as C0123456789",
    lab_names.SLACK_TEAM: "write a workspace's id such as T0123456789",
    lab_names.SECRET_ARN: "write the ARN of a secret in Secrets Manager",
    lab_names.ENTRY_NAME: "write 1 to 40 of a to z, 0 to 9, - and _, beginning with a letter or digit",
    lab_names.EVENT_SOURCE: "write a source such as ci.training",
    lab_names.EMAIL: "write an address such as oncall@example.com",
    lab_names.ADDRESS: "write an e-mail address, or one that begins with https://",
}
_WEBCAL = "write https:// in place of webcal://: most calendars answer there too"


LISTED = 12
"""The words of a long choice that people see, beside the last one."""


def listed(words: Sequence[str]) -> list[str]:
    """The words of a choice as people see them: the first ones and the last of a long choice."""
    return [*words[:LISTED], "…", words[-1]] if len(words) > 2 * LISTED else list(words)


def sentence(error: ErrorDetails, path: Path) -> str:
    """One error of the model as a problem for people."""
    value, kind = error["input"], error["type"]
    if kind in _SAID:
        return _SAID[kind](path)
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if kind == "string_pattern_mismatch":
        webcal = str(value).lower().startswith("webcal:")
        return f"is {shown(value)}, {_WEBCAL if webcal else RIGHT[error['ctx']['pattern']]}"
    if kind == "string_too_long":
        return f"is {shown(value)}, write at most {error['ctx']['max_length']} characters"
    if kind in _WANTED:
        return f"is {shown(value)}, {_WANTED[kind](path, value)}"
    return f"is {shown(value)}, {error['msg'][:1].lower()}{error['msg'][1:]}"


def _unknown(path: Path) -> str:
    if path[-1] == "<<":
        return "is a merge key, which YAML 1.2 does not have; write its keys out"
    similar = nearest_key(path)
    if similar:
        return f"is no known key, the nearest known one is {similar}"
    advice = advice_for(str(path[-1])) or "`lamplighter check --schema` prints the known ones"
    return f"is no known key; {advice}"


def _example(path: Path) -> str:
    field = field_at(path)
    if field is not None and field.examples:
        example = field.examples[0]
        said = shown(example) if isinstance(example, str) and ":" in example else str(example)
        return (
            f"write {path[-1]}: {said}".replace("'", "") if not isinstance(example, list) else "write a list"
        )
    return "write it"


def _choice(path: Path, value: object) -> str:
    kind = kind_at(path)
    words = [str(word) for word in getattr(kind, "__args__", ())]
    return f"write one of {', '.join(listed(words))}" + (hint(value, words) if isinstance(value, str) else "")


def _number(path: Path, value: object) -> str:
    field = field_at(path)
    bounds: dict[str, int] = {}
    for rule in field.metadata if field else ():
        for name in ("ge", "le"):
            if hasattr(rule, name):
                bounds[name] = getattr(rule, name)
    reach = f" from {bounds['ge']}" if "ge" in bounds else ""
    reach += f" to {bounds['le']}" if "le" in bounds else ""
    quotes = " without quotes" if isinstance(value, str) and value.isdecimal() else ""
    return f"write a whole number{reach}{quotes}"


def _text(_path: Path, value: object) -> str:
    quotable = isinstance(value, bool | int) or type(value).__name__ == "Number"
    return f'write text, in quotes: "{shown(value)}"' if quotable else "write text"


def _mapping(path: Path, _value: object) -> str:
    part = part_at(path)
    if part is None:
        return "write a mapping of keys to values"
    keys = list(fields(part))
    return f"write a mapping with keys such as {', '.join(keys[:3])}"


def _list(path: Path, _value: object) -> str:
    of = "dates" if "date" in str(kind_at((*path, 0))) else "words"
    mappings = part_at((*path, 0)) is not None or get_origin(kind_at((*path, 0))) is dict
    return f"write a list of {'mappings' if mappings else of}"


_SAID: Mapping[str, Callable[[Path], str]] = {
    "missing": lambda path: f"is missing, {_example(path)}",
    "extra_forbidden": _unknown,
    "too_short": lambda _path: "is empty, write at least one",
    "string_too_short": lambda _path: "is empty, write something or leave it out",
}

_WANTED: Mapping[str, Callable[[Path, object], str]] = {
    "literal_error": _choice,
    "invalid-json-value": lambda _path, _value: (
        "write a finite number, text, true, false, a list or a mapping"
    ),
    "int_type": _number,
    "int_parsing": _number,
    "int_from_float": _number,
    "greater_than_equal": _number,
    "less_than_equal": _number,
    "bool_type": lambda _path, _value: "write true or false",
    "string_type": _text,
    "model_type": _mapping,
    "model_attributes_type": _mapping,
    "dict_type": _mapping,
    "list_type": _list,
}
