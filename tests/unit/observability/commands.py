"""A command as a workflow's state carries it."""

OPEN = {
    "id": "cli-open-1",
    "verb": "open",
    "pool": "gpu",
    "owner": "alice",
    "by": "alice",
    "source": "cli",
    "issued": "2026-11-20T10:00:00Z",
    "expires": "2026-11-20T10:10:00Z",
}
