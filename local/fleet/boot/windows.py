"""Windows: PowerShell that calls Start-EKSBootstrap.ps1, between <powershell> tags (EKS user guide, launch templates).

Only the cluster's name is required: the script asks EKS for the rest.
"""

import re
import shlex

from local.fleet.boot.settings import BadUserData, NodeSettings, kubelet_flags

SCRIPT = "Start-EKSBootstrap.ps1"
_BETWEEN = re.compile(r"<powershell>(.*?)</powershell>", re.DOTALL | re.IGNORECASE)
_VARIABLE = re.compile(r"(\$\w+)\s*=\s*.*" + re.escape(SCRIPT))
_OPTION = re.compile(r"""-(\w+)\s+("[^"]*"|'[^']*'|[^\s"']+)""")


def read(text: str) -> NodeSettings:
    """The settings of the last call. Raises BadUserData if there is none."""
    script = "\n".join(_BETWEEN.findall(text)).replace("`\n", " ").replace("`\r\n", " ")
    names = [re.escape(SCRIPT), *(re.escape(name) for name in _VARIABLE.findall(script))]
    called = re.compile(rf"^\s*&.*?(?:{'|'.join(names)})[\"']?(.*)$", re.MULTILINE)
    calls = called.findall(script)
    if not calls:
        raise BadUserData(f"no PowerShell of the user data calls {SCRIPT}")
    options = {name.lower(): value.strip("\"'") for name, value in _OPTION.findall(calls[-1])}
    labels, taints, pods = kubelet_flags(shlex.split(options.get("kubeletextraargs", "")))
    return NodeSettings(
        cluster=options.get("eksclustername", ""),
        endpoint=options.get("apiserverendpoint", ""),
        authority=options.get("base64clusterca", ""),
        service_cidr=options.get("servicecidr", ""),
        labels=labels,
        taints=taints,
        max_pods=pods,
        required=("cluster",),
    )
