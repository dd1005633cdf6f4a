"""Removes from the installed packages the modules that no handler imports, and the data of unused AWS services.

The used services are read from the product's source, so a new client keeps the data of its service.
"""

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

#: Patterns of files that no function imports. boto3 stays although Lambda brings one: the tested version is the one
#: that runs, and a function loads it as fast from a layer as from the runtime.
NEVER_IMPORTED = (
    # The asyncio twin of the Kubernetes client and what only it needs.
    "kubernetes/aio",
    *("aiohappyeyeballs", "aiohttp", "aiohttp_retry", "aiosignal", "attr", "attrs", "frozenlist"),
    *("multidict", "propcache", "yarl"),
    # Its typed calls and objects: we name paths ourselves and send plain JSON.
    *("kubernetes/client/api", "kubernetes/client/models/[!_]*.py"),
    # What else Powertools has than a logger, Slack's SDK than a Web client, boto3 than clients.
    "aws_lambda_powertools/event_handler",
    *(
        f"aws_lambda_powertools/utilities/{name}"
        for name in ("auth_alpha", "circuit_breaker", "data_classes", "feature_flags", "idempotency")
    ),
    *(f"aws_lambda_powertools/utilities/{name}" for name in ("parameters", "parser")),
    *(f"slack_sdk/{name}" for name in ("audit_logs", "oauth", "rtm", "rtm_v2", "scim", "socket_mode")),
    *("slack", "boto3/data", "boto3/examples"),
    # pydantic's first version.
    "pydantic/v1",
    # Programs, tests, stubs.
    *("bin", "*/test", "*/tests", "**/*.pyi"),
)
#: What a distribution says of itself, besides name, version and license.
DESCRIPTIONS = tuple(
    f"*.dist-info/{name}" for name in ("RECORD", "INSTALLER", "REQUESTED", "WHEEL", "top_level.txt", "sboms")
)
#: What botocore has of a service that only its documentation reads.
EXAMPLES = "examples-1.json"


def services(source: Path) -> frozenset[str]:
    """The AWS services that the Python files below a folder make clients of, as boto3 names them."""
    texts = (path.read_bytes() for path in source.rglob("*.py"))
    # Parsing all files would take most of the time of a synthesis.
    return frozenset(service for text in texts if b"client(" in text for service in _clients(ast.parse(text)))


def prune(packages: Path, kept: frozenset[str]) -> None:
    """Removes the files that no function imports, and the data of all services except these."""
    for pattern in (*NEVER_IMPORTED, *DESCRIPTIONS):
        for path in list(packages.glob(pattern)):
            _remove(path)
    for service in (packages / "botocore" / "data").iterdir():
        if service.is_dir():
            _prune_service(service, keep=service.name in kept)


def _clients(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and node.args and _name(node.func) == "client":
            service = node.args[0]
            if isinstance(service, ast.Constant) and isinstance(service.value, str):
                yield service.value


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _prune_service(folder: Path, *, keep: bool) -> None:
    """Keeps only the newest version of a service's data: clients use it unless they name another."""
    *older, _newest = sorted(folder.iterdir())
    for path in older if keep else [folder]:
        _remove(path)
    for path in folder.glob(f"*/{EXAMPLES}"):
        _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
