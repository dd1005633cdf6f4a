"""An empty moto, and quickly: what it would make and throw away again at every start is made once, or not.

moto's backends are global to the process. What a lab finds in them is everybody else's business.
"""

import copy
import json
import os
from functools import cache

from moto.core.base_backend import BackendDict
from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.models import AWSManagedPolicy, IAMBackend
from moto.moto_api._internal import mock_random
from moto.moto_api._internal.models import moto_api_backend
from moto.s3.models import s3_backends


def forget_everything(seed: int = 0) -> None:
    """Leave no account, resource or record of an earlier cloud; `seed` decides the ids of what comes."""
    mock_random.seed(seed)
    os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"  # roles name AWS's own policies
    os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"  # ours are registered when a node group needs one
    IAMBackend._init_aws_policies = _policies  # type: ignore[method-assign,assignment]  # noqa: SLF001 (moto's own seam)
    for service in BackendDict._instances:  # type: ignore[misc]  # noqa: SLF001 (else a reset fills each again)
        for account in service.values():
            account.clear()
    # The names of buckets are kept beside the accounts; one without its bucket is looked for without end.
    s3_backends.bucket_accounts.clear()
    moto_api_backend.reset()


def _policies(backend: IAMBackend) -> list[AWSManagedPolicy]:
    """Each backend counts attachments on objects of its own; the documents behind them never change."""
    return [copy.copy(policy) for policy in _read_policies(backend.account_id, backend.region_name)]


@cache
def _read_policies(account_id: str, region: str) -> tuple[AWSManagedPolicy, ...]:
    policies = json.loads(aws_managed_policies_data)
    return tuple(
        AWSManagedPolicy.from_data(name, account_id, region, each) for name, each in policies.items()
    )
