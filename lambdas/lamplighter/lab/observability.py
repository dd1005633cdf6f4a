"""Traces, a dashboard and more alarms, beside the logs and metrics that every lab has. They cost money."""

from pydantic import Field

from lamplighter.lab.types import Part


class Observability(Part):
    """Traces, a dashboard and more alarms; their prices are on the cost page."""

    tracing: bool = Field(
        False,
        description="AWS X-Ray traces every invocation of a function, sampled as X-Ray does by default.",
    )
    dashboard: bool = Field(
        False,
        description="A CloudWatch dashboard of the lab: its metrics, and errors and times of its functions.",
    )
    queue_alarms: bool = Field(
        False,
        description="An alarm for each queue of requests, Slack's and the bus's: it pages when a request has waited for"
        " five minutes, because its function is throttled, fails, or takes nothing.",
    )
