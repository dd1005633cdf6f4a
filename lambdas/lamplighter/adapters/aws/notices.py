"""Publishes notifications by SNS. A notification that cannot be sent fails no workflow: it is retried elsewhere."""

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.domain.notices.notification import Notification
from lamplighter.errors import LamplighterError

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

Sent = Literal["yes", "later", "no"]
"""Whether it was published; `later`: it is retried, and goes to the dead-letter queue if that fails too."""
_SUBJECT = 100
_logger = logging.getLogger(__name__)


@border
class Notices:
    """One topic; a subject is cut at 100 characters, as SNS wants.

    `again` takes what could not be sent, `{"topic", "letter"}`, and sees to it without anybody's waiting.
    """

    def __init__(
        self,
        topic: str,
        sns: "SNSClient | None" = None,
        *,
        again: Callable[[Mapping[str, object]], None] | None = None,
    ) -> None:
        self._topic = topic
        self._again = again
        # One attempt: a workflow waits for it, and a failed message is retried without the workflow.
        self._sns: SNSClient = sns or client("sns", attempts=1)

    def say(self, notification: Notification) -> Sent:
        """Publishes now or later; never fails."""
        try:
            self.send(notification)
        except LamplighterError as error:
            return self._later(notification, error)
        return "yes"

    def send(self, notification: Notification) -> None:
        """Publishes. Raises OutsideFailed or TryLater if the topic does not take it."""
        line = " ".join(notification.subject.split())
        # SNS takes printable ASCII subjects only.
        ascii_line = line.encode("ascii", "replace").decode("ascii")[:_SUBJECT]
        with outside("sns:Publish", self._topic):
            self._sns.publish(
                TopicArn=self._topic,
                Subject=ascii_line,
                Message=notification.text,
                MessageAttributes={
                    name: {"DataType": "String", "StringValue": value}
                    for name, value in (("kind", notification.kind), ("pool", notification.pool))
                    if value
                },
            )

    def _later(self, notification: Notification, why: LamplighterError) -> Sent:
        _logger.warning("a notice was not sent: %s", why)
        if self._again is None:
            return "no"
        try:
            self._again({"topic": self._topic, "letter": notification.to_json()})
        except LamplighterError:
            _logger.exception("the notice %r is lost: nobody takes it to try again", notification.subject)
            return "no"
        return "later"
