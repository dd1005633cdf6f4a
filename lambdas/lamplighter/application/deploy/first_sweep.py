"""Waits until CloudWatch has counted a sweep, before the alarm on missing sweeps is created.

A new alarm is judged at once, and what was missing before it existed is silence to it (CloudWatch API reference,
PutMetricAlarm): without this it would page at every first deploy.
"""

import logging
import os
from datetime import timedelta

from lamplighter import clock
from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.aws.metrics import Metrics
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.errors import LamplighterError

_logger = logging.getLogger(__name__)

COUNTED_LATELY = timedelta(minutes=10)
"""A count of this age keeps the alarm quiet until the next sweep is counted."""
PATIENCE = timedelta(minutes=6)
"""SNS sends its counts to CloudWatch every minute, and they take some minutes."""
LOOK_EVERY_SECONDS = 10.0


def await_sweep() -> None:
    """Returns when a sweep is counted, or after a time-out: without a sweep the alarm is right to page."""
    metrics, begun = Metrics(), clock.now()
    try:
        if _counted(metrics):
            return
        Functions().run(os.environ["GUARD_FUNCTION_ARN"], {"source": "deploy"})
        while clock.now() - begun < PATIENCE:
            if _counted(metrics):
                return
            clock.sleep(LOOK_EVERY_SECONDS)
    except LamplighterError as error:
        _logger.warning("no first sweep is waited for, and the alarm will say so: %s", error)
    else:
        _logger.warning("CloudWatch has counted no sweep in %s: the alarm will page until it has", PATIENCE)


def _counted(metrics: Metrics) -> bool:
    now = clock.now()
    return metrics.has_counted(ENVIRONMENT.swept_topic, now - COUNTED_LATELY, now)
