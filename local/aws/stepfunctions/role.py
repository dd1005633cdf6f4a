"""What the role of a state machine must allow before Step Functions accepts the definition.

Sources: Step Functions developer guide, "Creating an IAM role for your state machine" and "Run a Job (.sync)". Step
Functions uses the role to create the managed rule that reports the end of another workflow.
"""

from local.aws.api.own_services import AwsError
from local.aws.api.service_context import ServiceContext
from local.aws.iam import Service, may_assume, role_may

_RULE = "rule/StepFunctionsGetEventsForStepFunctionsExecutionRule"


def check_role(role: str, machine: str, text: str, around: ServiceContext) -> None:
    """Raises AwsError if Step Functions may not assume the role, or the role may not create the managed rule."""
    if not may_assume(role, Service("states.amazonaws.com", machine), around.state):
        raise AwsError(
            "AccessDeniedException",
            "Neither the global service principal states.amazonaws.com, nor the regional one is authorized to"
            " assume the provided role.",
        )
    if "states:startExecution.sync" not in text:
        return
    rule = around.arn("events", _RULE)
    for action in ("events:PutTargets", "events:PutRule", "events:DescribeRule"):
        if not role_may(role, action, rule, around.state):
            raise AwsError("AccessDeniedException", f"'{role}' is not authorized to create managed-rule.")
