"""Karpenter's real controller, for the tests that run it: without it they are skipped, and never passed."""

from pathlib import Path

import pytest

from local.kubernetes.karpenter.controller import built_controller, demanded


def controller_or_skip() -> Path:
    """The program that `make test` has built. In CI its absence is a failure."""
    program = built_controller()
    if program is None:
        if demanded():
            pytest.fail("no Karpenter, and this run demands it: `make karpenter` says why")
        pytest.skip("no Karpenter: `make karpenter` builds its controller")
    return program
