"""What the Slack function logs: never a body, a header, a secret or a response_url.

The logger is loaded with the first line, so that a cold answer without one does not wait for it.
"""

import json
import sys
import traceback

from lamplighter import clock
from lamplighter.errors import LamplighterError


def answered(word: str, by: str, request: str) -> None:
    """Logs an answered request that changes something, with the Slack id and the request's key."""
    from lamplighter.application.logs import logger  # noqa: PLC0415 -- with the first line

    logger().info("answered", extra={"word": word, "by": by, "request": request})


def answered_in(seconds: float, lab: str) -> None:
    """How long an answer took, as the metric SlackAnswer.

    Written by hand in CloudWatch's documented form (EMF): Powertools would cost a cold answer some 20 ms.
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
    """
    metric = {"Name": "SlackAnswer", "Unit": "Seconds"}
    directive = {"Namespace": "Lamplighter", "Dimensions": [["lab"]], "Metrics": [metric]}
    stamp = int(clock.now().timestamp() * 1000)
    document = {
        "_aws": {"Timestamp": stamp, "CloudWatchMetrics": [directive]},
        "lab": lab,
        "SlackAnswer": seconds,
    }
    sys.stdout.write(f"{json.dumps(document)}\n")


def failed(error: BaseException) -> None:
    """Logs our own errors with their text; of others only type and place, since their text may quote anything."""
    from lamplighter.application.logs import logger  # noqa: PLC0415 -- with the first line

    if isinstance(error, LamplighterError):
        logger().warning("a request from Slack: %s: %s", type(error).__name__, error)
        return
    places = [
        f"{frame.name} ({frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})" for frame in _frames(error)
    ]
    logger().error("a request from Slack: %s in %s", type(error).__name__, ", ".join(places))


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    return list(traceback.extract_tb(error.__traceback__))[-4:]
