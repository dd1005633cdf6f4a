"""The Slack app's two secrets, from Secrets Manager: read once a worker, and again when one fits no more.

So they are rotated without a deploy. They are never logged, and no error text holds them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.adapters.aws.calls import client, outside
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

AGAIN_AFTER = timedelta(minutes=1)
"""Whoever sends wrong signatures makes us ask no more often than that."""
PATIENCE_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Secrets:
    """What the app was given by Slack; empty where nobody has put it in yet."""

    signing_secret: str = field(default="", repr=False)
    bot_token: str = field(default="", repr=False)


class SlackSecret:
    """The secret of that ARN, as this worker read it last."""

    def __init__(
        self,
        arn: str,
        secretsmanager: "SecretsManagerClient | None" = None,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._arn, self._now = arn, now
        self._client = secretsmanager
        self._known: Secrets | None = None
        self._asked: datetime | None = None

    def get(self) -> Secrets:
        """The secrets, read from Secrets Manager the first time; OutsideFailed or TryLater where it cannot be."""
        return self._known if self._known is not None else self._read()

    def renewed(self) -> Secrets | None:
        """Read again, since what is known fits no more; None where that was done within the last minute."""
        if self._asked is not None and abs(self._now() - self._asked) < AGAIN_AFTER:
            return None
        return self._read()

    def _read(self) -> Secrets:
        self._asked = self._now()
        if self._client is None:
            self._client = client("secretsmanager", read_seconds=PATIENCE_SECONDS)
        with outside("secretsmanager:GetSecretValue", "the Slack app's secret"):
            text = self._client.get_secret_value(SecretId=self._arn).get("SecretString", "")
        self._known = _secrets(text)
        return self._known


@cache
def shared(arn: str) -> SlackSecret:
    """The secret of that ARN as this worker has it, whoever of its parts asks: it is fetched once for all."""
    return SlackSecret(arn)


def _secrets(text: str) -> Secrets:
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        # What it holds instead may be half a secret: it is not named, and no cause is chained.
        raise OutsideFailed(reason("slack.bad-secret")) from None
    return Secrets(str(said.get("signing_secret") or ""), str(said.get("bot_token") or ""))
