"""Amazon Linux 2: a shell script that calls /etc/eks/bootstrap.sh, bare or as a part of a MIME archive.

Only the cluster's name is required: bootstrap.sh asks EKS for the rest (amazon-eks-ami, templates/al2).
"""

import shlex

from local.fleet.boot.mime import parts
from local.fleet.boot.settings import BadUserData, NodeSettings, kubelet_flags

SCRIPT = "/etc/eks/bootstrap.sh"


def read(text: str) -> NodeSettings:
    """The settings of the last call. Raises BadUserData if no script calls bootstrap.sh."""
    scripts = [body for kind, body in parts(text) if kind == "text/x-shellscript"] or [text]
    calls = [words for script in scripts for words in _calls(script)]
    if not calls:
        raise BadUserData(f"no script of the user data calls {SCRIPT}")
    return _settings(calls[-1])


def _calls(script: str) -> list[list[str]]:
    """The words of each call, after the script's name."""
    calls = []
    for line in script.replace("\\\n", " ").splitlines():
        if SCRIPT in line and not line.lstrip().startswith("#"):
            words = shlex.split(line.partition(SCRIPT)[2])
            calls.append(words)
    return calls


def _settings(words: list[str]) -> NodeSettings:
    options: dict[str, str] = {}
    names: list[str] = []
    left = iter(words)
    for word in left:
        if word.startswith("--"):
            options[word[2:]] = next(left, "")
        else:
            names.append(word)
    labels, taints, pods = kubelet_flags(shlex.split(options.get("kubelet-extra-args", "")))
    return NodeSettings(
        cluster=names[0] if names else "",
        endpoint=options.get("apiserver-endpoint", ""),
        authority=options.get("b64-cluster-ca", ""),
        labels=labels,
        taints=taints,
        max_pods=pods,
        required=("cluster",),
    )
