"""What a pool's capacity is called: in AWS, on its nodes in Kubernetes, and on its instances in EC2.

Pure values, for whoever has no AWS client: the cluster steps, the charts, the doctor, the YAML in Slack.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lamplighter.reasons.reason import Reason


@dataclass(frozen=True)
class Identity:
    """The names of one pool's capacity."""

    pool: str
    cluster: str
    name: str
    """Of the thing that a size is ordered at."""
    label: str
    """The label that each of its nodes has in Kubernetes, with the name as its value."""
    tags: Mapping[str, str]
    """The EC2 tags that prove an instance to be the pool's: AWS or the controller sets them at its launch."""
    missing: Reason
    """What to tell where it does not exist."""

    @property
    def selector(self) -> str:
        """Selects the pool's nodes, as kubectl writes it."""
        return f"{self.label}={self.name}"
