"""The credentials that EKS gives to a pod for the association of its service account.

access.py has the associations. The trust of a role is judged with the tags that EKS asks its session to have.
Source: EKS user guide, pod-id-role, pod-id-association and pod-id-abac.
"""

import uuid

from local.aws import iam
from local.aws.api.own_services import AwsError
from local.aws.authorization.state import State
from local.aws.eks.access import Access
from local.aws.eks.addons import Addons

#: The add-on without which no pod gets credentials.
AGENT = "eks-pod-identity-agent"
SERVICE = "pods.eks.amazonaws.com"
#: The trust policy must allow both to the service.
NEEDED = ("sts:AssumeRole", "sts:TagSession")


class PodIdentity:
    """What EKS's agent on the node asks for."""

    def __init__(self, access: Access, addons: Addons, state: State) -> None:
        self._access = access
        self._addons = addons
        self._state = state

    def environment(self, cluster: str, namespace: str, service_account: str, pod: str) -> dict[str, str]:
        """The credentials as environment variables; none where the agent gives none, so that an SDK finds none.

        On AWS the variables name the agent's address, and the SDK renews what it gets there. Here credentials do not
        expire.
        """
        if AGENT not in self._addons.list_addons({"clusterName": cluster})["addons"]:
            return {}
        try:
            return self.credentials(cluster, namespace, service_account, pod).environment()
        except AwsError:
            return {}

    def credentials(self, cluster: str, namespace: str, service_account: str, pod: str) -> iam.Credentials:
        """Temporary credentials of the associated role. Raises AwsError without an association, or without the role's
        trust.
        """
        role = self._access.pod_role(cluster, namespace, service_account)
        if role is None:
            raise AwsError(
                "ResourceNotFoundException",
                f"No pod identity association for the service account {namespace}/{service_account}",
            )
        source = f"arn:aws:eks:{self._state.region}:{self._state.account}:cluster/{cluster}"
        tags = {
            "eks-cluster-arn": source,
            "eks-cluster-name": cluster,
            "kubernetes-namespace": namespace,
            "kubernetes-service-account": service_account,
            "kubernetes-pod-name": pod,
        }
        service = iam.Service(SERVICE, source, tags)
        if not all(iam.may_assume(role, service, self._state, action) for action in NEEDED):
            raise AwsError(
                "AccessDeniedException",
                f"Trust policy of the role {role} does not allow {' and '.join(NEEDED)} to {SERVICE}",
            )
        session = f"eks-{cluster}-{pod}"[:27] + f"-{uuid.uuid4()}"
        return iam.assume(role, session, self._state.region, tags)
