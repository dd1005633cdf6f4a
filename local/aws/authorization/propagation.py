"""When a changed policy of a role acts: some seconds after the change, as IAM is eventually consistent.

IAM answers reads of a policy at once; only decisions lag. A change through a role's session lags. A change by
CloudFormation or a person acts at once here, because nothing of ours decides within the same seconds.
Other services know a new role at once too, unless a test says otherwise.
Source: IAM user guide, "Changes that I make are not always immediately visible".
"""

import threading
from collections.abc import Mapping
from datetime import UTC

from moto.iam.models import Role
from moto.iam.responses import IamResponse

from local.aws.api import virtual_time

#: How long it takes, usually [est].
USUAL_SECONDS = 2.0
#: Keys of sessions begin so.
_SESSION = "ASIA"

Documents = Mapping[str, str]


class Propagation:
    """`seconds` is how long a change takes from now on; a fault may make it long. Any thread may use it."""

    def __init__(self) -> None:
        self.seconds = USUAL_SECONDS
        #: For so long, services do not know a new role (terraform-provider-aws, internal/service/scheduler/retry.go).
        self.new_role_seconds = 0.0
        self._lock = threading.Lock()
        #: By role id: the moments from which policies act, and the policies. The first entry acts before them all.
        self._changes: dict[str, list[tuple[float, dict[str, str]]]] = {}

    def forget(self) -> None:
        """Starts anew, for a new cloud."""
        with self._lock:
            self.seconds, self.new_role_seconds = USUAL_SECONDS, 0.0
            self._changes.clear()

    def knows(self, role: Role) -> bool:
        """Whether the services know the role by now."""
        if not self.new_role_seconds:
            # moto's date of a role may be some milliseconds ahead of the clock.
            return True
        created = role.create_date.replace(tzinfo=UTC).timestamp()
        return virtual_time.clock().time() >= created + self.new_role_seconds

    def note(self, role: Role, before: Documents) -> None:
        """A session has changed the inline policies of a role."""
        acts = virtual_time.clock().time() + self.seconds
        with self._lock:
            changes = self._changes.setdefault(role.id, [(float("-inf"), dict(before))])
            changes.append((acts, dict(role.policies)))

    def acting(self, role: Role) -> Documents:
        """The inline policies by which IAM decides now, by name."""
        with self._lock:
            changes = self._changes.get(role.id)
            if changes is None:
                return dict(role.policies)
            now = virtual_time.clock().time()
            last = max(number for number, (acts, _) in enumerate(changes) if acts <= now)
            del changes[:last]
            if len(changes) == 1:
                del self._changes[role.id]
                return dict(role.policies)
            return dict(changes[0][1])


#: moto's roles are global in the process, and so is this.
PROPAGATION = Propagation()

_put, _delete = IamResponse.put_role_policy, IamResponse.delete_role_policy


def install() -> None:
    """Notes the changes that sessions make. It may be called again."""

    def put_role_policy(response: IamResponse) -> object:
        return _noted(response, _put)

    def delete_role_policy(response: IamResponse) -> object:
        return _noted(response, _delete)

    IamResponse.put_role_policy = put_role_policy  # type: ignore[method-assign,assignment]
    IamResponse.delete_role_policy = delete_role_policy  # type: ignore[method-assign,assignment]


def _noted(response: IamResponse, change: object) -> object:
    name = response._get_param("RoleName")  # noqa: SLF001 (moto's own parameters)
    role = next((each for each in response.backend.roles.values() if each.name == name), None)
    before = {} if role is None else dict(role.policies)
    answer = change(response)  # type: ignore[operator]
    if role is not None and str(response.access_key or "").startswith(_SESSION):
        PROPAGATION.note(role, before)
    return answer
