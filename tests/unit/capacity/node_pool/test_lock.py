"""The lock's name: an opening removes a lock of this name alone, so a person must put one of no other name."""

import re

import pytest

from lamplighter.domain.capacity.node_pool import lock
from tests.checkout import ROOT

PAGES = sorted((ROOT / "docs").rglob("*.md"))
NAMED = re.compile(r"lamplighter-lock-[\w<>-]+")


def told() -> list[tuple[str, str]]:
    return [(page.name, name) for page in PAGES for name in NAMED.findall(page.read_text("utf-8"))]


def test_some_pages_name_the_lock() -> None:
    assert {"answer-a-page.md", "verify-first-deploy.md"} <= {page for page, _ in told()}


@pytest.mark.parametrize(("page", "name"), told())
def test_a_page_names_the_lock_as_the_failsafe_does(page: str, name: str) -> None:
    """`NODEPOOL` is the placeholder of these pages for a NodePool's name."""
    assert name == lock.policy_name("NODEPOOL"), page
