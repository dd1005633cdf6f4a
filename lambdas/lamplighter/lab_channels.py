"""Where the lab talks to people: Slack and e-mail, and who may do what there."""

from typing import Annotated, Literal

from pydantic import Field

from lamplighter.lab_names import EMAIL, MEMBER, SECRET_ARN, SLACK_CHANNEL, SLACK_COMMAND
from lamplighter.lab_types import Duration, Part, unit

Action = Literal["open", "extend", "close", "skip"]
Member = Annotated[str, Field(pattern=MEMBER)]


class Role(Part):
    """What a group of people may do from Slack; everybody may see."""

    members: list[Member] = Field(
        description="Slack users (U…, W…) and user groups (S…).",
        examples=[["U0123456789", "S0123456789"]],
        json_schema_extra=unit("Slack ids"),
    )
    may: list[Action] = Field(description="What they may do.", examples=[["open", "extend", "close"]])
    pools: list[str] | None = Field(None, description="On which pools; left out: on all.", examples=[["gpu"]])
    max_nodes: int | None = Field(
        None,
        ge=1,
        le=100,
        description="How many nodes at once; left out: as many as the pool has.",
        examples=[2],
        json_schema_extra=unit("nodes"),
    )
    longest: Duration | None = Field(
        None,
        description="For how long; left out: guard.longest_lease.",
        examples=["3h"],
        json_schema_extra=unit("duration such as 8h, 90m, 1h30m"),
    )


class Slack(Part):
    """The Slack app of the lab."""

    command: str = Field("gpu", pattern=SLACK_COMMAND, description="The slash command, without its slash.")
    channel: str | None = Field(
        None,
        pattern=SLACK_CHANNEL,
        description="Where openings, closings and findings are announced.",
        examples=["C0123456789"],
        json_schema_extra=unit("Slack channel id"),
    )
    secret_arn: str | None = Field(
        None,
        pattern=SECRET_ARN,
        description="The secret with signing_secret and bot_token; left out: the Slack stack makes one.",
        examples=["arn:aws:secretsmanager:ap-northeast-2:123456789012:secret:gpu-lab-slack-AbCdEf"],
        json_schema_extra=unit("ARN in Secrets Manager"),
    )
    roles: dict[str, Role] = Field(
        default_factory=dict,
        description="Who may do what; left out: everybody sees, nobody opens."
        " An owner may extend and close their own.",
    )


class Notify(Part):
    """Where the guard's pages go."""

    email: str | None = Field(
        None,
        pattern=EMAIL,
        max_length=254,
        description="An address that SNS writes to when something needs a person.",
        examples=["oncall@example.com"],
    )
