"""A lab whose pool `gpu` is a static NodePool on the embedded cloud, and whose pool `other` has none."""

import json
from datetime import datetime

from lamplighter.adapters.capacity.node_pool.capacity import NodePoolCapacity
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain.capacity.calls import TimedCall
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.capacity.launch_cause import LaunchCause
from lamplighter.domain.capacity.node_pool import launch_bar, lock
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.capacity.node_pool.roles import launching_role
from lamplighter.lab.model import Lab
from local.kubernetes.api import ApiError, KubernetesApi, Object
from local.kubernetes.control_plane import ControlPlane
from local.kubernetes.token_webhook import User
from tests.local.cluster.functions import Token
from tests.local.cluster.lab import pass_time
from tests.local.cluster.node_pool_port.controller import (
    CLAIMS,
    FINALIZER,
    LABEL,
    POOLS,
    StandIn,
    run_instance,
)
from tests.local.conftest import Aws
from tests.steady.hang import await_value

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
PATHS = {
    "ConfigMap": "/api/v1/namespaces/lamplighter/configmaps",
    "ValidatingAdmissionPolicy": f"{ADMISSION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{ADMISSION}/validatingadmissionpolicybindings",
}
LAB = Lab.model_validate(
    {
        "name": "lab",
        "cluster": {"karpenter": {}},
        "pools": {"gpu": {"kind": "karpenter"}, "other": {"kind": "karpenter"}},
    }
)
NAME = LAB.node_pool_name("gpu")
READS = ("Describe", "List", "Get")


class Everybody:
    def user(self, token: str) -> User | None:
        return User(token, ("system:masters",))


def install(kubernetes: KubernetesApi, lab: Lab = LAB) -> None:
    """Our namespace and the launch bars of a lab."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lamplighter"}}
    kubernetes.apply("/api/v1/namespaces/lamplighter", namespace, "test")
    for document in launch_bar.documents(lab):
        path = f"{PATHS[str(document['kind'])]}/{document['metadata']['name']}"  # type: ignore[index]
        kubernetes.apply(path, document, "test")


def forget_bars(kubernetes: KubernetesApi, lab: Lab = LAB) -> None:
    """Deletes the ConfigMaps of a lab's launch bars: one that is applied again keeps the end that a test wrote."""
    for pool in lab.pools_with("node pool"):
        kubernetes.delete(f"{PATHS['ConfigMap']}/{launch_bar.parameter_name(lab, pool)}")


def node_pool(name: str = NAME, *, most: int = 2, **more: object) -> Object:
    """A static NodePool at zero."""
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "limits": {"nodes": str(most)},
            "disruption": {"consolidateAfter": "Never", "budgets": [{"nodes": "0"}]},
            "template": {
                "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": name},
                    "expireAfter": "14h",
                    "terminationGracePeriod": "10m",
                    "requirements": [
                        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]}
                    ],
                }
            },
            **more,
        },
    }


class NodePoolStage:
    """The pool at zero, its bar lifted for an hour beyond any test, and its controller's stand-in."""

    pool, absent = "gpu", "other"

    def __init__(self, control_plane: ControlPlane, aws: Aws) -> None:
        self.kubernetes, self.aws = control_plane.admin(), aws
        self.authority, self.endpoint = control_plane.ca_pem, control_plane.endpoint
        control_plane.authenticate_through(Everybody())
        install(self.kubernetes)
        role = launching_role(LAB, "gpu")
        assert role is not None
        aws.role(role.removesuffix("-role"), "ec2:*")
        self.controller = StandIn(self.kubernetes, aws, role)
        self.kubernetes.request("POST", POOLS, node_pool())
        self.capacity = NodePoolCapacity(LAB, KARPENTER)
        connection = Connection(control_plane.endpoint, control_plane.ca_pem, Token("functions"))
        self.capacity.kubernetes = connection
        self._writes = 0
        asked = connection.ask

        def ask(method: str, path: str, **more):
            dry = (more.get("query") or {}).get("dryRun")
            self._writes += method != "GET" and not dry
            answer = asked(method, path, **more)
            if answer.ok:
                self._await_bar(path, more.get("body") or {})
            return answer

        connection.ask = ask  # type: ignore[method-assign]
        self.capacity.instances._ec2.meta.events.register("before-call", self._count)
        await_value("the launch bar acts", lambda: not self.admitted())

    def _await_bar(self, path: str, written: Object) -> None:
        """Waits until the API server goes by the bar that was just written: it notices a moment after it took it."""
        name = f"{path}{written.get('metadata', {}).get('name', '')}"
        if "data" in written and name.endswith(launch_bar.parameter_name(LAB, self.pool)):
            opens = datetime.fromisoformat(written["data"][launch_bar.KEY]) > self.now()
            await_value("the API server follows the bar", lambda: self.admitted() is opens)

    def _count(self, model, **_more) -> None:
        self._writes += not model.name.startswith(READS)

    def admitted(self, name: str = NAME, *, ends: bool = True) -> bool:
        """Whether the API server would take a claim of the NodePool now; without `ends`, one without a grace."""
        template = node_pool(name)["spec"]["template"]["spec"]
        left_out = {"expireAfter", *(() if ends else ("terminationGracePeriod",))}
        spec = {key: value for key, value in template.items() if key not in left_out}
        metadata = {"generateName": "hand-", "labels": {LABEL: name}}
        body = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": metadata, "spec": spec}
        try:
            self.kubernetes.request("POST", f"{CLAIMS}?dryRun=All", body)
        except ApiError:
            return False
        return True

    def claim(self, pool: str) -> str:
        """A claim of the pool's NodePool without a grace, as a dynamic one has it; its name."""
        name = LAB.node_pool_name(pool)
        spec = node_pool(name)["spec"]["template"]["spec"]
        metadata = {"generateName": f"{name}-", "labels": {LABEL: name}, "finalizers": [FINALIZER]}
        kept = {key: value for key, value in spec.items() if key in {"nodeClassRef", "requirements"}}
        body = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": metadata, "spec": kept}
        binding = f"{PATHS['ValidatingAdmissionPolicyBinding']}/{launch_bar.parameter_name(LAB, pool)}"
        # The NodePool of somebody else: the lab only watches it.
        self.kubernetes.merge(binding, {"spec": {"validationActions": ["Audit"]}})

        def made() -> str | None:
            try:
                return str(self.kubernetes.request("POST", CLAIMS, body)["metadata"]["name"])
            except ApiError:
                return None

        return await_value("the claim is admitted", made)

    def changes(self) -> int:
        return self._writes

    def now(self) -> datetime:
        return self.aws.clock.now()

    def settle(self) -> None:
        """Twenty minutes pass. The controller and EC2 have done what they do within five."""
        for _ in range(5):
            self.controller.reconcile()
            pass_time(60)
        pass_time(15 * 60)
        self.controller.reconcile()

    def stray(self) -> str:
        return run_instance(self.aws, dict(identity(LAB, "gpu").tags))

    def refuse(self, cause: LaunchCause) -> None:
        self.controller.refusal = cause

    def call(self, call: TimedCall) -> None:
        """What the failsafe's state machine does on its rails."""
        if json.loads(call.input)["rail"] == "kubernetes":
            scale = {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": NAME},
                "spec": {"replicas": 0},
            }
            self.kubernetes.request("PUT", f"{POOLS}/{NAME}/scale", scale)
            self.kubernetes.request("DELETE", f"{CLAIMS}?labelSelector={LABEL}={NAME}")
            return
        self.aws.call(
            "iam",
            "put_role_policy",
            RoleName=self.controller.role,
            PolicyName=lock.policy_name(NAME),
            PolicyDocument=json.dumps(lock.document(identity(LAB, "gpu").tags)),
        )
        alive = [instance.id for instance in self.capacity.see("gpu").alive]
        if alive:
            self.aws.call("ec2", "terminate_instances", InstanceIds=alive)

    def clear(self) -> None:
        """Nothing of it is left for the next test."""
        self.controller.alive = False
        for claim in self.kubernetes.get(CLAIMS)["items"]:
            path = f"{CLAIMS}/{claim['metadata']['name']}"
            self.kubernetes.request(
                "PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json"
            )
            self.kubernetes.delete(path)
        self.kubernetes.request("DELETE", POOLS)
        for event in self.kubernetes.get("/api/v1/namespaces/default/events")["items"]:
            self.kubernetes.delete(f"/api/v1/namespaces/default/events/{event['metadata']['name']}")
        forget_bars(self.kubernetes)
