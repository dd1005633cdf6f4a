"""The login of a calendar at an address: the forms of its secret, and what no message repeats."""

from base64 import b64encode
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lamplighter.adapters.aws.secrets import authorization
from lamplighter.errors import OutsideFailed

ARN = "arn:aws:secretsmanager:ap-northeast-2:123456789012:secret:course-AbCdEf"


def header(text: str) -> str:
    secrets: Any = SimpleNamespace(get_secret_value=lambda **_: {"SecretString": text})
    return authorization(ARN, secrets)


def basic(login: str) -> str:
    return f"Basic {b64encode(login.encode()).decode()}"


@pytest.mark.parametrize(("text", "expected"), [
    ("ada:open sesame\n", basic("ada:open sesame")),
    ("ada:a:b", basic("ada:a:b")),
    ("민수:비밀", basic("민수:비밀")),
    ('{"username": "ada", "password": "open"}', basic("ada:open")),
    ("eyJhbGciOi.J9_-~+/=\n", "Bearer eyJhbGciOi.J9_-~+/="),
    ('{"token": "abc"}', "Bearer abc"),
])  # fmt: skip
def test_a_login_is_basic_and_a_token_is_bearer(text: str, expected: str) -> None:
    assert header(text) == expected


@pytest.mark.parametrize("text", [
    "", "two words", ":hunter2", "ada:hunter2\r\nHost: evil", "ada\n:hunter2", '{"username": "ada"}', '{"hunter2"',
    '{"password": "hunter2"}', '{"token": ["hunter2"]}', "{" * 5000, "hunter2" * 5000,
])  # fmt: skip
def test_another_form_is_one_line_that_does_not_repeat_it(text: str) -> None:
    with pytest.raises(OutsideFailed) as caught:
        header(text)
    assert str(caught.value) == (
        "its secret is neither user:password nor a token; write one of them as the secret's text"
    )


def test_a_secret_that_may_not_be_read_is_said_with_awss_own_words() -> None:
    def refuse(**_: str) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "GetSecretValue")

    secrets: Any = SimpleNamespace(get_secret_value=refuse)
    with pytest.raises(
        OutsideFailed, match=r"the address was not read, because its secret was not: .*AccessDenied"
    ):
        authorization(ARN, secrets)
