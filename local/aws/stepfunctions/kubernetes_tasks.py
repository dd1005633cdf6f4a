"""The optimised integration of EKS: a task runs a Job (`eks:runJob`), or makes a call (`eks:call`), in a cluster.

The cluster knows the state machine's role by its access entry, as for any other client. IAM has no action for this.

Source: Step Functions developer guide, "Create and manage Amazon EKS clusters with Step Functions". Its one example of
an error is `EKS.401`, whose cause has ResponseBody, StatusCode and StatusText. It does not name the error of an address
that does not answer [est].
"""

import base64
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import boto3
from botocore.model import ServiceId
from botocore.signers import RequestSigner
from urllib3.exceptions import HTTPError

from local.aws.api.own_services import Document
from local.aws.stepfunctions.errors import StatesError, Stopped
from local.aws.stepfunctions.execution import Scope
from local.kubernetes.api import Answer, ApiError, KubernetesApi

Json = Any

#: "Initially, Step Functions polls at a rate of approximately 1 poll per minute. This rate eventually slows to
#: approximately 1 poll every 5 minutes": after how many polls is not said [est].
FIRST_POLL_SECONDS, LATER_POLL_SECONDS, FIRST_POLLS = 60.0, 300.0, 10
#: The most characters of an error's cause.
CAUSE_CHARACTERS = 32_768
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH")
#: No answer from the address of the API server.
UNREACHABLE = "EKS.SdkClientException"
_EVERYWHERE = ("0.0.0.0/0", "::/0")
_BAD = 400


class Cluster:
    """The API server that the parameters of a task name, in the name of a role with these credentials of STS."""

    def __init__(self, parameters: Document, credentials: Mapping[str, str], region: str) -> None:
        name, authority, endpoint = (
            _needed(parameters, key) for key in ("ClusterName", "CertificateAuthority", "Endpoint")
        )
        try:
            pem = base64.b64decode(authority, validate=True).decode()
            self._api = KubernetesApi(endpoint, pem, token=_token(name, credentials, region))
        except (ValueError, OSError) as error:
            raise StatesError(
                "States.Runtime", f"The value of 'CertificateAuthority' is invalid: {error}"
            ) from error

    def request(self, method: str, path: str, body: Json = None) -> Json:
        """Raises StatesError, named after the HTTP status."""
        try:
            return self._api.request(method, path, body)
        except ApiError as error:
            raise StatesError(f"EKS.{error.status}", str(error)) from error
        except HTTPError as error:
            raise StatesError(UNREACHABLE, str(error)) from error

    def answer(self, method: str, path: str, body: str | None) -> Answer:
        """Raises StatesError if nothing answers."""
        try:
            return self._api.send(method, path, body)
        except HTTPError as error:
            raise StatesError(UNREACHABLE, str(error)) from error

    def log(self, pod: str, query: str) -> str:
        """The log of a pod at this path; empty if there is none."""
        try:
            return self._api.text(f"{pod}/log?{query}")
        except (ApiError, HTTPError):
            return ""


def refuse_private(described: Document) -> None:
    """Raises StatesError if Step Functions does not reach the cluster's address from outside its network.

    "The Step Functions EKS integration supports only Kubernetes APIs with public endpoint access." From which addresses
    it calls is not said, so a list of allowed ones excludes it here [est].
    """
    vpc = described.get("resourcesVpcConfig") or {}
    ranges = vpc.get("publicAccessCidrs") or _EVERYWHERE[:1]
    if not vpc.get("endpointPublicAccess", True) or not set(_EVERYWHERE) & set(ranges):
        raise StatesError(UNREACHABLE, f"{described.get('endpoint')} does not answer: connect timed out")


def call(cluster: Cluster, parameters: Document) -> Document:
    """`eks:call`: one request to the Kubernetes API. A status of 400 and above raises StatesError, named after it."""
    method, given = _needed(parameters, "Method"), parameters.get("RequestBody")
    if method not in METHODS:
        raise StatesError("States.Runtime", f"The value of the field 'Method' is not one of {METHODS}")
    query = urlencode(parameters.get("QueryParameters") or {}, doseq=True)
    path = _needed(parameters, "Path") + (f"?{query}" if query else "")
    body = given if given is None or isinstance(given, str) else json.dumps(given)
    answer = cluster.answer(method, path, body)
    result = {
        "ResponseBody": _read(answer.body.decode(errors="replace")),
        "StatusCode": answer.status,
        "StatusText": answer.text,
    }
    if answer.status >= _BAD:
        cause = json.dumps(result, separators=(",", ":"))
        raise StatesError(f"EKS.{answer.status}", cause[:CAUSE_CHARACTERS])
    return result


def run_job(cluster: Cluster, parameters: Document, scope: Scope, *, sync: bool) -> Document:
    """`eks:runJob`: the Job as it was created; with `.sync` as it ended, and with its logs if the task asks for them.

    A failed Job raises StatesError. An ended Job stays in the cluster. The Job of a stopped task is deleted: AWS says
    of every `.sync` task that it tries to cancel the job, and does not say how it does that in EKS [est].
    """
    _needed(parameters, "Job")
    jobs = f"/apis/batch/v1/namespaces/{parameters.get('Namespace') or 'default'}/jobs"
    job: Document = cluster.request("POST", jobs, parameters["Job"])
    if not sync:
        return job
    address = f"{jobs}/{job['metadata']['name']}"
    try:
        ended = _ended(cluster, address, scope)
    except Stopped:
        with suppress(StatesError):
            cluster.request("DELETE", f"{address}?propagationPolicy=Background")
        raise
    options = parameters.get("LogOptions") or {}
    logs = {"logs": _logs(cluster, ended, options)} if options.get("RetrieveLogs") else {}
    result = {**ended, **logs}
    if _is(ended, "Failed"):
        raise StatesError("States.TaskFailed", json.dumps(result, separators=(",", ":"))[:CAUSE_CHARACTERS])
    return result


def _ended(cluster: Cluster, address: str, scope: Scope) -> Document:
    """The Job, once it is complete or failed."""
    polls = 0
    while True:
        pause = FIRST_POLL_SECONDS if polls < FIRST_POLLS else LATER_POLL_SECONDS
        scope.sleep_until(scope.clock.time() + pause)
        polls += 1
        job: Document = cluster.request("GET", address)
        if _is(job, "Complete") or _is(job, "Failed"):
            return job


def _is(job: Document, condition: str) -> bool:
    conditions = job.get("status", {}).get("conditions") or []
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def _logs(cluster: Cluster, job: Document, options: Document) -> Document:
    """The logs of the Job's containers. They are JSON where they can be read as JSON, unless RawLogs says otherwise."""
    pods = f"/api/v1/namespaces/{job['metadata']['namespace']}/pods"
    selector = urlencode({"labelSelector": f"job-name={job['metadata']['name']}"})
    logs: Document = {}
    for pod in cluster.request("GET", f"{pods}?{selector}")["items"]:
        name = pod["metadata"]["name"]
        containers = logs[name] = {"containers": {}}
        for container in pod["spec"]["containers"]:
            asked = {"container": container["name"], **(options.get("LogParameters") or {})}
            text = cluster.log(f"{pods}/{name}", urlencode(asked, doseq=True))
            containers["containers"][container["name"]] = {
                "log": text if options.get("RawLogs") else _read(text)
            }
    return {"pods": logs}


def _read(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _needed(parameters: Document, name: str) -> str:
    if not parameters.get(name):
        raise StatesError("States.Runtime", f"The field '{name}' is required but was missing")
    value: str = parameters[name]
    return value


def _token(cluster: str, credentials: Mapping[str, str], region: str) -> str:
    """The token by which EKS knows a role: a presigned call of STS, in AWS's own form."""
    session = boto3.session.Session(
        credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"], region
    )
    own = session.get_credentials()
    assert own is not None  # noqa: S101 (given above)
    request = {
        "method": "GET",
        "url": f"https://sts.{region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {"x-k8s-aws-id": cluster},
        "context": {},
    }
    signer = RequestSigner(ServiceId("STS"), region, "sts", "v4", own, session.events)
    url = signer.generate_presigned_url(request, region_name=region, expires_in=60, operation_name="")
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
