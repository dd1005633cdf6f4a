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
    """How long an answer took from the queue's taking the request, as the metric SlackAnswer."""
    _metric("SlackAnswer", "Seconds", seconds, lab)


def dropped(count: int, lab: str) -> None:
    """How many requests of a batch were not Slack's, as the metric SlackDropped. Nothing of them is logged."""
    _metric("SlackDropped", "Count", count, lab)


def _metric(name: str, unit: str, value: float, lab: str) -> None:
    """Written by hand in CloudWatch's documented form (EMF): Powertools would cost a cold answer some 20 ms.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
    """
    directive = {
        "Namespace": "Lamplighter",
        "Dimensions": [["lab"]],
        "Metrics": [{"Name": name, "Unit": unit}],
    }
    stamp = int(clock.now().timestamp() * 1000)
    document = {"_aws": {"Timestamp": stamp, "CloudWatchMetrics": [directive]}, "lab": lab, name: value}
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
