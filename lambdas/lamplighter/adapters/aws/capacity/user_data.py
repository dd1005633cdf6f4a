"""The certificate authority that the user data of a launch template gives to a node, and the certificates in one.

It has a file of its own because compiling the expression takes more than a function's start may pay for it.
"""

import base64
import re

# As the start-up programs of Amazon Linux 2 and 2023, Bottlerocket and Windows read it.
_IN_USER_DATA = re.compile(
    r"(?:--b64-cluster-ca|\bcertificateAuthority:|\bcluster-certificate\s*=|-Base64ClusterCA)[\s='\"]+([A-Za-z0-9+/=]+)"
)
_IN_PEM = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


def authority(text: str) -> str:
    """The authority, base64, that user data tells a node to trust; empty where it states none."""
    stated = _IN_USER_DATA.search(text)
    return stated[1] if stated else ""


def certificates(data: str) -> frozenset[str]:
    """The certificates, base64, of an authority as EKS answers it: while it is rotated there are two, in any order.

    Raises ValueError where it cannot be read.
    """
    pem = base64.b64decode(data).decode()
    return frozenset("".join(found.split()) for found in _IN_PEM.findall(pem))
