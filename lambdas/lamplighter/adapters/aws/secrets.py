"""Secrets: written for a person at the command line, and the login of a calendar's address, read as a header.

Owns the forms of such a login. It is read with every calendar, so people can change it without a deploy. No message
quotes a value.
"""

import base64
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{1,4096}=*")
"""RFC 6750, section 2.1. It has no colon, and a user's name has none either (RFC 7617, section 2)."""
_LOGIN = re.compile(r"[^:\x00-\x1f\x7f]{1,1024}:[^\x00-\x1f\x7f]{0,1024}")


@border
def put(arn: str, values: Mapping[str, str], secretsmanager: "SecretsManagerClient | None" = None) -> None:
    """Writes the values of an existing secret. Errors name the secret and never its values."""
    found: SecretsManagerClient = secretsmanager or client("secretsmanager")
    with outside("secretsmanager:PutSecretValue", arn):
        found.put_secret_value(SecretId=arn, SecretString=json.dumps(dict(values)))


@border
def authorization(secret: str, secretsmanager: "SecretsManagerClient | None" = None) -> str:
    """The header that signs in by the secret of this ARN. Raises OutsideFailed where it cannot be read or used."""
    try:
        secrets: SecretsManagerClient = secretsmanager or client(
            "secretsmanager", region=secret.split(":")[3]
        )
        with outside("secretsmanager:GetSecretValue", secret):
            text = secrets.get_secret_value(SecretId=secret).get("SecretString", "")
    except (BadInput, OutsideFailed) as error:
        raise OutsideFailed(reason("calendar.secret.unread", why=error.said)) from None
    header = _header(text.strip())
    if header is None:
        raise OutsideFailed(reason("calendar.secret.form"))
    return header


def _header(text: str) -> str | None:
    """The header for the text of a secret; None for a text of another form."""
    if text.startswith("{"):
        text = _joined(text)
    if _TOKEN.fullmatch(text):
        return f"Bearer {text}"
    if _LOGIN.fullmatch(text):
        return f"Basic {base64.b64encode(text.encode()).decode()}"
    return None


def _joined(text: str) -> str:
    """Keys and values, as the console of Secrets Manager writes them, in the plain form; empty for others."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    parts = [values.get(key) for key in (["token"] if "token" in values else ["username", "password"])]
    return ":".join(parts) if all(isinstance(part, str) for part in parts) else ""
