"""CloudWatch metrics of the lab: a JSON line in the log, which CloudWatch turns into a metric (EMF).

AWS bills each combination of a metric and its dimensions while it is written. So the lab is the only dimension,
beside the stage if there is one. The line has pool and lease too, for Logs Insights, at no cost. Successful sweeps
have no metric here: SNS counts them at no cost (adapters/aws/heartbeat.py), and a metric that is written all the time
would cost an idle lab more than the guard itself.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from aws_lambda_powertools.metrics import MetricUnit, single_metric

from lamplighter.domain.leases.progress import Progress, Stage

NAMESPACE = "Lamplighter"


class Metric(StrEnum):
    """Every metric, by its name in CloudWatch."""

    TIME_TO_READY = "TimeToReady"
    BREACHES = "Breaches"
    NODE_SECONDS_WITHOUT_LEASE = "NodeSecondsWithoutLease"
    SLACK_ANSWER = "SlackAnswer"
    """Written by application/slack/log.py."""
    SLACK_ANSWER_LOST = "SlackAnswerLost"


NOTHING: Mapping[str, str] = {}


def count(metric: Metric, value: float, lab: str, **about: str) -> None:
    """Counts `value`; `about` is for readers of the log."""
    _write(metric, MetricUnit.Count, value, {"lab": lab}, about)


def seconds(metric: Metric, value: float, lab: str, *, stage: str | None = None, **about: str) -> None:
    """Records a length in seconds."""
    _write(metric, MetricUnit.Seconds, value, {"lab": lab, **({"stage": stage} if stage else {})}, about)


def ready(progress: Progress, opened: datetime, lab: str, **about: str) -> None:
    """Records how long a lease took until its GPUs were proven: each stage, and all stages together."""
    last = opened
    for stage in Stage:
        noted = progress.get(stage)
        if noted is None:
            continue
        seconds(Metric.TIME_TO_READY, max(0.0, (noted.at - last).total_seconds()), lab, stage=stage, **about)
        last = max(last, noted.at)
    seconds(Metric.TIME_TO_READY, (last - opened).total_seconds(), lab, stage="all", **about)


def _write(
    metric: Metric, unit: MetricUnit, value: float, dimensions: Mapping[str, str], about: Mapping[str, str]
) -> None:
    with single_metric(name=metric, unit=unit, value=value, namespace=NAMESPACE) as written:
        for name, text in dimensions.items():
            written.add_dimension(name, text)
        for name, text in about.items():
            written.add_metadata(name, text)
