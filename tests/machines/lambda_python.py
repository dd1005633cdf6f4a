"""Lambda's version of Python, for the tests that run it: without it they are skipped, for one reason."""

import sys

import pytest

from stacks import pythons, runtime_python


def lambda_python_or_skip() -> str:
    """The Python that compiles for Lambda."""
    return runtime_python.interpreter() or _skip()


def native_modules_or_skip() -> None:
    """The native modules of this environment are those of Lambda's version."""
    if "{}.{}".format(*sys.version_info) != pythons.RUNTIME:
        _skip()


def _skip() -> str:
    pytest.skip(
        f"no Python {pythons.RUNTIME}, Lambda's version, answered when .venv was made: what only it shows was not tried"
    )
