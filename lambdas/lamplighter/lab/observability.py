"""Traces and a dashboard, beside the logs and metrics that every lab has. Both cost money."""

from pydantic import Field

from lamplighter.lab.types import Part


class Observability(Part):
    """Traces and a dashboard; their prices are on the cost page."""

    tracing: bool = Field(
        False,
        description="AWS X-Ray traces every invocation of a function, sampled as X-Ray does by default.",
    )
    dashboard: bool = Field(
        False,
        description="A CloudWatch dashboard of the lab: its metrics, and errors and times of its functions.",
    )
