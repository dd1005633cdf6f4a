"""Jobs, and the headless Services by which their pods find each other: create, list, delete with their pods."""

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.connection import CONFLICT, NOT_FOUND, Connection, Forbidden, Object


@border
def create(connection: Connection, job: Object, service: Object) -> None:
    """Create the Service, then the Job, where they do not exist: the first rank needs the Service's name."""
    _create(connection, _services(service["metadata"]["namespace"]), service)
    _create(connection, _jobs(job["metadata"]["namespace"]), job)


@border
def labels(connection: Connection, selector: str, namespace: str) -> dict[str, dict[str, str]]:
    """Every Job and Service by label, by its path, with its labels."""
    found: dict[str, dict[str, str]] = {}
    for path in (_jobs(namespace), _services(namespace)):
        try:
            items = connection.list(path, labelSelector=selector)
        except Forbidden:
            # Who may not see any cannot have made one: an adopted cluster with the rights of an older release.
            continue
        for item in items:
            metadata = item["metadata"]
            found[f"{path}/{metadata['name']}"] = metadata.get("labels") or {}
    return found


@border
def delete(connection: Connection, path: str) -> None:
    """Delete the Job or Service, and a Job's pods with it."""
    body: Object = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
    answer = connection.ask("DELETE", path, body=body)
    if answer.status != NOT_FOUND:
        connection.expect(answer, "DELETE", path)


def _create(connection: Connection, path: str, item: Object) -> None:
    answer = connection.ask("POST", path, body=item)
    if answer.status != CONFLICT:
        connection.expect(answer, "POST", path)


def _jobs(namespace: str) -> str:
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def _services(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/services"
