"""The embedded AWS as a whole: one endpoint in virtual time with functions that run.

It composes the seams and starts and stops them in order; what each does is written in its own module.
"""

from pathlib import Path

from moto.moto_api._internal.models import moto_api_backend

from local.aws import iam, virtual_time
from local.aws.assets import Assets
from local.aws.behaviours import Behaviours
from local.aws.cloudformation.custom_resources import CustomResources
from local.aws.cloudformation.service import CloudFormation
from local.aws.destinations import Destinations
from local.aws.lambda_async import AsyncInvoker
from local.aws.lambda_runtime import Runtime
from local.aws.lambda_service import LambdaService
from local.aws.server import Server
from local.aws.surroundings import Surroundings
from local.clock import VirtualClock

#: The administrator's credentials; every key that belongs to no role is theirs.
ACCESS_KEY_ID = "AKIALAMPLIGHTERLOCAL"
SECRET_ACCESS_KEY = "local-only"  # noqa: S105 (nothing checks it: the endpoint is on this machine alone)


class EmbeddedAws:
    """One a process, since moto's backends are global: a new one forgets what the last one knew."""

    def __init__(self, clock: VirtualClock, work: Path, region: str) -> None:
        self.clock = clock
        self.region = region
        moto_api_backend.reset()
        virtual_time.use(clock)
        iam.enforce()
        self.server = Server(clock)
        self.around = Surroundings(clock, region, self.server.endpoint, ACCESS_KEY_ID, SECRET_ACCESS_KEY)
        self.assets = Assets()
        self.runtime = Runtime(self.server, clock, work, {"PYTHONPYCACHEPREFIX": str(work / "pycache")})
        later = AsyncInvoker(clock, self.runtime, Destinations(self.around).deliver)
        self.functions = LambdaService(self.runtime, later, self.assets, work)
        self.functions.install()
        custom = CustomResources(self.server, self.functions)
        self.stacks = CloudFormation(self.around, custom, self.assets)
        self.server.own("cloudformation", self.stacks)
        self.behaviours = Behaviours(self.server, self.around)

    @property
    def endpoint(self) -> str:
        return self.server.endpoint

    def start(self) -> None:
        """Answer from now on."""
        self.server.start()

    def stop(self) -> None:
        """End every worker and close the port."""
        self.behaviours.close()
        self.runtime.close()
        self.server.stop()
