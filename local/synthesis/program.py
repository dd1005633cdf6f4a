"""Synthesises one lab after the other: `python -m local.synthesis.program`. No module imports it.

A line of its input is a JSON list, the arguments of app.py. A line of its output is the answer: the exit status, and
the errors that were printed. Its process group ends when its input closes, because its starter closed it or died.
"""

import io
import json
import os
import queue
import signal
import sys
import threading
import traceback
from contextlib import redirect_stderr


def main() -> None:
    orders: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(orders,), daemon=True).start()
    with os.fdopen(os.dup(1), "w") as answers:
        # What a synthesis prints is no answer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        while True:
            answers.write(json.dumps(synthesised(orders.get())) + "\n")
            answers.flush()


def listen(orders: "queue.SimpleQueue[list[str]]") -> None:
    for line in sys.stdin:
        orders.put(json.loads(line))
    os.killpg(0, signal.SIGKILL)


def synthesised(arguments: list[str]) -> tuple[int, str]:
    """The exit status of app.py, and what it said."""
    with redirect_stderr(io.StringIO()) as said:
        try:
            import app  # noqa: PLC0415 -- loading the CDK takes seconds, and the starter may end meanwhile

            status = app.main(arguments)
        except Exception:  # noqa: BLE001 -- the starter reports it
            traceback.print_exc()
            status = 1
    return status, said.getvalue()


if __name__ == "__main__":
    main()
