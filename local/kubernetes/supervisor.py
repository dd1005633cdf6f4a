"""Starts the commands that it reads, and ends them when it ends. It is run as a program; no module imports it.

It reads one JSON line for each command from its standard input: {"name", "command", "log"}. It prints a line for each
command that ends by itself. When its input ends, because the embedded cloud closed it or died, it ends everything that
it started. It imports little, because every start waits for it.
"""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress


def main() -> None:
    children: list[subprocess.Popen[bytes]] = []
    try:
        for line in sys.stdin:
            order = json.loads(line)
            with open(order["log"], "ab") as log:  # noqa: PTH123  pathlib would double this program's start
                child = subprocess.Popen(order["command"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            children.append(child)
            threading.Thread(target=_tell_of_its_end, args=(order["name"], child), daemon=True).start()
    finally:
        # The cluster is disposable: an orderly end would only cost seconds.
        for child in children:
            child.kill()
        for child in children:
            child.wait()
        # Threads may still want to report an end, but no reader is left.
        os._exit(0)


def _tell_of_its_end(name: str, child: subprocess.Popen[bytes]) -> None:
    status = child.wait()
    with suppress(BrokenPipeError):
        print(json.dumps({"ended": name, "status": status}), flush=True)  # noqa: T201  this is its answer


if __name__ == "__main__":
    main()
