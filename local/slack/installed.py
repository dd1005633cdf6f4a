"""The lab's app as if somebody had installed it: test secrets in its secret, and where Slack would post to.

The secrets are made anew for each embedded cloud and open nothing else.
"""

import json
import secrets
from dataclasses import dataclass, field

from botocore.exceptions import ClientError

from local.aws.api.service_context import ServiceContext

#: Where a lab without a channel of its own speaks, on this machine alone.
CHANNEL = "C0LAMPLIGHT"


@dataclass(frozen=True)
class Installed:
    """What Slack gives whoever installs an app."""

    signing_secret: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    bot_token: str = field(default_factory=lambda: f"xoxb-local-{secrets.token_hex(12)}", repr=False)

    def fill_in(self, around: ServiceContext, stack: str) -> None:
        """Put both where the functions of a Slack stack look, unless somebody did; nothing for another stack."""
        arn = _outputs(around, stack).get("SlackSecretArn")
        if arn is None:
            return
        try:
            text = around.call("secretsmanager", "get_secret_value", {"SecretId": arn})["SecretString"]
        except ClientError:
            # One of the lab's owner, whom nobody plays here: it is named by what precedes the six characters.
            name = arn.rpartition(":")[2][:-7]
            around.call("secretsmanager", "create_secret", {"Name": name, "SecretString": self._text()})
            return
        if not json.loads(text).get("signing_secret"):
            around.call("secretsmanager", "put_secret_value", {"SecretId": arn, "SecretString": self._text()})

    def url(self, around: ServiceContext, stack: str) -> str | None:
        """The full address that Slack posts to; None where there is no such stack."""
        return _outputs(around, stack).get("SlackUrl")

    def _text(self) -> str:
        return json.dumps({"signing_secret": self.signing_secret, "bot_token": self.bot_token})


def _outputs(around: ServiceContext, stack: str) -> dict[str, str]:
    try:
        reply = around.call("cloudformation", "describe_stacks", {"StackName": stack})
    except ClientError:
        return {}
    return {each["OutputKey"]: each["OutputValue"] for each in reply["Stacks"][0].get("Outputs", [])}
