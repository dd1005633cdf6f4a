"""Keeps what AWS answers to the steps of `lamplighter verify`, for the tests of the embedded cloud.

Account numbers, ids, addresses, the names of the lab, of roles and keys, and the values of people's tags are replaced.
What belongs to others is left out: lists of all stacks, the ledger, logs and secrets.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.verification.account import Account
from cli.verification.steps import throwaway
from lamplighter.errors import BadInput
from lamplighter.values.lab_tag import LAB_TAG

ACCOUNT = "111122223333"
_IDS = re.compile(
    rf"\b(?!{ACCOUNT})[0-9]{{12}}\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # a UUID
    r"|\b[a-z]{1,8}-[0-9a-f]{8,17}\b"  # i-…, vpc-…
    r"|\b[0-9A-F]{32}\b"  # in the addresses of a cluster
    r"|\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b"
    r"|\b[0-9]{1,3}(?:[.-][0-9]{1,3}){3}\b"
    r"|\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b"
    r"|(?<=:)(?:[a-z]+-)*(?:role|user|profile)/[\w+=,.@/-]+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
)
_KEYS = {"KeyName", "ec2SshKey"}
_TAGS_OF_AWS = ("aws:autoscaling:", "aws:cloudformation:", "eks:", "k8s.io/", "kubernetes.io/")
_PRIVATE = {"logs", "secretsmanager", "sts"}
_PARAMETERS = "lamplighter_parameters"


class Recording:
    """What AWS answers, a file for each step. Without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: Path | None = None
        self._names: dict[str, str] = {}
        self._replaced: dict[str, str] = {}
        self._last = ""

    def forget(self, account: Account) -> None:
        """Names that are replaced from now on."""
        self._names[account.id] = ACCOUNT
        if account.deployment is not None:
            lab = account.deployment.lab
            self._names |= {lab.cluster_name: "lab-cluster", lab.name: "lab"}

    def step(self, name: str) -> None:
        """From now on the calls are those of this step."""
        if self._folder is not None:
            self._file = self._folder / f"{name}.jsonl"
            self._file.unlink(missing_ok=True)

    def note(self, service: str, operation: str, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """One call and its answer; not again while it stays the same."""
        if self._file is None or _of_others(service, operation, asked):
            return
        kept = {key: value for key, value in answer.items() if key != "ResponseMetadata"}
        line = {"service": service, "operation": operation, "request": asked, "answer": kept}
        # Through JSON, so that instants and bytes are texts as well.
        text = json.dumps(self._anonymous(json.loads(json.dumps(line, default=str))), ensure_ascii=False)
        if text == self._last:
            return
        self._last = text
        with self._file.open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def _anonymous(self, value: Any) -> Any:  # noqa: ANN401 -- a JSON document
        if isinstance(value, dict):
            if value.keys() >= {"Key", "Value"}:
                value = {**value, "Value": self._tag(value["Key"], value["Value"])}
            return {self._replace(key): self._of_key(key, inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._anonymous(inner) for inner in value]
        return self._replace(value) if isinstance(value, str) else value

    def _of_key(self, key: str, value: Any) -> Any:  # noqa: ANN401 -- a JSON document
        if key.lower() == "tags" and isinstance(value, dict):
            value = {tag: self._tag(tag, text) for tag, text in value.items()}
        return self._instead(value) if key in _KEYS and value else self._anonymous(value)

    def _tag(self, key: str, value: str) -> str:
        """Whoever wrote a tag may have written a name."""
        return value if key.startswith((*_TAGS_OF_AWS, LAB_TAG)) else self._instead(value)

    def _replace(self, text: str) -> str:
        for name, instead in sorted(self._names.items(), key=lambda pair: -len(pair[0])):
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", instead, text)
        return _IDS.sub(lambda match: self._instead(match[0]), text)

    def _instead(self, found: str) -> str:
        kind = found.partition("-")[0] if re.fullmatch(r"[a-z]{1,8}-[0-9a-f]+", found) else "id"
        return self._replaced.setdefault(found, f"{kind}-{len(self._replaced) + 1:08d}")


def _of_others(service: str, operation: str, asked: Mapping[str, Any]) -> bool:
    if service == "dynamodb":
        return asked.get("TableName") != throwaway.TABLE
    return service in _PRIVATE or (operation == "DescribeStacks" and "StackName" not in asked)


@contextmanager
def recorded(folder: Path | None) -> Iterator[Recording]:
    """A recording of every call that begins in it. BadInput where the folder cannot be made."""
    recording = Recording(folder)
    if folder is None:
        yield recording
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--record: '{folder}' cannot be made: {error.strerror}") from error
    import boto3  # noqa: PLC0415 -- help needs none of it

    session_before = boto3.DEFAULT_SESSION
    boto3.setup_default_session()
    events = boto3.DEFAULT_SESSION.events  # type: ignore[union-attr]

    def asks(params: Mapping[str, Any], context: dict[str, Any], **_: object) -> None:
        context[_PARAMETERS] = params

    def answers(model: Any, parsed: Mapping[str, Any], context: Mapping[str, Any], **_: object) -> None:  # noqa: ANN401 -- botocore's model
        recording.note(model.service_model.service_name, model.name, context.get(_PARAMETERS, {}), parsed)

    # After every other handler of the parameters: botocore's own may have filled some in.
    events.register_last("provide-client-params", asks)
    events.register_last("after-call", answers)
    try:
        yield recording
    finally:
        boto3.DEFAULT_SESSION = session_before
