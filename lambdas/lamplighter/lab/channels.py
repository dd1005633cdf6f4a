"""Where the lab talks to people, Slack, e-mail and https, in which language; and who may do what in Slack."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from lamplighter.data.texts import DEFAULT, languages
from lamplighter.lab.names import ADDRESS, EMAIL, MEMBER, SECRET_ARN, SLACK_CHANNEL, SLACK_COMMAND, SLACK_TEAM
from lamplighter.lab.notice_kinds import NOTICES, ROUTED
from lamplighter.lab.types import Duration, Part, unit

LONGEST_ADDRESS = 1024
MOST_ROUTES = 20
Action = Literal["open", "extend", "close", "skip", "pause"]
Member = Annotated[str, Field(pattern=MEMBER)]
Address = Annotated[str, Field(pattern=ADDRESS, max_length=LONGEST_ADDRESS)]
Kind = Annotated[str, Field(json_schema_extra={"enum": list(NOTICES)})]
if TYPE_CHECKING:
    Language = str
else:
    # As many as there are files: a language is added without a line of code.
    Language = Literal[languages()]


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
        description="Where leases, findings and changes of the calendar are announced.",
        examples=["C0123456789"],
        json_schema_extra=unit("Slack channel id"),
    )
    team: str | None = Field(
        None,
        pattern=SLACK_TEAM,
        description="The only workspace that is listened to; left out: whichever has the app's signing secret.",
        examples=["T0123456789"],
        json_schema_extra=unit("Slack team id"),
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


class Route(Part):
    """Some of the notices, to one address."""

    to: Address = Field(
        description="An e-mail address, or an https:// address that takes what SNS posts.",
        examples=["instructors@example.com"],
    )
    kinds: list[Kind] = Field(
        default_factory=lambda: list(ROUTED),
        min_length=1,
        max_length=len(NOTICES),
        description="Which kinds; left out: those that the page on notices marks.",
        examples=[["open", "degraded", "warned"]],
    )
    pools: list[str] | None = Field(
        None,
        min_length=1,
        description="About which pools; left out: about all. What is about the whole lab comes in any case.",
        examples=[["gpu"]],
    )


class Notify(Part):
    """Where the lab speaks beside Slack, and in which language."""

    language: Language = Field(
        DEFAULT,
        description="The language of notices, Slack and pages.",
        json_schema_extra=unit("language code"),
    )

    email: str | None = Field(
        None,
        pattern=EMAIL,
        max_length=254,
        description="An address that SNS writes to when something needs a person.",
        examples=["oncall@example.com"],
    )
    pages: list[Address] = Field(
        default_factory=list,
        max_length=MOST_ROUTES,
        description="More addresses for the same: e-mail, or https:// of an on-call service.",
        examples=[["https://events.example.com/sns/gpu-lab"]],
    )
    notices: list[Route] = Field(
        default_factory=list,
        max_length=MOST_ROUTES,
        description="Who is told what happens, beside Slack.",
    )
