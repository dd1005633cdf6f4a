"""Threads of one process that make their first connections to Kubernetes at about the same time, as the doctor does."""

import subprocess
import sys
from pathlib import Path

import certifi

from tests.steady.hang import HANG_SECONDS

CONNECTING = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

from lamplighter.adapters.kubernetes.connection import Connection

def connect(seconds):
    sleep(seconds)  # each begins in the middle of another one's import
    Connection("https://127.0.0.1:1", ca, None)

ca = Path(sys.argv[1]).read_text("ascii")
with ThreadPoolExecutor(24) as threads:
    list(threads.map(connect, [place / 60 for place in range(24)]))
"""


def test_every_thread_gets_its_connection() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONNECTING, certifi.where()],
        env={"PYTHONPATH": str(Path(__file__).parents[3] / "lambdas")},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )

    assert done.returncode == 0, done.stderr
