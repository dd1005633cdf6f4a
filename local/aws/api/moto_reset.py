"""Empties moto quickly: some objects that moto would make again at every start are made once, or never.

moto's backends are global in the process. This file does not fill them.
"""

import json
import os
from functools import cache

from moto.core.base_backend import BackendDict
from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.models import AWSManagedPolicy, IAMBackend
from moto.moto_api._internal import mock_random
from moto.moto_api._internal.models import moto_api_backend
from moto.s3.models import s3_backends

from local.aws.authorization.organisation import ORGANISATION
from local.aws.authorization.propagation import PROPAGATION
from local.aws.iam import PARTITION


def forget_everything(seed: int = 0) -> None:
    """Removes every account, resource and record of an earlier cloud. `seed` decides the ids of new ones."""
    mock_random.seed(seed)
    os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"  # roles name AWS's own policies
    os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"  # a node group registers the image that it needs
    IAMBackend._init_aws_policies = _policies  # type: ignore[method-assign,assignment]  # noqa: SLF001 (moto's own seam)
    for service in BackendDict._instances:  # type: ignore[misc]  # noqa: SLF001 (else a reset fills each again)
        for account in service.values():
            account.clear()
    # moto keeps bucket names beside the accounts. It would search for ever for a name without its bucket.
    s3_backends.bucket_accounts.clear()
    PROPAGATION.forget()
    ORGANISATION.forget()
    moto_api_backend.reset()


def _policies(backend: IAMBackend) -> list[AWSManagedPolicy]:
    """AWS's policies. Each backend counts attachments on its own objects; the documents behind them never change.

    moto makes a backend of each partition to look up the account of a request's key, and a lab is in one partition.
    """
    if backend.region_name != PARTITION:
        return []
    return [_own(policy) for policy in _read_policies(backend.account_id, backend.region_name)]


def _own(policy: AWSManagedPolicy) -> AWSManagedPolicy:
    """What copy.copy would make of it, in a fifth of its time: there are fifteen hundred."""
    own: AWSManagedPolicy = object.__new__(type(policy))
    own.__dict__.update(policy.__dict__)
    return own


@cache
def _read_policies(account_id: str, region: str) -> tuple[AWSManagedPolicy, ...]:
    policies = json.loads(aws_managed_policies_data)
    return tuple(
        AWSManagedPolicy.from_data(name, account_id, region, each) for name, each in policies.items()
    )
