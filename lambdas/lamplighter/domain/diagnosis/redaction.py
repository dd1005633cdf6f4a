"""Takes secrets and environment values out of a snapshot, so that it can be attached to a report.

What may hold one is taken out by where it stands (environment, arguments, annotations, ConfigMaps, user
data, tags), what is left is scrubbed by what it looks like, and account ids are masked. What the rules of
the diagnosis read stays as it is.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lamplighter.domain.diagnosis.scrubbing import SECRET_NAME, TAKEN_OUT, scrubbed

Json = dict[str, Any]
NO_ACCOUNT = "000000000000"

# Taken out whole, wherever they stand: people put anything there, and no rule reads it.
_WHOLE = frozenset(
    {"args", "command", "annotations", "managedFields", "UserData", "userData", "user_data", "httpHeaders"}
)
_OF_CONFIG_MAP = frozenset({"data", "binaryData", "stringData"})
# What a device plugin's sharing is called in its ConfigMap: settings of ours, with no secret in them.
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
# So random that it is nobody's name for anything.
_RANDOM = re.compile(r"(?=[^\s]*\d)(?=[^\s]*[a-z])(?=[^\s]*[A-Z])[A-Za-z0-9_+=~.-]{16,}")
_SHORTEST = 6
_KIND_SECRET = "Secret"  # noqa: S105 -- a kind of object


def redacted(document: Json) -> Json:
    """A copy of the snapshot without secrets, environment values, and account ids."""
    # The frame is ours: expectations, and why something was not read.
    parts = {key: _cleaned(value, key) for key, value in document.items()}
    known = _Known(document)
    return {key: _mapped(value, known.out_of) for key, value in parts.items()}


def _cleaned(found: object, key: str = "") -> Any:  # noqa: ANN401 -- JSON, as deep as it was
    if isinstance(found, Mapping):
        return _cleaned_mapping(found)
    if isinstance(found, list | tuple):
        if key in {"env", "environment"}:
            return [_without_value(each) for each in found]
        return [_cleaned(each) for each in found if not _is_secret_object(each)]
    return found


def _cleaned_mapping(found: Mapping[str, Any]) -> Json:
    if "Key" in found and "Value" in found:
        return {**found, "Value": _tag(str(found["Key"]), found["Value"])}
    if found.get("kind") == "ConfigMap" or _is_config_map(found):
        found = {**found, **{part: _settings(found[part]) for part in _OF_CONFIG_MAP if part in found}}
    return {name: _value(str(name), value) for name, value in found.items() if name not in _WHOLE}


def _value(name: str, value: object) -> Any:  # noqa: ANN401 -- JSON
    if name in {"stringData", "binaryData"} and isinstance(value, Mapping):
        return dict.fromkeys(value, TAKEN_OUT)
    if name == "tags" and isinstance(value, Mapping):
        return {key: _tag(str(key), each) for key, each in value.items()}
    if name in {"env", "environment"} and isinstance(value, Mapping):
        return dict.fromkeys(value, TAKEN_OUT)
    if isinstance(value, str) and _names_a_secret(name):
        return TAKEN_OUT
    return _cleaned(value, name)


def _names_a_secret(name: str) -> bool:
    """A taint, a toleration and an affinity have a `key` too, and a reference is no secret."""
    return name.lower() != "key" and not name.endswith(("Name", "Ref")) and bool(SECRET_NAME.search(name))


def _is_config_map(found: Mapping[str, Any]) -> bool:
    """kubectl leaves the kind out of the items of a typed list."""
    return "data" in found and "metadata" in found and isinstance(found["data"], Mapping)


def _settings(found: object) -> Any:  # noqa: ANN401 -- JSON
    """The data of a ConfigMap: a device plugin's own settings stay, all else is taken out."""
    if not isinstance(found, Mapping):
        return TAKEN_OUT
    return {
        key: value if isinstance(value, str) and _SHARING.search(value) and "sharing" in value else TAKEN_OUT
        for key, value in found.items()
    }


def _is_secret_object(found: object) -> bool:
    return isinstance(found, Mapping) and found.get("kind") == _KIND_SECRET


def _without_value(variable: object) -> Any:  # noqa: ANN401 -- JSON
    if not isinstance(variable, Mapping) or "value" not in variable:
        return _cleaned(variable)
    return {**_cleaned({key: each for key, each in variable.items() if key != "value"}), "value": TAKEN_OUT}


def _tag(key: str, value: object) -> object:
    return value if key.startswith(_HARMLESS_TAGS) or key == "Name" else TAKEN_OUT


class _Known:
    """The secrets and account ids that the snapshot itself gives away: taken out of every text as well."""

    def __init__(self, document: Json) -> None:
        secrets: set[str] = set()
        accounts: set[str] = set()
        for key, said in _texts(document):
            accounts.update(_ARN_ACCOUNT.findall(said), _REGISTRY_ACCOUNT.findall(said))
            if key in _ACCOUNT_KEYS and re.fullmatch(r"\d{12}", said):
                accounts.add(said)
        for name, value in _variables(document):
            if len(value) >= _SHORTEST and (SECRET_NAME.search(name) or _RANDOM.fullmatch(value)):
                secrets.add(value)
        for words in _arguments(document):
            secrets.update(_RANDOM.findall(words))
        self._secrets = _any_of(secrets)
        self._accounts = _any_of(accounts, r"(?<!\d)", r"(?!\d)")

    def out_of(self, said: str) -> str:
        """The text without them, and without what looks like a secret."""
        if self._secrets:
            said = self._secrets.sub(TAKEN_OUT, said)
        if self._accounts:
            said = self._accounts.sub(NO_ACCOUNT, said)
        return scrubbed(said)


def _any_of(texts: set[str], before: str = "", after: str = "") -> re.Pattern[str] | None:
    if not texts:
        return None
    # The longest first, so that none leaves the rest of another behind.
    either = "|".join(re.escape(each) for each in sorted(texts, key=len, reverse=True))
    return re.compile(f"{before}(?:{either}){after}")


def _mapped(found: object, change: Callable[[str], str]) -> Any:  # noqa: ANN401 -- JSON
    if isinstance(found, str):
        return change(found)
    if isinstance(found, Mapping):
        return {change(str(key)): _mapped(value, change) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [_mapped(each, change) for each in found]
    return found


def _texts(found: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text, with the key it stands under."""
    if isinstance(found, str):
        yield key, found
    elif isinstance(found, Mapping):
        for name, value in found.items():
            yield from _texts(value, str(name))
    elif isinstance(found, list | tuple):
        for each in found:
            yield from _texts(each, key)


def _variables(found: object) -> Iterator[tuple[str, str]]:
    """Every environment variable, by name and value, wherever a container stands."""
    if isinstance(found, Mapping):
        env = found.get("env")
        for each in env if isinstance(env, list) else ():
            if isinstance(each, Mapping):
                yield str(each.get("name") or ""), str(each.get("value") or "")
        for value in found.values():
            yield from _variables(value)
    elif isinstance(found, list | tuple):
        for each in found:
            yield from _variables(each)


def _arguments(found: object) -> Iterator[str]:
    """Every argument and command."""
    for key, said in _texts(found):
        if key in {"args", "command"}:
            yield said
