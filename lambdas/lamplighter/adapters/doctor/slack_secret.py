"""Reads whether the Slack app's secret is filled in. Its value does not leave this file."""

import json
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.domain.doctor.facts import SlackSecret

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

PARTS = ("signing_secret", "bot_token")


@border
class SlackSecrets:
    """The secrets of the account and region."""

    def __init__(self, secrets: "SecretsManagerClient | None" = None) -> None:
        self._secrets: SecretsManagerClient = secrets or client("secretsmanager")

    def read(self, name: str) -> SlackSecret:
        """Which parts of the secret, by name or ARN, are not filled in."""
        with outside("secretsmanager:GetSecretValue", name):
            try:
                found = self._secrets.get_secret_value(SecretId=name)
            except self._secrets.exceptions.ClientError as error:
                # The same code stands for a secret without a value.
                if error_code(error) != "ResourceNotFoundException":
                    raise
                return SlackSecret(name, PARTS)
        return SlackSecret(found.get("Name", name), _missing(found.get("SecretString", "")))


def _missing(value: str) -> tuple[str, ...]:
    try:
        kept = json.loads(value)
    except ValueError:
        return PARTS
    if not isinstance(kept, dict):
        return PARTS
    return tuple(part for part in PARTS if not str(kept.get(part) or "").strip())
