"""The lab's Slack app, as if somebody had installed it: test secrets in its secret, and the address for Slack.

The secrets are made for each embedded cloud and give access to nothing else.
"""

import json
import re
import secrets
from dataclasses import dataclass, field

from botocore.exceptions import ClientError

from local.aws.api.service_context import ServiceContext
from local.aws.cloudformation.types.rest_api import PAGE

#: The channel for a lab without one of its own, on this machine only.
CHANNEL = "C0LAMPLIGHT"
#: The address of a REST API, which a template puts together itself.
_AT_AWS = re.compile(r"^https://([a-z0-9]+)\.execute-api\.[^/]+/")


@dataclass(frozen=True)
class Installed:
    """What Slack gives to the person who installs an app."""

    signing_secret: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    bot_token: str = field(default_factory=lambda: f"xoxb-local-{secrets.token_hex(12)}", repr=False)

    def fill_in(self, around: ServiceContext, stack: str) -> None:
        """Writes both where a controller's functions for Slack read them, unless they exist; else nothing."""
        arn = _outputs(around, stack).get("SlackSecretArn")
        if arn is None:
            return
        try:
            text = around.call("secretsmanager", "get_secret_value", {"SecretId": arn})["SecretString"]
        except ClientError:
            # The owner of the lab would make this secret. Its ARN ends with a hyphen and six characters after the name.
            name = arn.rpartition(":")[2][:-7]
            around.call("secretsmanager", "create_secret", {"Name": name, "SecretString": self._text()})
            return
        if not json.loads(text).get("signing_secret"):
            around.call("secretsmanager", "put_secret_value", {"SecretId": arn, "SecretString": self._text()})

    def url(self, around: ServiceContext, stack: str) -> str | None:
        """The full address to which Slack posts, as it is on this machine; None without Slack."""
        url = _outputs(around, stack).get("SlackUrl")
        return url and _AT_AWS.sub(rf"{around.endpoint}{PAGE}/\1/", url)

    def _text(self) -> str:
        return json.dumps({"signing_secret": self.signing_secret, "bot_token": self.bot_token})


def _outputs(around: ServiceContext, stack: str) -> dict[str, str]:
    try:
        reply = around.call("cloudformation", "describe_stacks", {"StackName": stack})
    except ClientError:
        return {}
    return {each["OutputKey"]: each["OutputValue"] for each in reply["Stacks"][0].get("Outputs", [])}
