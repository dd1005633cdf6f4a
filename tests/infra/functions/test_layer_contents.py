"""The layer has all that the functions' code may import or call, and nothing large besides."""

from collections.abc import Iterator

import botocore.session

from stacks import layer
from stacks.layer_contents import services
from tests.infra.conftest import Template
from tests.infra.functions.unpacked import Unpacked
from tests.world.aws import authority

LARGE = 200 * 1024
#: Data that is read, not imported: of time zones, and of AWS's services, which a test of its own is about.
DATA = {"tzdata", "botocore/data"}
#: What a policy allows that no code of ours calls: Lambda does it in the function's name, or AWS asks for it.
NEVER_CALLED = {"logs:CreateLogStream", "logs:PutLogEvents", "sqs:SendMessage", "iam:PassRole"}

#: Imports all that the code names, at whatever moment it does so, and reports which folders nothing came from.
EVERY_IMPORT = """
import ast, importlib, json, pathlib
def named(node):
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    if isinstance(node, ast.ImportFrom):
        yield node.module
    for inner in ast.iter_child_nodes(node):
        yield from named(inner)
# What runs in a GPU pod, not in a function.
files = [path for path in pathlib.Path(code).rglob("*.py") if path.name != "collective.py"]
names = {name for path in files for name in named(ast.parse(path.read_bytes()))}
for name in sorted(names):
    importlib.import_module(name)
import boto3
for service in sys.argv[1:]:
    boto3.client(service, region_name="eu-central-1")
root = pathlib.Path(packages)
origins = [pathlib.Path(m.__spec__.origin) for m in list(sys.modules.values()) if m.__spec__ and m.__spec__.origin]
used = {str(folder.relative_to(root)) for path in origins if root in path.parents
        for folder in path.parents if root in folder.parents}
print(json.dumps(sorted(used)))
"""

#: Speaks to an API server that has one object and knows no other path.
KUBERNETES = """
import http.server, json, sys, threading
from lamplighter.adapters.kubernetes.connection import Connection

class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.path.startswith("/api/v1/nodes")
        body = json.dumps({"items": [{"metadata": {"name": "a"}}]} if found else {"reason": "NotFound"}).encode()
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

class Token:
    def value(self):
        return "token"
    def forget(self):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
connection = Connection(f"http://127.0.0.1:{server.server_port}", sys.argv[1], Token())
print(json.dumps([connection.list("/api/v1/nodes"), connection.get("/api/v1/pods")]))
"""


def called() -> frozenset[str]:
    return services(layer.LOCK.parent)


def test_everything_that_the_code_imports_at_any_time_is_there_and_every_client_can_be_made(
    unpacked: Unpacked,
) -> None:
    used = set(unpacked.run(EVERY_IMPORT, *sorted(called())))
    assert {folder for folder in large_folders(unpacked) if folder not in used} == set()


def test_the_kubernetes_client_works_without_its_models(unpacked: Unpacked) -> None:
    assert unpacked.run(KUBERNETES, authority.pem().decode()) == [[{"metadata": {"name": "a"}}], {}]


def test_every_service_that_a_policy_allows_a_function_to_call_has_its_data_and_no_other_has(
    unpacked: Unpacked, cluster: Template, controller: Template, slack: Template
) -> None:
    allowed = {
        action.partition(":")[0]
        for template in (cluster, controller, slack)
        for action in actions_of_our_functions(template)
        if action not in NEVER_CALLED
    }
    data = unpacked.packages / "botocore" / "data"
    kept = {path.name for path in data.iterdir() if path.is_dir()}

    assert allowed <= kept | {prefix(name) for name in kept}
    assert kept == called()


def prefix(service: str) -> str:
    """How IAM's actions begin that are for this service."""
    model = botocore.session.get_session().get_service_model(service)
    return str(model.metadata.get("signingName") or model.metadata["endpointPrefix"])


def actions_of_our_functions(template: Template) -> Iterator[str]:
    roles = {
        function["Role"]["Fn::GetAtt"][0]
        for function in template.properties("AWS::Lambda::Function")
        if function["Handler"].startswith("handlers.")
    }
    for policy in template.properties("AWS::IAM::Policy"):
        if roles & {role["Ref"] for role in policy["Roles"] if "Ref" in role}:
            for statement in policy["PolicyDocument"]["Statement"]:
                if statement["Effect"] == "Allow":
                    actions = statement["Action"]
                    yield from [actions] if isinstance(actions, str) else actions


def large_folders(unpacked: Unpacked) -> Iterator[str]:
    """Those below which more than LARGE bytes lie, without bytecode and data."""
    for folder in sorted(path for path in unpacked.packages.rglob("*") if path.is_dir()):
        name = str(folder.relative_to(unpacked.packages))
        if name.split("/", maxsplit=1)[0] in DATA or any(
            name == data or name.startswith(f"{data}/") for data in DATA
        ):
            continue
        size = sum(
            path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"
        )
        if folder.name != "__pycache__" and size > LARGE:
            yield name
