"""Runs one command that must not outlive its starter: `python child_process.py COMMAND…`. No module imports it.

The command gets a process group of its own. The group ends when our standard input closes, because the starter closed
it or died. This program ends as the command ends, and passes the signal TERM on to it.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress


def main() -> int:
    asked = threading.Event()
    # Before the command runs: who hears of it may end us at once.
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    if asked.is_set():
        child.terminate()

    def watch() -> None:
        sys.stdin.buffer.read()
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    status = child.wait()
    sys.stdout.flush()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    # Without waiting for the watching thread, which ends only when our input closes.
    os._exit(main())
