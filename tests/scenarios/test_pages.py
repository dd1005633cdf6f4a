"""A closed lease has its receipt as a page in S3, which a link opens. The lab's page is drawn with it."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from botocore.exceptions import ClientError

from lamplighter.adapters.aws.page_store import LAB, PageStore, receipt_key
from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.lab_day import LabDay

MINUTE = timedelta(minutes=1)


def test_a_closed_lease_has_its_receipt_as_a_page(lab: LabDay, tmp_path: Path) -> None:
    # given a lease that was open and is closed
    lease = lab.open(1, "2h").id
    lab.until_state(lease, LeaseState.OPEN)
    assert lab.command("close", "gpu", "--yes").code == 0
    lab.until_state(lease, LeaseState.CLOSED)
    lab.until_quiet()

    # then its page is in the bucket soon, and opens by a link
    stacks = lab.api("cloudformation").describe_stacks(StackName=f"{lab.lab.name}-controller")["Stacks"]
    bucket = next(each["OutputValue"] for each in stacks[0]["Outputs"] if each["OutputKey"] == "PagesBucket")
    key, s3 = receipt_key(lab.receipt(lease)), lab.api("s3")
    lab.until("the receipt is a page", lambda _: there(s3, bucket, key), 15 * MINUTE)
    with urlopen(PageStore(bucket, s3).link(key)) as opened:
        page = opened.read().decode()
    assert opened.headers["Content-Type"] == "text/html; charset=utf-8"
    assert lease in page

    # and so is the lab's, which tells of it
    lab.until("the lab's page tells of it", lambda _: lease in read(s3, bucket, LAB), 15 * MINUTE)

    # and the command line writes the same receipt; the page in the bucket follows the ledger a moment later
    said = lab.command("receipt", lease, "--html", str(tmp_path / "receipt.html"))
    assert said.code == 0, said
    written = (tmp_path / "receipt.html").read_text("utf-8")
    lab.until("both are the same", lambda _: read(s3, bucket, key) == written, 15 * MINUTE)


def there(s3: Any, bucket: str, key: str) -> bool:
    try:
        s3.head_object(Bucket=bucket, Key=key)
    except ClientError:
        return False
    return True


def read(s3: Any, bucket: str, key: str) -> str:
    return (
        str(s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode()) if there(s3, bucket, key) else ""
    )
