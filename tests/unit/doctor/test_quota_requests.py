"""`doctor --request`: which quotas are too small, by the doctor's own advice, and what AWS has been asked for."""

import boto3
import pytest
from botocore.stub import Stubber

from cli.look_after.quota_requests import Increase, advised
from lamplighter.adapters.doctor.quota_requests import QuotaRequests
from lamplighter.domain.doctor.line import DoctorLine, LineOutcome
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import Said, Sentences, reason

CODE = "L-DB2E81BA"
NAMES = {"ServiceCode": "ec2", "QuotaCode": CODE}
REGION = "ap-northeast-2"
LIST = "list_requested_service_quota_change_history_by_quota"


def to_16(asked: float | None = None) -> Increase:
    return Increase("ec2", CODE, REGION, 16, asked)


def line(advice: Said) -> DoctorLine:
    return DoctorLine("quota-g-vt", LineOutcome.NOT_OK, "too small", advice)


def test_the_advice_of_a_line_names_the_quota_that_is_asked_for() -> None:
    increase = reason("doctor.quota-increase", service="ec2", code=CODE, region=REGION, value=16)
    nested = reason("doctor.or-fewer-nodes", increase=increase)

    lines = [line(""), line("words of AWS"), line(increase), line(Sentences((nested,), whole=True))]

    assert list(advised(lines)) == [to_16(), to_16()]


@pytest.mark.parametrize(("asked", "words"), [
    (None, "would ask AWS to raise the quota ec2/L-DB2E81BA in ap-northeast-2 to 16"),
    (16.0, "asked already: the quota ec2/L-DB2E81BA in ap-northeast-2 to 16"),
    (8.0, "AWS takes no other request until it is closed; the lab needs 16"),
])  # fmt: skip
def test_a_plan_says_what_was_asked_before(asked: float | None, words: str) -> None:
    assert str(to_16(asked)).endswith(words)


def test_a_request_is_open_until_aws_answers_it() -> None:
    quotas = boto3.client("service-quotas", region_name=REGION)
    with Stubber(quotas) as stub:
        opened = [{"DesiredValue": 8.0, "Status": "CASE_OPENED"}]
        stub.add_response(LIST, {"RequestedQuotas": []}, {**NAMES, "Status": "PENDING"})
        stub.add_response(LIST, {"RequestedQuotas": opened}, {**NAMES, "Status": "CASE_OPENED"})
        assert QuotaRequests(quotas).open_value("ec2", CODE) == 8
        stub.add_response(LIST, {"RequestedQuotas": []}, {**NAMES, "Status": "PENDING"})
        stub.add_response(LIST, {"RequestedQuotas": []}, {**NAMES, "Status": "CASE_OPENED"})
        assert QuotaRequests(quotas).open_value("ec2", CODE) is None


def test_a_request_that_is_open_already_is_not_repeated() -> None:
    quotas = boto3.client("service-quotas", region_name=REGION)
    with Stubber(quotas) as stub:
        stub.add_client_error("request_service_quota_increase", "ResourceAlreadyExistsException")
        assert not QuotaRequests(quotas).ask("ec2", CODE, 16)
        stub.add_response("request_service_quota_increase", {}, {**NAMES, "DesiredValue": 16})
        assert QuotaRequests(quotas).ask("ec2", CODE, 16)
        stub.add_client_error("request_service_quota_increase", "QuotaExceededException", "too many are open")
        with pytest.raises(OutsideFailed, match="too many are open"):
            QuotaRequests(quotas).ask("ec2", CODE, 16)
