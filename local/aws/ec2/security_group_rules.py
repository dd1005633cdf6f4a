"""Compares security-group rules as EC2 does: by what they allow, never by their description.

If the source of a rule is a group, moto treats two descriptions as two rules, and does not show the description.
`install` corrects both.
"""

from moto.ec2.models.security_groups import SecurityGroupRule

DESCRIPTION = "Description"
#: moto keeps the account in two places; the caller may give it or not.
_NOT_THE_RULE = {DESCRIPTION, "OwnerId", "UserId"}


def install() -> None:
    """Installs it for every backend of this process. It may be called again."""
    SecurityGroupRule.__eq__ = _same  # type: ignore[method-assign]
    SecurityGroupRule.description = property(_description)  # type: ignore[method-assign,assignment]


def _same(rule: SecurityGroupRule, other: object) -> bool:
    return isinstance(other, SecurityGroupRule) and _lets_in(rule) == _lets_in(other)


def _lets_in(rule: SecurityGroupRule) -> tuple[object, ...]:
    ports = None if rule.ip_protocol == "-1" else (rule.from_port, rule.to_port)
    return (rule.ip_protocol, ports, _source(rule.ip_range), _source(rule.source_group), rule.prefix_list_id)


def _source(said: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in said.items() if key not in _NOT_THE_RULE}


def _description(rule: SecurityGroupRule) -> str | None:
    return rule.ip_range.get(DESCRIPTION) or rule.source_group.get(DESCRIPTION)
