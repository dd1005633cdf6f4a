"""The patterns of the names in lab.yaml. The JSON Schema has them, too.

Longer names are made from a name, and they limit its length: `<lab>-ng-<pool>` may have 63 characters, and
`close-<window>-<date>-<event of a calendar>` 64.
"""

LAB_NAME = "^[a-z][a-z0-9-]{0,39}$"
POOL_NAME = "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$"
# A file in the folder of the lab or below it: no path leads out of the folder.
CALENDAR_FILE = r"^[A-Za-z0-9_][A-Za-z0-9_. -]*(/[A-Za-z0-9_][A-Za-z0-9_. -]*)*\.ics$"
COURSE_CALENDAR = rf"^https://[^\s/?#@\\]+([/?#]\S*)?$|{CALENDAR_FILE}"
WINDOW_NAME = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$"
NODEGROUP_NAME = "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"
# A node group, or a NodePool, whose name may have dots; labfile/rules/node_pools.py tells them apart.
EXISTING_POOL = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
# Auto Scaling allows other characters, too, but EKS uses none of them.
AUTO_SCALING_GROUP = "^[A-Za-z0-9][A-Za-z0-9_-]{0,254}$"
CLUSTER_NAME = "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
INSTANCE_TYPE = r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$"
ADD_ON = "^[a-z0-9][a-z0-9_-]{0,99}$"
AMI_TYPE = "^[A-Za-z0-9_]+$"
# A word of dnf: a name, a file, a group or an address. The start script is a shell's, which reads anything else itself.
PACKAGE = "^[A-Za-z0-9@/][A-Za-z0-9@/:._+~*-]*$"
IMAGE_ID = "^ami-[0-9a-f]{8}([0-9a-f]{9})?$"
POOL_IMAGE = r"^(ami-[0-9a-f]{8}([0-9a-f]{9})?|[a-z0-9]+@[0-9a-z.]+)$"
"""An image id, or an alias of Karpenter with its version."""
RESERVATION = "^cr-[0-9a-f]{8}([0-9a-f]{9})?$"
KUBERNETES_VERSION = r"^1\.[0-9]{2}$"
# NVIDIA's own names, with or without the prefix all- of the MIG manager's list.
MIG_PROFILE = r"^(all-)?([1-7]g\.[0-9]{1,3}gb(\.me)?(\+gfx|\+me)?|balanced|disabled)$"
CHART_VERSION = r"^v[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}$"
PLAIN_VERSION = r"^[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}$"
# IAM's own: a path of up to 512 characters, and a name of up to 64. Neither * nor ?, which a policy would read as any.
ROLE_NAME = r"^([A-Za-z0-9+=,.@_-]{1,100}/){0,5}[A-Za-z0-9+=,.@_-]{1,64}$"
CHART_REPOSITORY = "^https://[^ ]+$"
NAMESPACE = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
# The ledger has closed leases for 45 days: so it still knows when a class was the last time.
DAYS = "^([1-9]|[12][0-9]|30)d$"
CURRENCY = "^[A-Z]{3}$"
ADMIN_ARN = "^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+$"
MEMBER = "^[USW][A-Z0-9]{1,30}$"
# A policy of the account or of AWS; its path and name as IAM has them, and none with a * or ?.
BOUNDARY_ARN = (
    "^arn:aws:iam::([0-9]{12}|aws):policy/([A-Za-z0-9+=,.@_-]{1,100}/){0,5}[A-Za-z0-9+=,.@_-]{1,128}$"
)
SLACK_COMMAND = "^[a-z0-9][a-z0-9_-]{0,30}$"
SLACK_CHANNEL = "^[CG][A-Z0-9]{1,30}$"
SLACK_TEAM = "^T[A-Z0-9]{1,30}$"
SECRET_ARN = "^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+$"  # noqa: S105 - a pattern, not a secret
EMAIL = r"^[^@\s]+@[^@\s]+\.[^@\s]+$"
ADDRESS = r"^[^@\s:/]+@[^@\s:/]+\.[^@\s:/]+$|^https://[^\s/?#@\\]+([/?#]\S*)?$"
ENTRY_NAME = "^[a-z0-9][a-z0-9_-]{0,39}$"
EVENT_SOURCE = r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"
