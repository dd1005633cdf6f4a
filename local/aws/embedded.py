"""The embedded AWS as a whole: one endpoint in virtual time, with functions that run.

It composes the parts, and starts and stops them in order. Each part has its own module.
"""

from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from local.aws import iam
from local.aws.api import virtual_time
from local.aws.api.dynamodb_queries import read_partitions
from local.aws.api.http_api import HttpApi
from local.aws.api.moto_cache import work_out_once
from local.aws.api.moto_reset import forget_everything
from local.aws.api.rest_api import RestApi
from local.aws.api.server import Server
from local.aws.api.service_context import ServiceContext
from local.aws.authorization.record import RECORD
from local.aws.cloudformation.custom_resources import CustomResources
from local.aws.cloudformation.service import CloudFormation
from local.aws.cloudformation.stack import Stack
from local.aws.events.destinations import Destinations
from local.aws.events.event_sources import EventSources
from local.aws.events.queue_sources import QueueSources
from local.aws.events.streams import Streams
from local.aws.functions.assets import Assets
from local.aws.functions.asynchronous import AsyncInvoker
from local.aws.functions.durations import Durations
from local.aws.functions.runtime import Runtime
from local.aws.functions.service import LambdaService
from local.aws.functions.uploaded_assets import upload
from local.aws.functions.worker import FunctionSpec
from local.aws.logs.log_groups import LogGroups
from local.aws.moto_additions import MotoAdditions
from local.aws.refusals import Refusals
from local.clock import VirtualClock
from local.stack_template import StackTemplate

#: The administrator's credentials. Every key that belongs to no role is the administrator's.
ACCESS_KEY_ID = "AKIALAMPLIGHTERLOCAL"
SECRET_ACCESS_KEY = "local-only"  # noqa: S105 (the endpoint is on this machine alone)


class EmbeddedAws:
    """One in a process, because moto's backends are global: a new one forgets everything of the last one."""

    def __init__(
        self,
        clock: VirtualClock,
        work: Path,
        region: str,
        *,
        seed: int = 0,
        durations: Durations | None = None,
    ) -> None:
        self.clock = clock
        self.region = region
        forget_everything(seed)
        work_out_once()
        read_partitions()
        virtual_time.use(clock)
        iam.person("instructor", ACCESS_KEY_ID, SECRET_ACCESS_KEY)
        self.server = Server(clock)
        self.around = ServiceContext(clock, region, self.server.endpoint, ACCESS_KEY_ID, SECRET_ACCESS_KEY)
        self.assets = Assets(work / "uploaded")
        self.runtime = Runtime(self.server, clock, work, durations)
        self.server.application.strand_of = self.runtime.fiber
        self.runtime.may_log = self._may_log
        log_groups = LogGroups(lambda: self.server.locked("logs"))
        log_groups.install()
        self.runtime.keep_lines = log_groups.write
        self.refusals = Refusals(self.runtime.invocation)
        iam.enforce(self.around.state, self.refusals.refusal)
        destinations = Destinations(self.around)
        later = AsyncInvoker(clock, self.runtime, destinations.deliver)
        self.functions = LambdaService(self.runtime, later, self.assets, work)
        self.functions.takes = lambda role: iam.may_assume(role, iam.LAMBDA, self.around.state)
        self.functions.install()
        sources = EventSources(clock, self.functions, destinations.deliver)
        Streams(clock, sources.happened).install()
        queue_sources = QueueSources(self.around, clock, self.functions)
        queue_sources.install()
        self.queue_deliveries = queue_sources.faults
        custom = CustomResources(self.server, self.functions)
        self.stacks = CloudFormation(self.around, custom, self.assets)
        self.server.own("cloudformation", self.stacks)
        HttpApi(self.server, self.around, self.functions)
        RestApi(self.server, self.around)
        self.moto_additions = MotoAdditions(self.server, self.around, seed=seed)
        self.runtime.count = self.moto_additions.function_metrics.count

    def _may_log(self, function: FunctionSpec) -> bool:
        """Whether Lambda may write the function's log in the name of its role."""
        stream = self.around.arn("logs", f"log-group:/aws/lambda/{function.name}:log-stream:s")
        actions = ("logs:CreateLogStream", "logs:PutLogEvents")
        return all(iam.role_may(function.role, action, stream, self.around.state) for action in actions)

    @property
    def endpoint(self) -> str:
        return self.server.endpoint

    def start(self) -> None:
        """Starts to answer."""
        self.server.start()

    def deploy(self, stack: StackTemplate, *, import_existing: bool = False, roll_back: bool = True) -> Stack:
        """Creates or updates a stack, and waits until that has ended, successfully or not. An unchanged stack is no
        error. A stack whose creation failed is deleted before, as `cdk deploy` does.

        `import_existing`: imports resources that an earlier stack retained, as `cdk deploy --import-existing-resources`
        does. Without `roll_back` a failed update stays as far as it came, as with `cdk deploy --no-rollback`.
        """
        RECORD.stacks.add(stack.name)
        upload(self.around, stack.text, self.assets)
        request = {
            "StackName": stack.name,
            "TemplateBody": stack.text,
            "Capabilities": ["CAPABILITY_NAMED_IAM"],
            "Tags": [{"Key": key, "Value": value} for key, value in stack.tags.items()],
        }
        if self._status(stack.name) in {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED"}:
            self.around.call("cloudformation", "delete_stack", {"StackName": stack.name})
            self.stacks.await_settled(stack.name)
        try:
            if import_existing and self._status(stack.name) is None:
                self._create_with_what_exists(request)
            else:
                self.around.call("cloudformation", "create_stack", request)
        except ClientError as error:
            if error.response["Error"]["Code"] != "AlreadyExistsException":
                raise
            try:
                self.around.call(
                    "cloudformation", "update_stack", {**request, "DisableRollback": not roll_back}
                )
            except ClientError as refusal:
                if "No updates are to be performed" not in str(refusal):
                    raise
        return self.stacks.await_settled(stack.name)

    def _status(self, name: str) -> str | None:
        stacks = self.around.call("cloudformation", "describe_stacks", {})["Stacks"]
        return next((str(stack["StackStatus"]) for stack in stacks if stack["StackName"] == name), None)

    def _create_with_what_exists(self, request: dict[str, Any]) -> None:
        more = {"ChangeSetName": "deploy", "ChangeSetType": "CREATE", "ImportExistingResources": True}
        made = self.around.call("cloudformation", "create_change_set", {**request, **more})
        self.around.call("cloudformation", "execute_change_set", {"ChangeSetName": made["Id"]})

    def destroy(self, name: str) -> Stack:
        """Deletes a stack, and waits until that has ended, successfully or not."""
        iam.note_roles()
        stack = self.stacks.await_settled(name)
        self.around.call("cloudformation", "delete_stack", {"StackName": stack.id})
        return self.stacks.await_settled(stack.id)

    def stop(self) -> None:
        """Ends every worker and closes the port."""
        iam.note_roles()
        self.moto_additions.close()
        self.runtime.close()
        self.server.stop()
