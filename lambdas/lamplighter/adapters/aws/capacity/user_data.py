"""The certificate authority that the user data of a launch template gives to a node.

It has a file of its own because compiling the expression takes more than a function's start may pay for it.
"""

import re

# As the start-up programs of Amazon Linux 2 and 2023, Bottlerocket and Windows read it.
_IN_USER_DATA = re.compile(
    r"(?:--b64-cluster-ca|\bcertificateAuthority:|\bcluster-certificate\s*=|-Base64ClusterCA)[\s='\"]+([A-Za-z0-9+/=]+)"
)


def authority(text: str) -> str:
    """The authority, base64, that user data tells a node to trust; empty where it states none."""
    stated = _IN_USER_DATA.search(text)
    return stated[1] if stated else ""
