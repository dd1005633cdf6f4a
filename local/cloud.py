"""The embedded cloud with a lab deployed: AWS, Kubernetes, the fleet and one clock, started and stopped together.

This file has the order of starting and stopping, and what other programs need to use the cloud. It deploys the same
templates and assets through the same APIs as on AWS.
"""

import atexit
import base64
import gc
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import boto3

from lamplighter.domain.capacity.kinds import identity
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.labfile import file as labfile
from local.adopted_cluster import made_by_others, older_groups
from local.assembly import Assembly, synthesise
from local.auto_mode.controller import AutoMode
from local.aws.cloudformation.stack import Stack
from local.aws.embedded import ACCESS_KEY_ID, SECRET_ACCESS_KEY, EmbeddedAws
from local.aws.faults import Faults
from local.aws.functions.durations import Durations
from local.background_thread import BackgroundThread
from local.clock import VirtualClock
from local.clock_page import ClockPage
from local.endpoints import Endpoints
from local.faults.switching import FaultSwitching
from local.faults_page import FaultsPage
from local.fleet.fleet import Fleet
from local.kubernetes.add_ons import AddOnPods
from local.kubernetes.aws_identities import AwsIdentities
from local.kubernetes.charts.published import find_device_plugin_chart
from local.kubernetes.charts.repository import ChartRepository
from local.kubernetes.control_plane import ControlPlane
from local.kubernetes.gateway import Gateway
from local.kubernetes.karpenter.controller import find_controller
from local.kubernetes.karpenter.controllers import IMAGE, Controllers
from local.kubernetes.token_webhook import bind_access_policy
from local.slack.installed import CHANNEL, Installed
from local.slack.workspace import PATH, Workspace
from local.stack_template import StackTemplate

#: Virtual time for building the cluster, before the first instant that anybody sees.
LEAD = timedelta(hours=3)
#: Virtual seconds between two checks of the system nodes, and after which they count as failed.
LOOK_EVERY = 5.0
GIVE_UP_AFTER = 1800.0
#: The rate of a lab with Karpenter, whose controller has timers of its own: they count real seconds.
KARPENTER_RATE = 1.0
ADMINISTRATOR = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
COMPLETE = {"CREATE_COMPLETE", "UPDATE_COMPLETE"}
# Imported objects stay. No garbage collection needs to look at them: the last one, over all that moto holds, would take
# seconds of every exit.
gc.freeze()
atexit.register(gc.freeze)


class Cloud:
    """One in a process. `start` is the first instant (default: now).

    `rate` is the most virtual seconds in a real one; without it, as many as the machine can, or KARPENTER_RATE for a
    lab with Karpenter. After `up`, time stands still for the thread that called it, except while it waits on the clock.
    So everything that it does and sees in between is at one instant. `work` is a folder for its files; without one it
    makes its own and deletes it at the end.
    `found` is called when nothing of the lab exists, but an adopted cluster does. `slack` gives a Slack app to a lab
    that has none. A Slack always exists, at `slack`. `durations` says how long functions take in the lab's time,
    instead of the model. `release` is deployed at first instead of the synthesised assembly: another release of the
    lab.
    """

    #: The cloud of this process, until it ends.
    present: ClassVar["Cloud | None"] = None
    #: Called with a cloud that ends because of an error, while its state can still be read.
    before_a_failed_end: ClassVar[Callable[["Cloud", BaseException], None]] = lambda _cloud, _error: None

    def __init__(
        self,
        lab_path: Path,
        rate: float | None = None,
        start: datetime | None = None,
        work: Path | None = None,
        progress: Callable[[str], None] = lambda _: None,
        *,
        seed: int = 0,
        found: "Callable[[Cloud], None]" = lambda _: None,
        slack: bool = False,
        durations: Durations | None = None,
        release: Callable[[Assembly], Assembly] = lambda present: present,
    ) -> None:
        self.lab = labfile.load(lab_path)
        self._lab_path = lab_path
        self._rate = rate
        self._start = start or datetime.now().astimezone()
        self._progress = progress
        self._seed = seed
        self._found = found
        self._release = release
        self._slack_channel = CHANNEL if slack else None
        self._fleet: Fleet | None = None
        self._karpenter: Controllers | None = None
        with ExitStack() as undo:  # also after an interrupt in here
            if work is None:
                work = Path(tempfile.mkdtemp(prefix="lamplighter-"))
                undo.callback(shutil.rmtree, work, ignore_errors=True)
            work.mkdir(parents=True, exist_ok=True)
            self._work = work
            self.clock = VirtualClock(work / "clock", rate=None, start=self._start - LEAD)
            self.aws = EmbeddedAws(self.clock, work / "aws", self.lab.region, seed=seed, durations=durations)
            self._switchboard = FaultSwitching(self.aws.moto_additions.switches, self._capacity_names)
            self._installed = Installed()
            self.slack = Workspace(self.clock, self._installed.bot_token, self.lab.time_zone)
            self.charts = ChartRepository()
            # A lab may adopt a cluster of any age; here it is one of the oldest.
            old = self.lab.cluster.existing is not None
            self.control_plane = ControlPlane(work / "kubernetes", progress, clock=self.clock.path, old=old)
            self._undo = undo.pop_all()
        Cloud.present = self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                Cloud.before_a_failed_end(self, error)
        finally:
            self.down()

    @property
    def faults(self) -> Faults:
        """Faults of the functions' workers. Faults outside of them are at `fault_on` and aws.moto_additions.faults."""
        return self.aws.runtime.faults

    def fault_on(self, name: str, pool: str | None = None) -> None:
        """Switches a fault on by the name of its cause, for one pool or all. Raises BadInput."""
        self._switchboard.on(name, pool)

    def fault_off(self, name: str | None = None, pool: str | None = None) -> None:
        """Switches a fault off; without a name, all of them. What heals, heals in its own time."""
        self._switchboard.off(name, pool)

    @property
    def fleet(self) -> Fleet:
        """The simulated machines, after `up`."""
        if self._fleet is None:
            raise OutsideFailed("the embedded cloud is not up yet")
        return self._fleet

    @property
    def karpenter(self) -> Controllers:
        """The real controllers of Karpenter's pods, after `up`."""
        if self._karpenter is None:
            raise OutsideFailed("the embedded cloud is not up yet")
        return self._karpenter

    def logs(self, function: str) -> str:
        """All lines that a function has written."""
        return self.aws.runtime.logs(function)

    def up(self) -> Endpoints:
        """Starts everything and deploys the lab. Returns when its stacks are complete and the system nodes are Ready.

        Raises BadInput for a lab with problems, OutsideFailed with the reason when a part does not start.
        """
        assembly = BackgroundThread(
            lambda: synthesise(self._lab_path, self._undo.callback, slack=self._slack_channel)
        )
        kubernetes = BackgroundThread(self.control_plane.start)
        self._undo.callback(self._stop_kubernetes, kubernetes)
        self.aws.server.page(ClockPage.PATH, ClockPage(self.clock).answer)
        self.aws.server.page(FaultsPage.PATH, FaultsPage(self._switchboard).answer)
        self.aws.server.page(PATH, self.slack.answer)
        self.aws.start()
        self._undo.callback(self.aws.stop)
        self.charts.start()
        self._undo.callback(self.charts.stop)
        self.aws.functions.tools.chart_repository = self.charts.url
        self._fetch_programs(self.lab)
        self._progress("starting Kubernetes and synthesising the stacks")
        built = self._release(assembly.result())
        kubernetes.result()
        self._undo.enter_context(self.clock.busy())
        self._join()
        self._deploy(built)
        # Slack waits three seconds, and this machine may be slower than AWS.
        self.aws.functions.warm_up("-slack")
        rate = self._rate or (KARPENTER_RATE if self.lab.cluster.karpenter else None)
        if rate is not None:
            self.clock.set_rate(rate)
            self.clock.hurry(False)
        return self.endpoints()

    def endpoints(self) -> Endpoints:
        """The addresses and credentials at this instant."""
        slack_url = self._installed.url(self.aws.around, f"{self.lab.name}-controller")
        return Endpoints(
            endpoint=self.aws.endpoint,
            region=self.lab.region,
            access_key_id=ACCESS_KEY_ID,
            secret_access_key=SECRET_ACCESS_KEY,
            kubeconfig=str(self._work / "kubeconfig"),
            now=self.clock.now(),
            rate=self.clock.rate,
            clock_url=f"{self.aws.endpoint}{ClockPage.PATH}",
            slack_url=slack_url,
            signing_secret=self._installed.signing_secret if slack_url else None,
        )

    def played(self) -> dict[str, str]:
        """The environment of a program that is part of the played lab: its pauses let the lab's time pass."""
        return {
            **self.endpoints().environment(),
            "LAMPLIGHTER_INSTANT": str(self.clock.path),
            "LAMPLIGHTER_SLEEP": f"{self.aws.endpoint}{ClockPage.SLEEP}",
        }

    def redeploy(
        self, lab_path: Path | None = None, *, import_existing: bool = False, roll_back: bool = True
    ) -> list[Stack]:
        """Deploys the lab again, from another file if given, while everything runs. Returns how each stack ended."""
        self._lab_path = lab_path or self._lab_path
        self.lab = labfile.load(self._lab_path)
        return self.deploy(self._lab_path, import_existing=import_existing, roll_back=roll_back)

    def deploy(self, lab_path: Path, *, import_existing: bool = False, roll_back: bool = True) -> list[Stack]:
        """Deploys a lab, this one or another beside it, while everything runs. Returns how each stack ended.

        Like `cdk deploy --all`, it stops at a stack that fails. Only with `import_existing` does it import what an
        earlier deploy left behind, and without `roll_back` a failed update stays as far as it came.
        """
        self._fetch_programs(labfile.load(lab_path))
        assembly = synthesise(lab_path, slack=self._slack_channel)
        return self.deploy_assembly(assembly, import_existing=import_existing, roll_back=roll_back)

    def deploy_assembly(
        self, assembly: Assembly, *, import_existing: bool = False, roll_back: bool = True
    ) -> list[Stack]:
        """The same as `deploy`, for a synthesised assembly, such as one of another release."""
        self.aws.assets.read(assembly.folder)
        ended: list[Stack] = []
        for template in assembly.stacks():
            ended.append(self.aws.deploy(template, import_existing=import_existing, roll_back=roll_back))
            if ended[-1].status not in COMPLETE:
                break
            self._installed.fill_in(self.aws.around, template.name)
        return ended

    def destroy(self, stack: str) -> Stack:
        """Deletes a stack while everything runs. Returns how that ended."""
        return self.aws.destroy(stack)

    def down(self) -> None:
        """Ends every process and thread, frees the ports, and deletes the files. It may be called at any moment."""
        Cloud.present = None
        self.clock.stop()
        self._undo.close()

    def _fetch_programs(self, lab: Lab) -> None:
        """Fetches the chart that a lab without the GPU Operator installs, and builds Karpenter's controller for a lab
        with Karpenter. Raises OutsideFailed without them.
        """
        if lab.device_plugin.enabled and lab.cluster.existing is None:
            self.charts.add(find_device_plugin_chart(self._progress))
        if lab.cluster.karpenter is not None:
            find_controller(self._progress)

    def _stop_kubernetes(self, start: BackgroundThread[None]) -> None:
        """Stops Kubernetes, also while it starts.

        A starting control plane may try again, so this repeats until it is stopped.
        """
        for _ in range(3):
            self.control_plane.stop()
            if start.ended(1):
                break
        self.control_plane.stop()

    def _join(self) -> None:
        """Connects the parts: Kubernetes asks the embedded AWS for identities, EKS knows Kubernetes, the fleet plays
        nodes.
        """
        plane = self.control_plane
        session = boto3.Session(ACCESS_KEY_ID, SECRET_ACCESS_KEY, region_name=self.lab.region)
        bind = partial(bind_access_policy, plane.admin())
        plane.authenticate_through(AwsIdentities(self.aws.endpoint, self.lab.cluster_name, session, bind))
        authority = base64.b64encode(plane.ca_pem.encode()).decode()
        faults = self.aws.moto_additions.switches
        self._fleet = Fleet(plane.admin(), self.clock, self._work / "fleet", seed=self._seed, faults=faults)
        plane.written = self._fleet.written.note
        gateway = Gateway(
            plane.endpoint,
            plane.ca_file,
            *plane.server_certificate("gateway"),
            written=self._fleet.written.note,
            settle=self.clock.settle,
            served=self._fleet.served,
        )
        gateway.start()
        self._undo.callback(gateway.stop)
        self.aws.moto_additions.control_plane(gateway.endpoint, authority)
        self._fleet.network.allows = self.aws.moto_additions.paths.allows
        self._fleet.network.windows_right = self.aws.moto_additions.windows_right
        self._fleet.network.admits = self.aws.moto_additions.self_managed.admits
        self._fleet.start()
        self._undo.callback(self._fleet.stop)
        self._run_karpenter(self._fleet)
        additions = self.aws.moto_additions
        additions.fleet(self._fleet)
        additions.auto_mode(
            AutoMode(self._fleet, self.aws.around, additions.clusters, additions.self_managed)
        )
        self.aws.moto_additions.addons.listeners.append(AddOnPods(plane.admin()).changed)
        plane.admin_kubeconfig(self._work / "kubeconfig", gateway.endpoint)

    def _run_karpenter(self, fleet: Fleet) -> None:
        """Lets Karpenter's pods run the real controller, in the name of their service account and its role."""
        plane = self.control_plane
        self._karpenter = controllers = Controllers(
            plane.admin(),
            plane.ca_pem,
            self._work / "karpenter",
            machine={
                "AWS_ENDPOINT_URL": self.aws.endpoint,
                "AWS_REGION": self.lab.region,
                "AWS_EC2_METADATA_DISABLED": "true",
                "LAMPLIGHTER_INSTANT": str(self.clock.path),
            },
            credentials=partial(self.aws.moto_additions.pod_identity.environment, self.lab.cluster_name),
        )
        self._undo.callback(controllers.stop)
        fleet.run_real(IMAGE, controllers.start, lambda: controllers.starting)

    def _deploy(self, assembly: Assembly) -> None:
        """Deploys the cluster's stack before the first instant, and the other stacks after it."""
        existing = made_by_others(self.lab, self._work)
        if existing:
            self.aws.moto_additions.nodegroups.older_groups |= older_groups(self.lab)
            self._progress(f"making the cluster {self.lab.cluster_name} that the lab adopts")
            self.aws.assets.read(existing[0].folder)
            self._complete(existing[1])
        self._found(self)
        self.aws.assets.read(assembly.folder)
        for stack in assembly.stacks():
            if not stack.name.endswith("-cluster"):
                self._begin_the_day()
            self._progress(f"deploying {stack.name}")
            self._complete(stack)
        self._begin_the_day()

    def _begin_the_day(self) -> None:
        if self.clock.now() < self._start:
            self._await_system_nodes()
            self._let_the_person_in()
            self.clock.sleep_until(self._start.timestamp())

    def _complete(self, template: StackTemplate) -> None:
        stack = self.aws.deploy(template)
        if stack.status not in COMPLETE:
            raise OutsideFailed(f"the stack {stack.name} ended {stack.status}: {stack.failure()}")
        self._installed.fill_in(self.aws.around, stack.name)

    def _let_the_person_in(self) -> None:
        """Makes the owner of the account's key an administrator of the lab's own cluster, as with the kubeconfig.

        A cluster that others made keeps its own access entries.
        """
        if self.lab.cluster.existing:
            return
        call = self.aws.around.call
        who = {
            "clusterName": self.lab.cluster_name,
            "principalArn": call("sts", "get_caller_identity", {})["Arn"],
        }
        call("eks", "create_access_entry", who)
        administrator = {"policyArn": ADMINISTRATOR, "accessScope": {"type": "cluster"}}
        call("eks", "associate_access_policy", {**who, **administrator})

    def _await_system_nodes(self) -> None:
        """Waits until every node that a node group wants is Ready."""
        wanted = self._wanted_nodes()
        deadline = self.clock.time() + GIVE_UP_AFTER
        while self._ready_nodes() < wanted:
            if self.clock.time() > deadline:
                raise OutsideFailed(f"only {self._ready_nodes()} of {wanted} nodes became Ready")
            self.clock.sleep(LOOK_EVERY)

    def _capacity_names(self) -> dict[str, str]:
        """The node group or NodePool behind each pool. A fault of one pool affects what has this name."""
        return {pool: identity(self.lab, pool).name for pool in self.lab.pools}

    def _wanted_nodes(self) -> int:
        cluster = self.lab.cluster_name
        groups = self.aws.around.call("eks", "list_nodegroups", {"clusterName": cluster})["nodegroups"]
        described = [
            self.aws.around.call(
                "eks", "describe_nodegroup", {"clusterName": cluster, "nodegroupName": group}
            )
            for group in groups
        ]
        return sum(int(one["nodegroup"]["scalingConfig"]["desiredSize"]) for one in described)

    def _ready_nodes(self) -> int:
        nodes = self.control_plane.admin().get("/api/v1/nodes")["items"]
        conditions = [node.get("status", {}).get("conditions", []) for node in nodes]
        return sum(any(c["type"] == "Ready" and c["status"] == "True" for c in of) for of in conditions)
