"""Runs commands of the command line. It loads each verb once, and each command is a copy of it.

Its standard input is a socket (commands.py has the other end). A message is one command: JSON, with the descriptors of
its output, of its errors and of a socket that gets the number of its process, and then its exit status.
"""

import gc
import json
import os
import signal
import socket
import sys
from importlib import import_module, reload
from typing import Any

from cli import main

#: A message has the words and the environment.
MESSAGE = 1 << 17
#: What verbs load on first use.
LATER = ("boto3", "lamplighter.lab.model", "lamplighter.adapters.aws.ledger.ledger")
#: What makes a name of its own for each program.
NAMING = ("cli.verification.steps.throwaway",)


def serve(orders: socket.socket) -> None:
    for module in LATER:
        import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how the waiting copies end
    while True:
        message, descriptors, _, _ = socket.recv_fds(orders, MESSAGE, 3)
        if not message:
            return
        order = json.loads(message)
        if order["words"][0] in main.MODULES:
            import_module(main.MODULES[order["words"][0]])
        gc.freeze()  # otherwise a command's first collection would copy the memory of all that is loaded
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            tell_or_become(order, *descriptors)
            main.main()
        for descriptor in descriptors:
            os.close(descriptor)


def tell_or_become(order: dict[str, Any], output: int, errors: int, told: int) -> None:
    """Returns in a new process, which is the command. This one tells its number, and how it ended."""
    process = os.fork()
    if process:
        os.write(told, str(process).encode())
        _, status = os.waitpid(process, 0)
        os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, place in ((nothing, 0), (output, 1), (errors, 2)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.close(told)
    # The program's own streams ask where they are in their files, and these may be none.
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    # A suite in the background ignores it, and so would the command.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for module in NAMING:
        if module in sys.modules:
            reload(sys.modules[module])
    # As `python -m cli.main` has them.
    sys.modules["__main__"] = main
    sys.argv = [str(main.__file__), *order["words"]]


if __name__ == "__main__":
    serve(socket.socket(fileno=0))
