"""What a pod answers behind the API server: only so much of it, for only so long, and from nowhere else.

A pod may answer gigabytes, or a byte a second for ever, and the client of Kubernetes would read all of it: then the
function ends before it has looked at the other pools. A redirect could lead to an address inside the function.
"""

import time
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urllib3 import PoolManager

_CHUNK = 1 << 16


def read(pools: "PoolManager", address: str, token: str, most: int, seconds: float) -> tuple[int, str]:
    """Status and text. Raises OSError where no whole answer comes in time."""
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 -- on first use

    until, content = time.monotonic() + seconds, bytearray()
    try:
        answer = pools.request(
            "GET",
            address,
            headers={"Authorization": f"Bearer {token}"},
            timeout=seconds,
            redirect=False,
            preload_content=False,
        )
        with closing(answer):
            while chunk := answer.read1(_CHUNK):
                content += chunk
                if len(content) > most or time.monotonic() > until:
                    raise TimeoutError(f"{len(content)} B, {seconds} s")
    except HTTPError as error:
        raise OSError(str(error)) from error
    return int(answer.status), content.decode("utf-8", "replace")
