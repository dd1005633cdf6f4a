"""A command never outlives the program that started it, whichever way that ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import local
from tests.steady.hang import HANG_SECONDS

CHILD_PROCESS = Path(local.__file__).with_name("child_process.py")
#: It prints the number of its process, and would stay for a minute.
COMMAND = [sys.executable, "-u", "-c", "import os, time; print(os.getpid()); time.sleep(60)"]


@pytest.fixture
def started():
    """The starter's process, and the number of the command's."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(CHILD_PROCESS), *COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield process, int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()


def there(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_end_of_its_input_kills_the_command(started):
    process, command = started
    assert there(command)

    process.stdin.close()

    assert process.wait(HANG_SECONDS) == 128 + signal.SIGKILL
    assert not there(command)


@pytest.mark.once_flaky("the signal came before its handler")
def test_a_command_gets_the_signal_that_ends_its_starter(started):
    process, command = started

    process.terminate()

    assert process.wait(HANG_SECONDS) == 128 + signal.SIGTERM
    assert not there(command)
