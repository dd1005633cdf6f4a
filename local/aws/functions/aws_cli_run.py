"""A run of the AWS CLI, in a copy of a program that has loaded it (aws_cli_starter.py). Without one it starts the CLI.

It is run as a program, with the address of a socket, the folder of the CLI and the CLI's own words. It imports little,
because every run waits for it.
"""

import os
import socket
import sys

_STATUS = 16


def main(address: str, folder: str, *words: str) -> int:
    asking = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        asking.connect(address)
    except OSError:  # it has not started yet
        os.environ.update(PYTHONPATH=folder, PYTHONDONTWRITEBYTECODE="")
        os.execv(sys.executable, [sys.executable, "-S", f"{folder}/aws", *words])  # noqa: S606
    order = {"words": words, "environment": dict(os.environ), "folder": os.getcwd()}  # noqa: PTH109
    import json  # noqa: PLC0415

    socket.send_fds(asking, [json.dumps(order).encode()], [0, 1, 2])
    return int(asking.recv(_STATUS) or 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
