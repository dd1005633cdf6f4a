"""Removes secrets and environment values from a snapshot, so that it can be attached to a report.

It removes values from places that may hold a secret (environment, arguments, annotations, ConfigMaps, user data,
tags). It scrubs the other texts by pattern, and masks account ids. Everything that the rules read stays.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lamplighter.domain.diagnosis.scrubbing import SECRET_NAME, TAKEN_OUT, scrubbed

Json = dict[str, Any]
NO_ACCOUNT = "000000000000"

# These keys are removed everywhere: they may hold anything, and rules read only the annotations below.
_WHOLE = frozenset(
    {"args", "command", "annotations", "managedFields", "UserData", "userData", "user_data", "httpHeaders"}
)
# The end of a grace, and pods that Karpenter may not evict. A rule reads these annotations and no others.
_READ_ANNOTATIONS = "karpenter.sh/"
# The end of the launch bar, in a ConfigMap of ours.
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_OF_CONFIG_MAP = frozenset({"data", "binaryData", "stringData"})
# The sharing settings of a device plugin in its ConfigMap. They hold no secret.
_SHARING = re.compile(r"^\s*version: v1\b", re.MULTILINE)
_HARMLESS_TAGS = (
    "aws:",
    "eks:",
    "kubernetes.io/",
    "k8s.io/",
    "karpenter.sh/",
    "karpenter.k8s.aws/",
    "alpha.eksctl.io/",
)
_ARN_ACCOUNT = re.compile(r"\barn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:(\d{12}):")
_REGISTRY_ACCOUNT = re.compile(r"\b(\d{12})\.dkr\.ecr\.")
_ACCOUNT_KEYS = frozenset({"OwnerId", "UserId", "RequesterId", "AccountId"})
# A text that is too random to be a name.
_RANDOM = re.compile(r"(?=[^\s]*\d)(?=[^\s]*[a-z])(?=[^\s]*[A-Z])[A-Za-z0-9_+=~.-]{16,}")
_SHORTEST = 6
_KIND_SECRET = "Secret"  # noqa: S105 -- a kind of object


def redacted(document: Json) -> Json:
    """A copy of the snapshot without secrets, environment values, and account ids."""
    # `not_read` has reasons of ours, whose values may have any name. Their texts are scrubbed below.
    parts = {key: value if key == "not_read" else _cleaned(value, key) for key, value in document.items()}
    known = _Known(document)
    return {key: _mapped(value, known.out_of) for key, value in parts.items()}


def _cleaned(value: object, key: str = "") -> Any:  # noqa: ANN401 -- JSON, as deep as it was
    if isinstance(value, Mapping):
        return _cleaned_mapping(value)
    if isinstance(value, list | tuple):
        if key in {"env", "environment"}:
            return [_without_value(variable) for variable in value]
        return [_cleaned(item) for item in value if not _is_secret_object(item)]
    return value


def _cleaned_mapping(document: Mapping[str, Any]) -> Json:
    if "Key" in document and "Value" in document:
        return {**document, "Value": _tag(str(document["Key"]), document["Value"])}
    if document.get("kind") == "ConfigMap" or _is_config_map(document):
        settings = {part: _settings(document[part]) for part in _OF_CONFIG_MAP if part in document}
        document = {**document, **settings}
    if isinstance(document.get("values"), list) and _names_a_secret(str(document.get("key") or "")):
        # A term of a selector: the label of that name is removed as well.
        document = {**document, "values": [TAKEN_OUT for _ in document["values"]]}
    kept = {name: _value(str(name), value) for name, value in document.items() if name not in _WHOLE}
    annotations = document.get("annotations")
    if isinstance(annotations, Mapping):
        read = {key: value for key, value in annotations.items() if _is_read(key)}
        kept |= {"annotations": read} if read else {}
    return kept


def _is_read(annotation: object) -> bool:
    return isinstance(annotation, str) and annotation.startswith(_READ_ANNOTATIONS)


def _value(name: str, value: object) -> Any:  # noqa: ANN401 -- JSON
    if name in {"stringData", "binaryData"} and isinstance(value, Mapping):
        return dict.fromkeys(value, TAKEN_OUT)
    if name == "tags" and isinstance(value, Mapping):
        return {key: _tag(str(key), tag) for key, tag in value.items()}
    if name in {"env", "environment"} and isinstance(value, Mapping):
        return dict.fromkeys(value, TAKEN_OUT)
    if isinstance(value, str) and _names_a_secret(name):
        return TAKEN_OUT
    return _cleaned(value, name)


def _names_a_secret(name: str) -> bool:
    """Whether the key names a secret. Taints and tolerations have a plain `key`, and a reference is no secret."""
    return name.lower() != "key" and not name.endswith(("Name", "Ref")) and bool(SECRET_NAME.search(name))


def _is_config_map(document: Mapping[str, Any]) -> bool:
    """Whether it looks like a ConfigMap: kubectl omits the kind of the items of a typed list."""
    return "data" in document and "metadata" in document and isinstance(document["data"], Mapping)


def _settings(data: object) -> Any:  # noqa: ANN401 -- JSON
    """The data of a ConfigMap: settings of a device plugin and the end of a bar stay, everything else is removed."""
    if not isinstance(data, Mapping):
        return TAKEN_OUT
    return {key: value if _is_setting(value) else TAKEN_OUT for key, value in data.items()}


def _is_setting(value: object) -> bool:
    if not isinstance(value, str):
        return False
    shares = _SHARING.search(value) is not None and "sharing" in value
    return shares or _INSTANT.fullmatch(value) is not None


def _is_secret_object(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("kind") == _KIND_SECRET


def _without_value(variable: object) -> Any:  # noqa: ANN401 -- JSON
    if not isinstance(variable, Mapping) or "value" not in variable:
        return _cleaned(variable)
    named = {key: part for key, part in variable.items() if key != "value"}
    return {**_cleaned(named), "value": TAKEN_OUT}


def _tag(key: str, value: object) -> object:
    return value if key.startswith(_HARMLESS_TAGS) or key == "Name" else TAKEN_OUT


class _Known:
    """The secrets and account ids that the snapshot itself names. They are removed from every text."""

    def __init__(self, document: Json) -> None:
        secrets: set[str] = set()
        accounts: set[str] = set()
        for key, text in _texts(document):
            accounts.update(_ARN_ACCOUNT.findall(text), _REGISTRY_ACCOUNT.findall(text))
            if key in _ACCOUNT_KEYS and re.fullmatch(r"\d{12}", text):
                accounts.add(text)
        for name, value in _variables(document):
            if len(value) >= _SHORTEST and (SECRET_NAME.search(name) or _RANDOM.fullmatch(value)):
                secrets.add(value)
        for words in _arguments(document):
            secrets.update(_RANDOM.findall(words))
        self._secrets = _any_of(secrets)
        self._accounts = _any_of(accounts, r"(?<!\d)", r"(?!\d)")

    def out_of(self, text: str) -> str:
        """The text without them, and without anything that looks like a secret."""
        if self._secrets:
            text = self._secrets.sub(TAKEN_OUT, text)
        if self._accounts:
            text = self._accounts.sub(NO_ACCOUNT, text)
        return scrubbed(text)


def _any_of(texts: set[str], before: str = "", after: str = "") -> re.Pattern[str] | None:
    if not texts:
        return None
    # The longest come first, so that a shorter one leaves no rest of a longer one.
    either = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return re.compile(f"{before}(?:{either}){after}")


def _mapped(value: object, change: Callable[[str], str]) -> Any:  # noqa: ANN401 -- JSON
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(key)): _mapped(part, change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(part, change) for part in value]
    return value


def _texts(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text, with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(part, str(name))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part, key)


def _variables(value: object) -> Iterator[tuple[str, str]]:
    """Every environment variable of every container, by name and value."""
    if isinstance(value, Mapping):
        env = value.get("env")
        for variable in env if isinstance(env, list) else ():
            if isinstance(variable, Mapping):
                yield str(variable.get("name") or ""), str(variable.get("value") or "")
        for part in value.values():
            yield from _variables(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _variables(part)


def _arguments(document: object) -> Iterator[str]:
    """Every argument and command."""
    for key, text in _texts(document):
        if key in {"args", "command"}:
            yield text
