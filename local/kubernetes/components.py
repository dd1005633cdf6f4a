"""The command line of each component of the embedded control plane, and the ports that they share.

If a flag differs from EKS, a comment gives the reason. Everything else is Kubernetes' default.
"""

import socket
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

#: The range that EKS gives to Services when the VPC is not inside 10.0.0.0/8.
SERVICE_RANGE = "10.100.0.0/16"

#: All controllers that act on objects of the product or its users. There are no controllers for routes, volumes,
#: certificates or node addresses, because there is no cloud and no real kubelet. There is no taint eviction either: it
#: counts 300 real seconds from a taint, and that may be any instant of the lab.
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
)


@dataclass(frozen=True)
class Ports:
    """Loopback ports, chosen by the operating system."""

    etcd: int
    etcd_peer: int
    apiserver: int


def free_ports() -> Ports:
    """Three ports that are free now. All are held until the last is known, so that no port is chosen twice."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(3)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return Ports(*(each.getsockname()[1] for each in sockets))


def servers(work: Path, ports: Ports) -> dict[str, list[str]]:
    """Arguments of etcd and the API server by the name of their program, in the order in which they start."""
    return {"etcd": _etcd(work, ports), "kube-apiserver": _apiserver(work, ports)}


def controllers(work: Path) -> dict[str, list[str]]:
    """Arguments of the components that act through the API server, by the name of their program.

    They start when it is ready: the controller manager gives up after ten real seconds (WaitForAPIServer in
    k8s.io/controller-manager/app), and on a busy machine the API server needs longer.
    """
    return {"kube-controller-manager": _controller_manager(work), "kube-scheduler": _scheduler(work)}


def _etcd(work: Path, ports: Ports) -> list[str]:
    client, peer = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.etcd_peer}"
    return [
        f"--data-dir={work / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        # The cluster does not outlive its process, so durability would cost time for nothing.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _apiserver(work: Path, ports: Ports) -> list[str]:
    return [
        f"--etcd-servers=http://127.0.0.1:{ports.etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports.apiserver}",
        f"--tls-cert-file={work / 'apiserver.crt'}",
        f"--tls-private-key-file={work / 'apiserver.key'}",
        f"--cert-dir={work}",
        # The administrator has a token and no certificate, so that a proxy that ends TLS can pass it on.
        f"--token-auth-file={work / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        f"--authentication-token-webhook-config-file={work / 'token-webhook.kubeconfig'}",
        "--authentication-token-webhook-version=v1",
        # An access entry takes effect within seconds; the default cache would hide a new one for two minutes.
        "--authentication-token-webhook-cache-ttl=2s",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={work / 'service-accounts.key'}",
        f"--service-account-signing-key-file={work / 'service-accounts.key'}",
        "--allow-privileged=true",
        # Nobody uses the `kubernetes` Service here.
        "--endpoint-reconciler-type=none",
        # Simulated nodes have their private address as InternalIP, which leads nowhere on this machine.
        "--kubelet-preferred-address-types=ExternalIP",
        "--enable-priority-and-fairness=false",
        "--profiling=false",
        # Longer than the longest lab day that someone plays in real time.
        "--event-ttl=24h",
    ]


def _controller_manager(work: Path) -> list[str]:
    return [
        f"--kubeconfig={work / 'admin.kubeconfig'}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--controllers={','.join(CONTROLLERS)}",
        f"--root-ca-file={work / 'ca.crt'}",
        f"--service-account-private-key-file={work / 'service-accounts.key'}",
        "--profiling=false",
        # The fleet plays a kubelet without heartbeats, in the lab's time. This controller counts real seconds, and on a
        # busy machine heartbeats are missing for many of them.
        "--node-monitor-grace-period=24h",
        "--node-monitor-period=200ms",
        # Ten real seconds between the NoExecute taints of two nodes would be any number of the lab's seconds.
        "--node-eviction-rate=1000",
    ]


def _scheduler(work: Path) -> list[str]:
    return [
        f"--kubeconfig={work / 'admin.kubeconfig'}",
        "--leader-elect=false",
        "--secure-port=0",
        "--profiling=false",
    ]
