"""Amazon Linux 2: a shell script that calls /etc/eks/bootstrap.sh, bare or as a part of a MIME archive.

Only the cluster's name is required: bootstrap.sh asks EKS for the rest (amazon-eks-ami, templates/al2).
"""

import re
import shlex

from local.fleet.boot.mime import parts
from local.fleet.boot.settings import BadUserData, NodeSettings, kubelet_flags

SCRIPT = "/etc/eks/bootstrap.sh"
#: A call begins its line; a line that only names the script, such as one of sed, is no call.
_CALL = re.compile(rf"^\s*(?:exec\s+|bash\s+)?{re.escape(SCRIPT)}(?=\s|$)(.*)$", re.MULTILINE)
#: A script of the template may append a flag to those of bootstrap.sh; of two flags the last one counts.
_APPENDED = re.compile(r'KUBELET_EXTRA_ARGS\+=\\?"\s*--max-pods=(\d+)')


def read(text: str) -> NodeSettings:
    """The settings of the last call. Raises BadUserData if no script calls bootstrap.sh."""
    scripts = [body for kind, body in parts(text) if kind == "text/x-shellscript"] or [text]
    calls = [shlex.split(call) for each in scripts for call in _CALL.findall(each.replace("\\\n", " "))]
    if not calls:
        raise BadUserData(f"no script of the user data calls {SCRIPT}")
    appended = [pods for each in scripts for pods in _APPENDED.findall(each)]
    return _settings(calls[-1], int(appended[-1]) if appended else None)


def _settings(words: list[str], appended_pods: int | None) -> NodeSettings:
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
        max_pods=appended_pods or pods,
        required=("cluster",),
    )
