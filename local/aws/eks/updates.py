"""Updates of clusters, node groups and add-ons: their ids, their states and their descriptions."""

import threading
import uuid
from dataclasses import dataclass, field
from datetime import datetime

from local.aws.api.own_services import AwsError, Document
from local.clock import VirtualClock

#: Characters of a clientRequestToken.
SHORTEST_TOKEN, LONGEST_TOKEN = 33, 126


@dataclass(frozen=True)
class Owner:
    """The owner of an update: the cluster itself if the other two are empty."""

    cluster: str
    nodegroup: str = ""
    addon: str = ""


@dataclass
class Update:
    owner: Owner
    kind: str
    params: list[Document]
    created: datetime
    status: str = "InProgress"
    errors: list[Document] = field(default_factory=list)
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def document(self) -> Document:
        return {
            "id": self.id,
            "status": self.status,
            "type": self.kind,
            "params": self.params,
            "createdAt": self.created,
            "errors": self.errors,
        }


class Updates:
    """Public methods with the names of boto3's operations are operations of `eks`."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._updates: dict[str, Update] = {}
        self._tokens: dict[str, Update] = {}

    def start(self, owner: Owner, kind: str, params: dict[str, object]) -> Update:
        """Starts a new update."""
        listed = [{"type": name, "value": str(value)} for name, value in params.items()]
        update = Update(owner, kind, listed, self._clock.now())
        with self._lock:
            self._updates[update.id] = update
        return update

    def known_as(self, token: str) -> Update | None:
        """The update that an earlier request with this clientRequestToken started: a repeated request starts no other.

        EKS refuses a token of another length (ansible-collections/community.aws 844).
        """
        if not SHORTEST_TOKEN <= len(token) <= LONGEST_TOKEN:
            bounds = f"between {SHORTEST_TOKEN} and {LONGEST_TOKEN} characters"
            raise AwsError(
                "InvalidParameterException", f"The client request token parameter must be {bounds}."
            )
        with self._lock:
            return self._tokens.get(token)

    def asked_as(self, token: str, update: Update) -> None:
        with self._lock:
            self._tokens[token] = update

    def running(self, owner: Owner) -> bool:
        with self._lock:
            return any(u.owner == owner and u.status == "InProgress" for u in self._updates.values())

    def describe_update(self, request: Document) -> Document:
        update = self._updates.get(request["updateId"])
        if update is None or update.owner != _owner(request):
            raise AwsError("ResourceNotFoundException", f"No update found for ID: {request['updateId']}")
        return {"update": update.document()}

    def list_updates(self, request: Document) -> Document:
        owner = _owner(request)
        return {"updateIds": [update.id for update in list(self._updates.values()) if update.owner == owner]}


def _owner(request: Document) -> Owner:
    return Owner(request["name"], request.get("nodegroupName") or "", request.get("addonName") or "")
