"""Service Quotas: how many vCPUs of a family an account may run, how much its disks hold, and how many functions.

The GPU quota follows the faults that are on. A request for more stays open: nobody here decides it.
"""

from local.aws.api.own_services import AwsError, Document
from local.aws.api.service_context import ServiceContext
from local.aws.ec2.ec2_faults import Faults
from local.aws.functions.runtime import NEW_ACCOUNT

GPU_QUOTA = "L-DB2E81BA"
#: Names of services by code.
SERVICES = {
    "ebs": "Amazon Elastic Block Store (Amazon EBS)",
    "ec2": "Amazon Elastic Compute Cloud (Amazon EC2)",
    "lambda": "AWS Lambda",
}
#: Service, name and value by code; the values of an account that has asked for some GPUs [est].
QUOTAS = {
    GPU_QUOTA: ("ec2", "Running On-Demand G and VT instances", 64),
    "L-417A185B": ("ec2", "Running On-Demand P instances", 192),
    "L-3819A6DF": ("ec2", "All G and VT Spot Instance Requests", 64),
    "L-7212CCBC": ("ec2", "All P Spot Instance Requests", 192),
    "L-1216C47A": ("ec2", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 256),
    "L-7A658B76": ("ebs", "Storage for General Purpose SSD (gp3) volumes, in TiB", 50),
    "L-B99A9384": ("lambda", "Concurrent executions", NEW_ACCOUNT),
}


#: AWS's default of a quota of which a new account has less. AWS takes no request below it.
DEFAULTS = {"L-B99A9384": 1000.0}


class Quotas:
    """Public methods with the names of boto3's operations are operations of `service-quotas`."""

    def __init__(self, service_context: ServiceContext, faults: Faults) -> None:
        self._service_context = service_context
        self._faults = faults
        self._requested: list[Document] = []

    def get_service_quota(self, request: Document) -> Document:
        code = request["QuotaCode"]
        if code not in QUOTAS or request["ServiceCode"] != QUOTAS[code][0]:
            raise AwsError(
                "NoSuchResourceException", f"The request failed because the quota {code} doesn't exist"
            )
        return {"Quota": self._quota(code)}

    def get_aws_default_service_quota(self, request: Document) -> Document:
        return self.get_service_quota(request)

    def list_service_quotas(self, request: Document) -> Document:
        wanted = request["ServiceCode"]
        return {"Quotas": [self._quota(code) for code, (service, *_) in QUOTAS.items() if service == wanted]}

    def request_service_quota_increase(self, request: Document) -> Document:
        code, wanted = request["QuotaCode"], float(request["DesiredValue"])
        quota = self.get_service_quota(request)["Quota"]
        if any(each["QuotaCode"] == code for each in self._requested):
            raise AwsError(
                "ResourceAlreadyExistsException",
                "Only one open service quota increase request is allowed per quota.",
            )
        least = DEFAULTS.get(code, 0.0)
        if wanted < least or wanted <= quota["Value"]:
            than = f"default quota value of {least}" if wanted < least else "current quota value"
            raise AwsError(
                "IllegalArgumentException", f"You must provide a quota value greater than the {than}"
            )
        named = {
            name: quota[name] for name in ("ServiceCode", "ServiceName", "QuotaCode", "QuotaName", "QuotaArn")
        }
        made = {"Id": f"{len(self._requested):040x}", **named, "DesiredValue": wanted, "Status": "PENDING"}
        self._requested.append(made)
        return {"RequestedQuota": made}

    def list_requested_service_quota_change_history_by_quota(self, request: Document) -> Document:
        code = self.get_service_quota(request)["Quota"]["QuotaCode"]
        status = request.get("Status", "PENDING")
        requested = [
            each for each in self._requested if (each["QuotaCode"], each["Status"]) == (code, status)
        ]
        return {"RequestedQuotas": requested}

    def _quota(self, code: str) -> Document:
        service, name, value = QUOTAS[code]
        limited = self._faults.gpu_vcpu_limit if code == GPU_QUOTA else None
        return {
            "ServiceCode": service,
            "ServiceName": SERVICES[service],
            "QuotaArn": self._service_context.arn("servicequotas", f"{service}/{code}"),
            "QuotaCode": code,
            "QuotaName": name,
            "Value": float(value if limited is None else limited),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }
