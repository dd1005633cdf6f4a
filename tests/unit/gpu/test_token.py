"""The token by which a function signs in to Kubernetes is signed anew for as long as the function lives."""

import gc

import pytest

from lamplighter.adapters.kubernetes.token import Token


def test_a_token_is_signed_again_with_what_the_first_one_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    token = Token("lab")
    first = token.value()

    token.forget()
    gc.collect()

    assert first.startswith("k8s-aws-v1.")
    assert token.value().startswith("k8s-aws-v1.")
