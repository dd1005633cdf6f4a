"""Which calls of AWS are made in this process, whatever client makes them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from botocore.client import BaseClient

Hear = Callable[[str, str, Mapping[str, Any]], object]
_hearing: list[Hear] = []


@contextmanager
def heard(hear: Hear) -> Iterator[None]:
    """Tells the service's id, the operation and the parameters of each call, before it is made."""
    call = BaseClient._make_api_call  # type: ignore[attr-defined]

    def told(client: Any, operation: str, given: Any) -> Any:
        hear(client.meta.service_model.service_id, operation, given)
        return call(client, operation, given)

    _hearing.append(hear)
    try:
        with patch.object(BaseClient, "_make_api_call", told):
            yield
    finally:
        _hearing.remove(hear)


def tell(service: str, operation: str, given: Mapping[str, Any]) -> None:
    """A call of a client that is none of botocore's."""
    for hear in tuple(_hearing):
        hear(service, operation, given)
