"""IAM's inline policies of roles, as far as the failsafe's lock needs them. A change acts later than it is made."""

import json
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from tests.world.aws.event_queue import EventQueue
from tests.world.outside import refused

Json = dict[str, Any]
#: Seconds until a change acts, at least and at most. IAM promises nothing; our code allows it two minutes.
ACTS_AFTER = (1.0, 100.0)
LAUNCH = "ec2:CreateFleet"


class Roles:
    """Which role has which inline policy, and since when it acts."""

    def __init__(self, event_queue: EventQueue, chance: random.Random) -> None:
        self._queue, self._chance = event_queue, chance
        self.policies: dict[tuple[str, str], str] = {}
        """By role and name: the document."""
        self._acting: dict[tuple[str, str], list[tuple[datetime, str | None]]] = {}
        """By role and name: each change, with the instant from which it acts."""

    def put_role_policy(self, *, RoleName: str, PolicyName: str, PolicyDocument: str) -> Json:
        self.policies[RoleName, PolicyName] = PolicyDocument
        self._changed(RoleName, PolicyName, PolicyDocument)
        return {}

    def delete_role_policy(self, *, RoleName: str, PolicyName: str) -> Json:
        if self.policies.pop((RoleName, PolicyName), None) is None:
            said = f"The role policy with name {PolicyName} cannot be found."
            raise refused("NoSuchEntity", said, "DeleteRolePolicy", 404)
        self._changed(RoleName, PolicyName, None)
        return {}

    def list_role_policies(self, *, RoleName: str) -> Json:
        return {"PolicyNames": [name for role, name in self.policies if role == RoleName]}

    def list_attached_role_policies(self, *, RoleName: str) -> Json:
        return {"AttachedPolicies": [{"PolicyName": f"{RoleName}-of-the-stack"}]}

    def get_role(self, *, RoleName: str) -> Json:
        return {"Role": {"RoleName": RoleName}}

    def denies(self, role: str | None, tags: Mapping[str, str]) -> bool:
        """Whether a policy of the role denies, now, a launch that asks for these tags."""
        acting = [
            [document for at, document in changes if at <= self._queue.now][-1:]
            for (of, _), changes in self._acting.items()
            if of == role
        ]
        return any(
            document is not None and _denies(json.loads(document), tags)
            for [document] in filter(None, acting)
        )

    def _changed(self, role: str, policy: str, document: str | None) -> None:
        changes = self._acting.setdefault((role, policy), [])
        at = self._queue.now + timedelta(seconds=self._chance.uniform(*ACTS_AFTER))
        # A later change never acts before an earlier one.
        changes.append((max([at, *(each for each, _ in changes[-1:])]), document))


def _denies(document: Json, tags: Mapping[str, str]) -> bool:
    return any(
        one["Effect"] == "Deny"
        and LAUNCH in one["Action"]
        and all(
            tags.get(key.removeprefix("aws:RequestTag/")) == value
            for key, value in one["Condition"]["StringEquals"].items()
        )
        for one in document["Statement"]
    )
