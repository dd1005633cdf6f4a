"""Starts the commands it is told and ends them with itself; run as a program, imported by nobody.

It reads one JSON line a command from its standard input: {"name", "command", "log"}, and prints a line for
each that ends by itself. When its input ends, because the embedded cloud closed it or died in whatever way,
nothing that it started is left. It imports little, for it is on the way of every start.
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
        # The cluster is disposable: nothing in it is worth the seconds of an orderly end.
        for child in children:
            child.kill()
        for child in children:
            child.wait()
        # Threads that still want to tell of an end have nobody to tell it to.
        os._exit(0)


def _tell_of_its_end(name: str, child: subprocess.Popen[bytes]) -> None:
    status = child.wait()
    with suppress(BrokenPipeError):
        print(json.dumps({"ended": name, "status": status}), flush=True)  # noqa: T201  this is its answer


if __name__ == "__main__":
    main()
