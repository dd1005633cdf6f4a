"""Service Quotas for EC2: how many vCPUs of a family an account may run. The GPU quota follows the faults."""

from local.aws.ec2_faults import Faults
from local.aws.own_services import AwsError, Document
from local.aws.surroundings import Surroundings

GPU_QUOTA = "L-DB2E81BA"
#: Name and value by code; the value of an account that has asked for some GPUs [est].
QUOTAS = {
    GPU_QUOTA: ("Running On-Demand G and VT instances", 64),
    "L-417A185B": ("Running On-Demand P instances", 192),
    "L-1216C47A": ("Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 256),
}


class Quotas:
    """Public methods that boto3 knows are operations of `service-quotas`."""

    def __init__(self, surroundings: Surroundings, faults: Faults) -> None:
        self._surroundings = surroundings
        self._faults = faults

    def get_service_quota(self, request: Document) -> Document:
        code = request["QuotaCode"]
        if request["ServiceCode"] != "ec2" or code not in QUOTAS:
            raise AwsError(
                "NoSuchResourceException", f"The request failed because the quota {code} doesn't exist"
            )
        return {"Quota": self._quota(code)}

    def get_aws_default_service_quota(self, request: Document) -> Document:
        return self.get_service_quota(request)

    def list_service_quotas(self, request: Document) -> Document:
        codes = QUOTAS if request["ServiceCode"] == "ec2" else ()
        return {"Quotas": [self._quota(code) for code in codes]}

    def _quota(self, code: str) -> Document:
        name, value = QUOTAS[code]
        limited = self._faults.gpu_vcpu_limit if code == GPU_QUOTA else None
        return {
            "ServiceCode": "ec2",
            "ServiceName": "Amazon Elastic Compute Cloud (Amazon EC2)",
            "QuotaArn": self._surroundings.arn("servicequotas", f"ec2/{code}"),
            "QuotaCode": code,
            "QuotaName": name,
            "Value": float(value if limited is None else limited),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }
