"""A JupyterHub beside a lab: the file of the how-to, with the rights of the how-to and the clock of the lab."""

import json
from typing import Any
from unittest.mock import patch

import boto3

from tests.builders import jupyterhub
from tests.scenarios.events.bus import Sender
from tests.scenarios.events.ci_runner import filled
from tests.scenarios.lab_day import LabDay

#: How long a server may live, as in the values of the how-to.
SERVER_SECONDS = 11400


def hub_process(day: LabDay, role: Sender) -> jupyterhub.Hub:
    """A new process of the hub. It knows of its servers what its database says."""
    module = jupyterhub.gpu_pool()

    async def pause(seconds: float) -> None:
        day.clock.sleep(seconds)

    def client(service: Any) -> Any:
        return role.session.client(service, endpoint_url=day.cloud.endpoints().endpoint)

    with patch.object(boto3, "client", client):
        bus = module.Bus(day.lab.name, "jupyterhub.gpu", "gpu", day.clock.time, pause)
    return jupyterhub.Hub(module, module.GpuLease(bus, SERVER_SECONDS))


def hub_role(day: LabDay) -> Sender:
    """The role of the hub, with the policy of the how-to alone."""
    policy = filled((jupyterhub.FILES / "permissions.json").read_text("utf-8"), day)
    return Sender(day, "jupyterhub", json.loads(policy))
