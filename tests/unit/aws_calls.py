"""Which calls of AWS are made in this process, whatever client makes them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from botocore.client import BaseClient


@contextmanager
def heard(hear: Callable[[str, str, Mapping[str, Any]], object]) -> Iterator[None]:
    """Tells the service's id, the operation and the parameters of each call."""
    call = BaseClient._make_api_call  # type: ignore[attr-defined]

    def told(client: Any, operation: str, given: Any) -> Any:
        hear(client.meta.service_model.service_id, operation, given)
        return call(client, operation, given)

    with patch.object(BaseClient, "_make_api_call", told):
        yield
