"""The channels of a lab: Slack, e-mail and https, their language, and who may do what in Slack."""

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
    """What a group of people may do from Slack; everybody may look."""

    members: list[Member] = Field(
        description="Slack users (U…, W…) and user groups (S…).",
        examples=[["U0123456789", "S0123456789"]],
        json_schema_extra=unit("Slack ids"),
    )
    may: list[Action] = Field(description="What they may do.", examples=[["open", "extend", "close"]])
    pools: list[str] | None = Field(
        None, description="The pools on which they may; left out: all.", examples=[["gpu"]]
    )
    max_nodes: int | None = Field(
        None,
        ge=1,
        le=100,
        description="The most nodes at once; left out: as many as the pool has.",
        examples=[2],
        json_schema_extra=unit("nodes"),
    )
    longest: Duration | None = Field(
        None,
        description="The longest lease they may have; left out: guard.longest_lease.",
        examples=["3h"],
        json_schema_extra=unit("duration such as 8h, 90m, 1h30m"),
    )


class Slack(Part):
    """The Slack app of the lab."""

    command: str = Field("gpu", pattern=SLACK_COMMAND, description="The slash command, without its slash.")
    channel: str | None = Field(
        None,
        pattern=SLACK_CHANNEL,
        description="The channel in which the lab announces leases, findings and changes of the calendar.",
        examples=["C0123456789"],
        json_schema_extra=unit("Slack channel id"),
    )
    team: str | None = Field(
        None,
        pattern=SLACK_TEAM,
        description="The only workspace whose commands are accepted; left out: any with the app's signing secret.",
        examples=["T0123456789"],
        json_schema_extra=unit("Slack team id"),
    )
    secret_arn: str | None = Field(
        None,
        pattern=SECRET_ARN,
        description="The secret with signing_secret and bot_token; left out: the deploy makes one.",
        examples=["arn:aws:secretsmanager:ap-northeast-2:123456789012:secret:gpu-lab-slack-AbCdEf"],
        json_schema_extra=unit("ARN in Secrets Manager"),
    )
    roles: dict[str, Role] = Field(
        default_factory=dict,
        description="Who may do what; left out: everybody may look, nobody may open."
        " An owner may extend and close their own leases.",
    )


class Route(Part):
    """Sends some kinds of notices to one address."""

    to: Address = Field(
        description="An e-mail address, or an https:// address that accepts messages of SNS.",
        examples=["instructors@example.com"],
    )
    kinds: list[Kind] = Field(
        default_factory=lambda: list(ROUTED),
        min_length=1,
        max_length=len(NOTICES),
        description="The kinds of notices; left out: the kinds that the page on notices marks.",
        examples=[["open", "degraded", "warned"]],
    )
    pools: list[str] | None = Field(
        None,
        min_length=1,
        description="The pools they are about; left out: all. Notices about the whole lab are always sent.",
        examples=[["gpu"]],
    )


class Notify(Part):
    """Where the lab sends notices beside Slack, and in which language."""

    language: Language = Field(
        DEFAULT,
        description="The language of notices, Slack and pages. The command line speaks English.",
        json_schema_extra=unit("language code"),
    )

    email: str | None = Field(
        None,
        pattern=EMAIL,
        max_length=254,
        description="The address that SNS sends pages to: something needs a person.",
        examples=["oncall@example.com"],
    )
    pages: list[Address] = Field(
        default_factory=list,
        max_length=MOST_ROUTES,
        description="More addresses for pages: e-mail, or https:// of an on-call service.",
        examples=[["https://events.example.com/sns/gpu-lab"]],
    )
    notices: list[Route] = Field(
        default_factory=list,
        max_length=MOST_ROUTES,
        description="Who gets which notices, beside Slack.",
    )
