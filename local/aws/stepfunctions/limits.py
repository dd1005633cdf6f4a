"""How much Step Functions carries and counts: 256 KiB a state, 25,000 events a run.

https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html ("262,144 bytes of data as a UTF-8 encoded
string"; "25,000 events in a single state machine execution history").
"""

import json
from dataclasses import dataclass
from typing import Any

from local.aws.stepfunctions.errors import StatesError

Json = Any
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


@dataclass
class Limits:
    """The limits of Step Functions. A test may make a history shorter, to reach its end sooner."""

    data_bytes: int = 262_144
    history_events: int = 25_000

    def fits(self, data: Json) -> bool:
        """Whether a state may carry the data; its size counts in UTF-8, without blanks."""
        return len(_encode(data).encode()) <= self.data_bytes

    def checked(self, data: Json, state: str) -> Json:
        """The data. Raises States.DataLimitExceeded if it is more than a state may carry."""
        if not self.fits(data):
            raise StatesError(
                "States.DataLimitExceeded",
                f"The state/task '{state}' returned a result with a size exceeding the maximum number of bytes"
                " service limit.",
            )
        return data
