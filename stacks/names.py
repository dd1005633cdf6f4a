"""Every fixed name of a lab's resources, and the ARNs that follow from them.

Names are fixed, so that permissions can name resources before they exist and no stack needs references to another.
The account is a token: the same assembly deploys to any account.
"""

from dataclasses import dataclass

from aws_cdk import Aws

from lamplighter.adapters.aws.capacity.claims import CLAIM
from lamplighter.domain.experiments.rails import PREFIX
from lamplighter.values.role_name import role_name

FAILSAFE, WINDOWS, RESTORES = "failsafe", "windows", "restores"
SCHEDULES = {FAILSAFE: ("failsafe-",), WINDOWS: ("open-", "warn-", "close-"), RESTORES: (PREFIX,)}
"""By the role that schedules act with: how their names begin."""


@dataclass(frozen=True)
class Names:
    """The names of one lab."""

    lab: str
    region: str
    cluster: str

    @property
    def ledger(self) -> str:
        return f"{self.lab}-ledger"

    @property
    def system_nodegroup(self) -> str:
        return f"{self.lab}-ng-1"

    @property
    def schedule_group(self) -> str:
        return self.lab

    def function(self, function: str) -> str:
        return f"{self.lab}-{function}"

    def workflow(self, workflow: str) -> str:
        return f"{self.lab}-{workflow}"

    def role(self, purpose: str) -> str:
        """Roles are global to an account, so the region is part of the name."""
        return role_name(self.lab, self.region, purpose)

    def policy(self, purpose: str) -> str:
        """Managed policies are global like roles; their names may have 128 characters."""
        return f"{self.lab}-{self.region}-{purpose}"

    def policy_arn(self, purpose: str) -> str:
        return f"arn:{Aws.PARTITION}:iam::{Aws.ACCOUNT_ID}:policy/{self.policy(purpose)}"

    def arn(self, service: str, resource: str) -> str:
        """The ARN of something of ours in the lab's region."""
        return f"arn:{Aws.PARTITION}:{service}:{self.region}:{Aws.ACCOUNT_ID}:{resource}"

    @property
    def ledger_arn(self) -> str:
        return self.arn("dynamodb", f"table/{self.ledger}")

    @property
    def cluster_arn(self) -> str:
        return self.arn("eks", f"cluster/{self.cluster}")

    @property
    def schedule_group_arn(self) -> str:
        return self.arn("scheduler", f"schedule-group/{self.schedule_group}")

    def schedules_arn(self, prefix: str = "") -> str:
        """The schedules of the lab's group whose names begin so."""
        return self.arn("scheduler", f"schedule/{self.schedule_group}/{prefix}*")

    @property
    def dead_letters(self) -> str:
        return f"{self.lab}-dead-letters"

    @property
    def failsafe_failed(self) -> str:
        return f"{self.lab}-failsafe-failed"

    @property
    def dead_letters_arn(self) -> str:
        return self.arn("sqs", self.dead_letters)

    @property
    def karpenter_queue(self) -> str:
        return f"{self.lab}-karpenter"

    @property
    def instance_events(self) -> str:
        return f"{self.lab}-instance-events"

    @property
    def event_bus(self) -> str:
        return self.lab

    @property
    def event_bus_arn(self) -> str:
        return self.arn("events", f"event-bus/{self.event_bus}")

    @property
    def event_requests(self) -> str:
        return f"{self.lab}-event-requests"

    @property
    def events_dead_letters(self) -> str:
        return f"{self.lab}-dead-events"

    @property
    def slack_requests(self) -> str:
        return f"{self.lab}-slack-requests"

    @property
    def slack_secret(self) -> str:
        return f"{self.lab}-slack"

    @property
    def slack_secret_arn(self) -> str:
        """Without the six characters that Secrets Manager ends an ARN in; it finds the secret by this as well."""
        return self.arn("secretsmanager", f"secret:{self.slack_secret}")

    def function_arn(self, function: str) -> str:
        return self.arn("lambda", f"function:{self.function(function)}")

    def workflow_arn(self, workflow: str) -> str:
        return self.arn("states", f"stateMachine:{self.workflow(workflow)}")

    def role_arn(self, purpose: str) -> str:
        return self.any_role_arn(self.role(purpose))

    def any_role_arn(self, role: str) -> str:
        """The ARN of a role by its whole name, which may be somebody else's."""
        return f"arn:{Aws.PARTITION}:iam::{Aws.ACCOUNT_ID}:role/{role}"

    def nodegroup_arn(self, nodegroup: str) -> str:
        return self.arn("eks", f"nodegroup/{self.cluster}/{nodegroup}/*")

    def claim(self, nodegroup: str) -> str:
        """The parameter that says which lab guards a node group; a second lab cannot create it."""
        return CLAIM.format(cluster=self.cluster, nodegroup=nodegroup)

    def claim_arn(self, nodegroup: str) -> str:
        return self.arn("ssm", f"parameter{self.claim(nodegroup)}")

    @property
    def node_security_groups(self) -> tuple[str, str]:
        """The names of the nodes' two groups, the node group's and the auxiliary one's."""
        return f"{self.lab}-node", f"{self.lab}-node-group-sg"

    def autoscaling_group_arn(self, group: str) -> str:
        """The ARN of the Auto Scaling groups of that name, which may end in `*`."""
        return self.arn("autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{group}")
