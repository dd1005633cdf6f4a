"""Writes the value of a secret for a person at the command line; functions only read their secret."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


@border
def put(arn: str, values: Mapping[str, str], secretsmanager: "SecretsManagerClient | None" = None) -> None:
    """Writes the values of an existing secret. Errors name the secret and never its values."""
    found: SecretsManagerClient = secretsmanager or client("secretsmanager")
    with outside("secretsmanager:PutSecretValue", arn):
        found.put_secret_value(SecretId=arn, SecretString=json.dumps(dict(values)))
