"""User data in each form: what a node learns from it, and why another one never starts its kubelet."""

import pytest
from botocore.session import get_session

from local.aws.eks.start_data import NodeStart, merged
from local.fleet.boot import user_data
from local.fleet.boot.images import AMI_TYPES, CUSTOM, Family, image_of, node_info
from local.fleet.boot.settings import BadUserData

TAINT = {"key": "team", "value": "gpu", "effect": "NoSchedule"}
START = NodeStart(
    cluster="lab",
    endpoint="https://api.lab",
    authority="Y2E=",
    service_cidr="172.20.0.0/16",
    labels={"tier": "web", "eks.amazonaws.com/nodegroup": "web"},
    taints=[TAINT],
    max_pods=29,
)
NODE_CONFIG = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BOUNDARY"

--BOUNDARY
Content-Type: application/node.eks.aws

---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config: {maxPods: 50}
    flags: ["--node-labels=mine=yes"]

--BOUNDARY
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
dnf install -y htop

--BOUNDARY--
"""
TOML = """[settings.kubernetes]
max-pods = 50
node-labels.mine = "yes"
[settings.host-containers.admin]
enabled = true
"""


@pytest.mark.parametrize("family", Family)
def test_a_node_reads_what_eks_tells_it_in_the_form_of_its_image(family: Family) -> None:
    found = user_data.read(family, merged(family, START, ""))

    assert found.why_it_cannot_join("lab", "https://api.lab", "Y2E=") == ""
    assert (dict(found.labels), list(found.taints)) == (dict(START.labels), [TAINT])
    # EKS leaves the number of pods of Windows to the start-up script.
    assert found.max_pods == (None if family is Family.WINDOWS else 29)


@pytest.mark.parametrize(("family", "given"), [(Family.AL2023, NODE_CONFIG), (Family.BOTTLEROCKET, TOML)])
def test_the_launch_templates_values_win_and_add_to_those_of_eks(family: Family, given: str) -> None:
    found = user_data.read(family, merged(family, START, given))

    assert (found.max_pods, found.cluster) == (50, "lab")
    assert found.labels == {**START.labels, "mine": "yes"}


def test_powershell_of_the_template_comes_before_the_start_of_the_node() -> None:
    text = merged(Family.WINDOWS, START, "<powershell>\nWrite-Host hello\n</powershell>\n")

    assert text.count("<powershell>") == text.count("</powershell>") == 1
    assert text.index("Write-Host hello") < text.index("Start-EKSBootstrap.ps1")


@pytest.mark.parametrize(
    ("family", "given", "message"),
    [
        (Family.AL2023, "#!/bin/bash\necho hello\n", "User data was not in the MIME multipart format."),
        (Family.AL2, TOML, "User data was not in the MIME multipart format."),
        (Family.BOTTLEROCKET, NODE_CONFIG, "User data was not in a TOML format"),
    ],
)
def test_eks_merges_only_data_in_the_form_of_the_image(family: Family, given: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        merged(family, START, given)


#: Complete user data of custom images, as document 003 and the EKS user guide have them.
WHOLE = {
    Family.AL2: "#!/bin/bash\nset -ex\n/etc/eks/bootstrap.sh lab \\\n  --b64-cluster-ca Y2E= \\\n"
    "  --apiserver-endpoint https://api.lab --dns-cluster-ip 172.20.0.10 \\\n"
    "  --kubelet-extra-args '--max-pods=20 --node-labels=mine=yes --register-with-taints=team=gpu:NoSchedule'\n",
    Family.AL2023: "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: lab\n"
    "    apiServerEndpoint: https://api.lab\n    certificateAuthority: Y2E=\n    cidr: 172.20.0.0/16\n"
    "  kubelet:\n    config:\n      maxPods: 20\n      registerWithTaints:\n"
    "      - {key: team, value: gpu, effect: NoSchedule}\n    flags: ['--node-labels=mine=yes']\n",
    Family.BOTTLEROCKET: "settings.kubernetes.cluster-name = 'lab'\n"
    "settings.kubernetes.api-server = 'https://api.lab'\nsettings.kubernetes.cluster-certificate = 'Y2E='\n"
    "settings.kubernetes.max-pods = 20\nsettings.kubernetes.node-labels.'mine' = 'yes'\n"
    "[settings.kubernetes.node-taints]\nteam = ['gpu:NoSchedule']\n",
    Family.WINDOWS: '<powershell>\n[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS'
    '\\Start-EKSBootstrap.ps1"\n& $EKSBootstrapScriptFile -EKSClusterName lab `\n  -Base64ClusterCA Y2E= `\n'
    '  -APIServerEndpoint https://api.lab -DNSClusterIP 172.20.0.10 `\n  -KubeletExtraArgs "--max-pods=20 '
    '--node-labels=mine=yes --register-with-taints=team=gpu:NoSchedule"\n</powershell>\n',
}


@pytest.mark.parametrize("family", Family)
def test_a_custom_image_is_told_by_the_form_of_its_data_and_starts_from_it(family: Family) -> None:
    assert user_data.family_by_form(WHOLE[family]) is family
    found = user_data.read(family, WHOLE[family])

    assert found.why_it_cannot_join("lab", "https://api.lab", "Y2E=") == ""
    assert (found.labels, list(found.taints), found.max_pods) == ({"mine": "yes"}, [TAINT], 20)


def test_a_script_may_append_to_the_flags_of_bootstrap() -> None:
    sed = (
        "#!/bin/bash\nsed -i 's/^KUBELET_EXTRA_ARGS=.*/&\\nKUBELET_EXTRA_ARGS+=\" --max-pods=70\"/' "
        "/etc/eks/bootstrap.sh\n"
    )
    part = NODE_CONFIG.replace("#!/bin/bash\ndnf install -y htop\n", sed)

    found = user_data.read(Family.AL2, merged(Family.AL2, START, part))

    assert (found.cluster, found.max_pods) == ("lab", 70)


@pytest.mark.parametrize(
    ("family", "without", "problem"),
    [
        (Family.AL2, "bootstrap.sh lab", "does not say cluster"),
        (Family.AL2023, "    cidr: 172.20.0.0/16\n", "does not say service_cidr"),
        (Family.AL2023, "    certificateAuthority: Y2E=\n", "does not say authority"),
        (Family.BOTTLEROCKET, "settings.kubernetes.cluster-certificate = 'Y2E='\n", "does not say authority"),
        (Family.WINDOWS, "-EKSClusterName lab ", "does not say cluster"),
    ],
)
def test_a_kubelet_without_a_setting_that_it_needs_never_joins(
    family: Family, without: str, problem: str
) -> None:
    kept = "bootstrap.sh" if without.startswith("bootstrap.sh") else ""
    assert without in WHOLE[family]
    found = user_data.read(family, WHOLE[family].replace(without, kept))

    assert problem in found.why_it_cannot_join("lab", "https://api.lab", "Y2E=")


@pytest.mark.parametrize("family", Family)
def test_a_kubelet_of_another_cluster_never_joins(family: Family) -> None:
    found = user_data.read(family, WHOLE[family])

    assert "names cluster lab" in found.why_it_cannot_join("other", "https://api.lab", "Y2E=")
    assert "names endpoint" in found.why_it_cannot_join("lab", "https://other", "Y2E=")
    assert "another certificate authority" in found.why_it_cannot_join("lab", "https://api.lab", "b3RoZXI=")


@pytest.mark.parametrize(
    ("family", "text"),
    [
        (Family.AL2, "#!/bin/bash\n# /etc/eks/bootstrap.sh lab\n"),
        (Family.AL2023, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeSettings\n"),
        (Family.AL2023, "apiVersion: node.eks.aws/v2\nkind: NodeConfig\n"),
        (Family.AL2023, "kind: [NodeConfig\n"),
        (Family.BOTTLEROCKET, "[kubernetes]\nmax-pods = 20\n"),
        (Family.BOTTLEROCKET, "#!/bin/bash\necho hello\n"),
        (Family.WINDOWS, "<powershell>\nWrite-Host hello\n</powershell>\n"),
    ],
)
def test_a_start_up_program_refuses_what_is_not_for_it(family: Family, text: str) -> None:
    with pytest.raises(BadUserData):
        user_data.read(family, text)


def test_every_ami_type_of_the_service_model_is_known() -> None:
    model = get_session().get_service_model("eks").shape_for("AMITypes")
    assert {*AMI_TYPES, CUSTOM} == set(getattr(model, "enum", ()))


@pytest.mark.parametrize(
    ("ami_type", "version", "image", "system", "architecture"),
    [
        ("AL2_x86_64_GPU", "1.32", "Amazon Linux 2", "linux", "amd64"),
        ("AL2023_ARM_64_STANDARD", "1.35", "Amazon Linux 2023.8.20260714", "linux", "arm64"),
        ("BOTTLEROCKET_x86_64_FIPS", "1.34", "Bottlerocket OS 1.50.0 (aws-k8s-1.34-fips)", "linux", "amd64"),
        (
            "BOTTLEROCKET_ARM_64_NVIDIA",
            "1.35",
            "Bottlerocket OS 1.50.0 (aws-k8s-1.35-nvidia)",
            "linux",
            "arm64",
        ),
        ("WINDOWS_FULL_2022_x86_64", "1.35", "Windows Server 2022 Datacenter", "windows", "amd64"),
    ],
)
def test_a_node_says_what_it_runs(
    ami_type: str, version: str, image: str, system: str, architecture: str
) -> None:
    info = node_info(image_of(ami_type), version)

    assert info["osImage"] == image
    assert (info["operatingSystem"], info["architecture"]) == (system, architecture)
    assert info["kubeletVersion"].startswith(f"v{version}.")
