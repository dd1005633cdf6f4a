"""How to reach a running embedded cloud. `local up` writes it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True)
class Endpoints:
    """Addresses and credentials. `now` is the virtual instant at which this was written."""

    endpoint: str
    region: str
    access_key_id: str
    secret_access_key: str
    kubeconfig: str
    now: datetime
    rate: float
    clock_url: str
    slack_url: str | None = None
    signing_secret: str | None = field(default=None, repr=False)

    def environment(self) -> dict[str, str]:
        """The environment variables with which an AWS SDK program talks to this cloud and no other."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_EC2_METADATA_DISABLED": "true",
            "KUBECONFIG": self.kubeconfig,
        }

    def to_json(self) -> dict[str, Any]:
        """The contract's document."""
        return {
            "aws": {
                "endpoint": self.endpoint,
                "region": self.region,
                "access_key_id": self.access_key_id,
                "secret_access_key": self.secret_access_key,
            },
            "kubernetes": {"kubeconfig": self.kubeconfig},
            "slack": {"url": self.slack_url, "signing_secret": self.signing_secret},
            "clock": {
                "now": self.now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
                "rate": self.rate,
                "url": self.clock_url,
            },
        }
