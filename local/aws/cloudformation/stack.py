"""The record of a stack in CloudFormation: its resources, its outputs, and all its events."""

import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from local.aws.cloudformation.kinds import Physical, Properties
from local.aws.cloudformation.template import Resource, Template
from local.clock import ClockEvent, VirtualClock


@dataclass(frozen=True)
class Installed:
    """One existing resource, with the properties of its creation or last change."""

    resource: Resource
    properties: Properties
    physical: Physical
    needs: frozenset[str] = frozenset()  # logical ids of resources that must outlive it


@dataclass
class Stack:
    """State of one stack; its methods only record."""

    name: str
    id: str
    clock: VirtualClock
    template: Template
    parameters: Mapping[str, str]
    tags: Mapping[str, str]
    created: datetime
    capabilities: tuple[str, ...] = ()
    updated: datetime | None = None
    deleted: datetime | None = None
    status: str = "REVIEW_IN_PROGRESS"
    reason: str = ""
    installed: dict[str, Installed] = field(default_factory=dict)
    #: Logical id -> status, for resources that were or are being worked on.
    statuses: dict[str, tuple[str, str, datetime]] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    exports: dict[str, str] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    settled: ClockEvent = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.settled = self.clock.event()

    def becomes(self, status: str, reason: str = "") -> None:
        """Changes the status of the stack. A final status wakes the callers that wait for it."""
        with self._lock:
            self.status, self.reason = status, reason
        self._event(self.name, "AWS::CloudFormation::Stack", self.id, status, reason)
        if status.endswith("IN_PROGRESS"):
            self.settled.clear()
        else:
            self.settled.set()

    def resource(self, resource: Resource, status: str, reason: str = "", physical_id: str = "") -> None:
        """Changes the status of one resource."""
        with self._lock:
            self.statuses[resource.logical_id] = (status, reason, self.clock.now())
        self._event(resource.logical_id, resource.type, physical_id, status, reason)

    def physical_id(self, logical_id: str) -> str:
        installed = self.installed.get(logical_id)
        return installed.physical.id if installed else ""

    def failure(self) -> str:
        """The first resource that failed in the last operation, with its reason; empty without a failure."""
        for event in self.events[self._last_operation() :]:
            if event["ResourceStatus"].endswith("_FAILED") and event["LogicalResourceId"] != self.name:
                return (
                    f"{event['LogicalResourceId']} ({event['ResourceType']}): {event['ResourceStatusReason']}"
                )
        return self.reason

    def _last_operation(self) -> int:
        begun = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS")
        ours = [event["LogicalResourceId"] == self.name for event in self.events]
        return max(
            (at for at, own in enumerate(ours) if own and self.events[at]["ResourceStatus"] in begun),
            default=0,
        )

    def _event(self, logical_id: str, kind: str, physical_id: str, status: str, reason: str) -> None:
        event = {
            "StackId": self.id,
            "EventId": str(uuid.uuid4()),
            "StackName": self.name,
            "LogicalResourceId": logical_id,
            "PhysicalResourceId": physical_id or self.physical_id(logical_id),
            "ResourceType": kind,
            "Timestamp": self.clock.now(),
            "ResourceStatus": status,
            "ResourceStatusReason": reason,
        }
        with self._lock:
            self.events.append(event)
