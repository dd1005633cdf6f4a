"""The answer to a custom resource: one PUT to the address that CloudFormation gave."""

import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from lamplighter.clock import sleep
from lamplighter.data.texts import ENGLISH
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.reasons.reason import Said, draw, reason
from lamplighter.values.clock_time import clock_time

# One bucket for each region (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cfn-vpce-bucketnames.html);
# a bucket of another name may belong to anybody.
_BUCKET = "cloudformation-custom-resource-response"
HTTPS = 443
_logger = logging.getLogger(__name__)

TRIES = 3
SECONDS = 10
# CloudFormation ignores a larger answer
# (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html).
MOST_BYTES = 4096
# It shows a reason on one line.
LONGEST_TEXT = 1000


@dataclass(frozen=True)
class CloudFormationResponse:
    """SUCCESS, or FAILED where there is a reason."""

    physical_id: str
    reason: Said | None = None
    data: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses data that is no text: a template could not put it into a text (Fn::Join, Fn::Sub) or an output."""
        for key, value in self.data.items():
            if not isinstance(value, str):
                raise TypeError(f"a custom resource answers text, and {key} is {value!r}")


def answer(event: Mapping[str, object], found: CloudFormationResponse) -> None:
    """Answers CloudFormation. Raises OutsideFailed if that fails, BadInput for an address that is not its own."""
    url = str(event["ResponseURL"])
    if not is_of_cloudformation(url):
        raise BadInput(reason("deploy.foreign-address"))
    # CloudFormation shows the text to the person who deploys. Its events are in English.
    drawn = draw(found.reason, ENGLISH, clock_time) or "done"
    text = " ".join(drawn.split())[:LONGEST_TEXT]
    body = _body(event, found, text)
    while text and len(body) > MOST_BYTES:
        # A letter beyond ASCII is written as 6 or 12 bytes.
        text = text[: -1 - (len(body) - MOST_BYTES) // 12]
        body = _body(event, found, text)
    _put(url, body)


def _body(event: Mapping[str, object], found: CloudFormationResponse, text: str) -> bytes:
    document = {
        "Status": "SUCCESS" if found.reason is None else "FAILED",
        "Reason": text,
        "PhysicalResourceId": found.physical_id,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "NoEcho": False,
        "Data": dict(found.data),
    }
    return json.dumps(document).encode()


def is_of_cloudformation(url: str) -> bool:
    """Whether the address belongs to CloudFormation: one of its buckets, or the configured AWS endpoint.

    Whoever may start the last close names an address in its input.
    """
    endpoint = os.environ.get("AWS_ENDPOINT_URL_CLOUDFORMATION") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint and url.startswith(f"{endpoint.rstrip('/')}/"):
        return True
    parts = urlsplit(url)
    plain = parts.username is None and parts.port in {None, HTTPS}
    return parts.scheme == "https" and plain and bool(_bucket_host().fullmatch(parts.hostname or ""))


def _bucket_host() -> re.Pattern[str]:
    region = os.environ["AWS_REGION"]
    where = rf"(?:[.-]{re.escape(region)})?"
    return re.compile(rf"{_BUCKET}-{region.replace('-', '')}\.s3{where}\.amazonaws\.com(?:\.cn)?")


def _put(url: str, body: bytes) -> None:
    from urllib.request import Request, urlopen  # noqa: PLC0415 -- on first use

    # The address is presigned over an empty content type.
    request = Request(url, data=body, method="PUT", headers={"Content-Type": ""})  # noqa: S310
    for attempt in range(1, TRIES + 1):
        try:
            with urlopen(request, timeout=SECONDS):  # noqa: S310 -- CloudFormation's own address
                return
        except Exception as error:  # whatever it is, CloudFormation would wait for an hour
            _logger.warning("CloudFormation was not told, try %d: %s", attempt, error)
            if attempt == TRIES:
                raise OutsideFailed(
                    reason("deploy.not-answered", tries=TRIES, error=str(error)), "cloudformation:PUT"
                ) from error
            sleep(1)
