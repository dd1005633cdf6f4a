"""The address that takes people's commands, which AWS_IAM authorises, and the function behind it.

`/own/...` takes commands about a person's own leases, `/lab/...` commands of people who run the lab. A person's IAM
policy allows one or both (docs/how-to/set-up/let-people-in.md). AWS says who the person is.
"""

from aws_cdk import Duration
from aws_cdk.aws_apigatewayv2_authorizers import HttpIamAuthorizer
from constructs import Construct

from lamplighter.domain.commands.asked import PATHS
from stacks.constructs.functions.functions import Function, FunctionCode
from stacks.constructs.functions.permissions import Permissions
from stacks.constructs.http.http_address import http_address
from stacks.constructs.http.throttle import COMMANDS
from stacks.names import Names

WORKFLOWS = {
    "OPEN_LAB_ARN": "open",
    "CLOSE_LAB_ARN": "close",
    "EXTEND_LEASE_ARN": "extend",
    "EXPERIMENT_ARN": "experiment",
    "CHANGE_LAB_ARN": "change",
}
# A person waits for the function's answer: docs/reference/performance.md, "Memory".
MEMORY_MIB = 1024
# API Gateway waits 30 seconds.
TIMEOUT = Duration.seconds(25)


class Commands(Construct):
    """`function` is `<lab>-commands`; the command line posts to `url`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        code: FunctionCode,
        permissions: Permissions,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Function",
            name="commands",
            handler="commands",
            names=names,
            code=code,
            environment={variable: names.workflow_arn(name) for variable, name in WORKFLOWS.items()},
            permissions=[permissions.reading_the_ledger(), permissions.starting(*WORKFLOWS.values())],
            description="Commands: what people ask for on the command line, in the name that AWS gives them",
            memory_mib=MEMORY_MIB,
            timeout=TIMEOUT,
        )
        self.url, _ = http_address(
            self,
            name=names.function("commands"),
            description="Where the command line gives its commands, signed with AWS credentials",
            integration="Commands",
            function=self.function.function,
            paths=[f"/{path}" for path in PATHS],
            throttle=COMMANDS,
            authorizer=HttpIamAuthorizer(),
        )
