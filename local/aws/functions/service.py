"""moto's Lambda with real execution: our workers replace the one method of moto that needs docker.

This file makes a worker's specification from moto's function. moto keeps the API, its validation and its documents.
"""

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import moto.awslambda.models as moto_lambda
from moto.awslambda.exceptions import InvalidParameterValueException, LambdaClientError

from local.aws.functions.assets import Assets, unpacked_into
from local.aws.functions.asynchronous import AsyncInvoker
from local.aws.functions.layer_tools import LayerTools
from local.aws.functions.runnable_layer import OURS, has_packages, runnable
from local.aws.functions.runtime import Runtime, Throttled
from local.aws.functions.unpacked_files import as_unpacked
from local.aws.functions.worker import FunctionSpec, Outcome


class TooManyRequests(LambdaClientError):
    """The account runs as many functions as it may (Lambda's API reference, Invoke)."""

    code = 429

    def __init__(self) -> None:
        super().__init__("TooManyRequestsException", "Rate Exceeded.")


class LambdaService:
    """The functions of one embedded cloud as moto knows them, run by `runtime`."""

    def __init__(self, runtime: Runtime, later: AsyncInvoker, assets: Assets, work: Path) -> None:
        self.runtime = runtime
        self.tools = LayerTools(work)
        self.later = later
        self._assets = assets
        #: Whether Lambda may assume a role, by its ARN.
        self.takes: Callable[[str], bool] = lambda _: True
        self._code = work / "code"
        self._code.mkdir(parents=True, exist_ok=True)

    def install(self) -> None:
        """Replaces parts of moto: invocation, and the facts that moto leaves out of a function."""
        os.environ["VALIDATE_LAMBDA_S3"] = "false"  # the code comes from the assembly, not from a bucket
        model = moto_lambda.LambdaFunction
        plain = vars(_Originals)
        backend = moto_lambda.LambdaBackend
        backend.invoke = _invoke(self)  # type: ignore[method-assign]
        deleted = _deleted(self, plain["delete_function"])
        backend.delete_function = deleted  # type: ignore[method-assign]
        backend.put_function_concurrency = _reserved(self)  # type: ignore[method-assign]
        backend.delete_function_concurrency = _reserved(self)  # type: ignore[method-assign]
        for update in ("update_configuration", "update_function_code"):
            setattr(model, update, _changed(self, plain[update]))
        model.__init__ = _created(self, plain["created"])  # type: ignore[method-assign]

    def run(self, function_arn: str, payload: bytes) -> Outcome:
        """Runs a function now, by its ARN, in nobody's name. Raises Throttled if the account runs too many."""
        return self.runtime.invoke(self.specification(self._function(function_arn)), payload)

    def role(self, function_arn: str) -> str:
        """The ARN of the function's role."""
        return str(self._function(function_arn).role)

    def warm_up(self, named: str = "") -> None:
        """Starts a worker for each Python function whose name ends like this: a cold start may take virtual minutes."""
        for account in moto_lambda.lambda_backends.values():
            for backend in list(account.values()):
                for function in list(backend.list_functions()):
                    python = (function.run_time or "").startswith("python")
                    if python and function.function_name.endswith(named):
                        self.runtime.warm(self.specification(function))

    def logs(self, function_arn: str) -> str:
        """All lines that the function has written."""
        return self.runtime.logs(self._function(function_arn).function_name)

    def at_work(self, function_arn: str) -> bool:
        """Whether the function works on an event, or an event waits for one of its workers."""
        return self.runtime.at_work(self._function(function_arn).function_name)

    def specification(self, function: Any) -> FunctionSpec:
        """What a worker of this moto function needs."""
        layers = self._layers(function)
        tools = self.tools.variables(layers)
        packages = tuple(runnable(layer) for layer in layers if has_packages(layer))
        return FunctionSpec(
            name=function.function_name,
            arn=function.function_arn,
            role=function.role,
            handler=function.handler,
            code=self._folder(function),
            packages=packages or (OURS,),
            timeout=float(function.timeout),
            memory=int(function.memory_size),
            region=function.region,
            version=str(function.version)
            if ":" in function.function_arn.split(":function:")[1]
            else "$LATEST",
            log_format=function.log_format,
            environment={**(function.environment_vars or {}), **tools},
            scratch_in=("HOME", "TMPDIR", *(["TEST_OUTDIR"] if tools else [])),
            own_time=bool(tools),
        )

    def _function(self, arn: str) -> Any:
        _, _, _, region, account, *_ = arn.split(":")
        return moto_lambda.lambda_backends[account][region].get_function(arn)

    def _layers(self, function: Any) -> list[Path]:
        backend = moto_lambda.lambda_backends[function.account_id][function.region]
        versions = [backend.layers_versions_by_arn(layer["Arn"]) for layer in function.layers]
        contents = [version.content for version in versions if version]
        folders = [self._assets.folder(each.get("S3Key", ""), each.get("S3Bucket", "")) for each in contents]
        return [folder for folder in folders if folder]

    def _folder(self, function: Any) -> Path:
        key = function.code.get("S3Key", "")
        asset = self._assets.source(key, function.code.get("S3Bucket", ""))
        if asset is not None and asset.is_file():
            return unpacked_into(self._code / Path(key).stem, asset)
        if asset is not None:
            return as_unpacked(asset, self._code / asset.name)
        digest = hashlib.sha256(function.code_bytes).hexdigest()[:16]
        return unpacked_into(self._code / digest, io.BytesIO(function.code_bytes))


class _Originals:
    """moto's own methods, kept once: a second cloud in this process wraps them, and not our wrappers."""

    delete_function = moto_lambda.LambdaBackend.delete_function
    update_configuration = moto_lambda.LambdaFunction.update_configuration
    update_function_code = moto_lambda.LambdaFunction.update_function_code
    created = moto_lambda.LambdaFunction.__init__


def _invoke(service: LambdaService) -> Any:
    def invoke(backend: Any, name: str, qualifier: str | None, body: str, *rest: Any) -> bytes:
        headers, reply = rest
        function = backend.get_function(name, qualifier)
        payload = (body or "{}").encode()
        kind = headers.get("X-Amz-Invocation-Type", "RequestResponse")
        json.loads(payload)
        reply["x-amz-executed-version"] = "$LATEST"
        if kind == "DryRun":
            return b""
        if kind == "Event":
            service.later.accept(function, service.specification(function), payload)
            return b""
        try:
            outcome = service.runtime.invoke(service.specification(function), payload)
        except Throttled:
            raise TooManyRequests from None
        if outcome.failed:
            reply["x-amz-function-error"] = "Unhandled"
        return outcome.payload

    return invoke


def _created(service: LambdaService, original: Any) -> Any:
    def created(
        function: Any, account_id: str, spec: Mapping[str, Any], region: str, version: Any = 1
    ) -> None:
        if not service.takes(spec["Role"]):
            raise InvalidParameterValueException(
                "The role defined for the function cannot be assumed by Lambda."
            )
        original(function, account_id, spec, region, version)
        function.dead_letter_arn = (spec.get("DeadLetterConfig") or {}).get("TargetArn")
        function.log_format = (spec.get("LoggingConfig") or {}).get("LogFormat", "Text")

    return created


def _changed(service: LambdaService, original: Any) -> Any:
    def changed(function: Any, updates: Mapping[str, Any]) -> Any:
        answer = original(function, updates)
        if "DeadLetterConfig" in updates:
            function.dead_letter_arn = updates["DeadLetterConfig"].get("TargetArn")
        service.runtime.forget(function.function_name)
        return answer

    return changed


def _reserved(service: LambdaService) -> Any:
    def reserved(backend: Any, function_name: str, places: int | None = None) -> int | None:
        function = backend.get_function(function_name)
        try:
            service.runtime.reserve(function.function_name, places)
        except ValueError as error:
            raise InvalidParameterValueException(str(error)) from error
        function.reserved_concurrency = places
        return places

    return reserved


def _deleted(service: LambdaService, original: Any) -> Any:
    def deleted(backend: Any, function_name: str, qualifier: str | None = None) -> None:
        name = backend.get_function(function_name, None).function_name
        service.runtime.forget(name)
        service.runtime.reserve(name, None)
        original(backend, function_name, qualifier)

    return deleted
