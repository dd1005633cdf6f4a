"""SNS: what the lab says aloud. A notice that cannot be sent is logged, and never fails a workflow."""

import logging
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.errors import OutsideFailed, TryLater

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

_SUBJECT = 100
_logger = logging.getLogger(__name__)


class Notices:
    """One topic; a notice has a subject (cut at 100 characters, as SNS wants) and a text."""

    def __init__(self, topic: str, sns: "SNSClient | None" = None) -> None:
        self._topic = topic
        self._sns: SNSClient = sns or client("sns")

    def say(self, subject: str, text: str) -> bool:
        """Publish; False when nobody could be told."""
        line = " ".join(subject.split())
        # SNS takes printable ASCII subjects only.
        ascii_line = line.encode("ascii", "replace").decode("ascii")[:_SUBJECT]
        try:
            with outside("sns:Publish", self._topic):
                self._sns.publish(TopicArn=self._topic, Subject=ascii_line, Message=text)
        except (OutsideFailed, TryLater) as error:
            _logger.warning("a notice was not sent: %s", error)
            return False
        return True
