"""User data in the form that Karpenter 1.14 gives to a machine of each family of images.

The order of its parts and keys is that of pkg/providers/amifamily/bootstrap: nodeadm.go, bottlerocket.go, mime/mime.go.
"""

ENDPOINT = "https://127.0.0.1:6443"
AUTHORITY = "Y2E="
LABELS = {
    "karpenter.k8s.aws/ec2nodeclass": "lab-gpu",
    "karpenter.sh/capacity-type": "on-demand",
    "karpenter.sh/do-not-sync-taints": "true",
    "karpenter.sh/nodepool": "lab-gpu",
    "lamplighter.pool": "gpu",
}


def node_config(
    cluster: str = "lab", endpoint: str = ENDPOINT, authority: str = AUTHORITY, max_pods: int | None = None
) -> str:
    """A MIME archive with one NodeConfig, for Amazon Linux 2023."""
    labels = ",".join(f"{key}={value}" for key, value in LABELS.items())
    pods = f"      maxPods: {max_pods}\n" if max_pods else ""
    return f"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

# Karpenter Generated NodeConfig
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
metadata: {{}}
spec:
  cluster:
    apiServerEndpoint: {endpoint}
    certificateAuthority: {authority}
    cidr: 10.100.0.0/16
    name: {cluster}
  containerd: {{}}
  instance:
    localStorage: {{}}
  kubelet:
    config:
{pods}      registerWithTaints:
      - effect: NoSchedule
        key: nvidia.com/gpu
        value: present
      - effect: NoExecute
        key: karpenter.sh/unregistered
    flags:
    - --node-labels="{labels}"

--//--
"""


def bottlerocket(
    cluster: str = "lab", endpoint: str = ENDPOINT, authority: str = AUTHORITY, max_pods: int | None = None
) -> str:
    labels = "\n".join(f"'{key}' = '{value}'" for key, value in LABELS.items())
    pods = f"max-pods = {max_pods}\n" if max_pods else ""
    return f"""[settings]
[settings.kubernetes]
api-server = '{endpoint}'
cluster-certificate = '{authority}'
cluster-name = '{cluster}'
{pods}
[settings.kubernetes.node-labels]
{labels}

[settings.kubernetes.node-taints]
'karpenter.sh/unregistered' = [':NoExecute']
'nvidia.com/gpu' = ['present:NoSchedule']
"""
