"""A CloudWatch dashboard of one lab: the metrics that its functions write, and metrics of the functions themselves."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from lamplighter.domain.leases.progress import Stage

NAMESPACE = "Lamplighter"
SWEEPS = Duration.minutes(15)


class Dashboard(Construct):
    """Two rows: the lab, then its functions."""

    def __init__(
        self, scope: Construct, construct_id: str, *, lab: str, swept: sns.ITopic, functions: Sequence[str]
    ) -> None:
        super().__init__(scope, construct_id)

        def of_lab(name: str, statistic: str, **more: str) -> cloudwatch.Metric:
            return cloudwatch.Metric(
                namespace=NAMESPACE,
                metric_name=name,
                statistic=statistic,
                dimensions_map={"lab": lab, **more},
            )

        def of_functions(name: str, statistic: str) -> list[cloudwatch.IMetric]:
            return [
                cloudwatch.Metric(
                    namespace="AWS/Lambda",
                    metric_name=name,
                    statistic=statistic,
                    dimensions_map={"FunctionName": function},
                )
                for function in functions
            ]

        stages = [of_lab("TimeToReady", "p90", stage=stage) for stage in (*Stage, "all")]
        shown: Sequence[tuple[str, Sequence[cloudwatch.IMetric]]] = (
            ("Time to ready by stage, p90 (s)", stages),
            ("Breaches", [of_lab("Breaches", "Sum")]),
            (
                "Sweeps that ended well",
                [swept.metric_number_of_messages_published(period=SWEEPS, statistic="Sum")],
            ),
            ("Node-seconds without a lease", [of_lab("NodeSecondsWithoutLease", "Sum")]),
            ("Answers to Slack, p99 (s)", [of_lab("SlackAnswer", "p99")]),
            ("Errors of the functions", of_functions("Errors", "Sum")),
            ("Time of the functions, p99 (ms)", of_functions("Duration", "p99")),
        )
        self.dashboard = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=lab)
        self.dashboard.add_widgets(
            *(cloudwatch.GraphWidget(title=title, left=list(metrics), width=8) for title, metrics in shown)
        )
