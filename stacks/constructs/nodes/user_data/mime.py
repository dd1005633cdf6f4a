"""A MIME document of several parts, the form of user data that cloud-init of Amazon Linux reads."""

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2

SHELL_SCRIPT = 'text/x-shellscript; charset="us-ascii"'
NODE_CONFIG = "application/node.eks.aws"


def document(parts: Sequence[tuple[str, str | None]]) -> str | None:
    """The parts that have a body, by their content type; None without any."""
    present = [(kind, body) for kind, body in parts if body is not None]
    if not present:
        return None
    whole = ec2.MultipartUserData()
    for kind, body in present:
        whole.add_part(ec2.MultipartBody.from_raw_body(content_type=kind, body=body))
    return whole.render()
