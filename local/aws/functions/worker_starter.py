"""Starts the workers of one code folder. It loads what their handlers import once, and each worker is a copy of it.

It is run as a program. Its standard input is a socket (worker_processes.py has the other end). A message is one order:
JSON, with the descriptors of the worker's standard input and of its output. It answers the process of each new worker,
and later its exit status. Arguments: the folders to import from.

A handler is loaded by its worker, in the environment of its function. What is loaded here sees no environment.
"""

import ast
import gc
import importlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

#: The program of a worker. It is beside this one, and the path has this folder alone of the checkout.
SERVE: Callable[[str], int] = importlib.import_module("bootstrap").main
#: A message has the variables of a function, which may have 4 KB
#: (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html), and ours.
MESSAGE = 1 << 17


def main() -> int:
    sys.path[:0] = sys.argv[1:2]
    sys.path.extend(sys.argv[2:])
    orders = socket.socket(fileno=0)
    signal.signal(signal.SIGCHLD, lambda *_: report_ends(orders))
    loaded: set[str] = set()
    while True:
        message, descriptors, _, _ = socket.recv_fds(orders, MESSAGE, 2)
        if not message:
            return 0
        order = json.loads(message)
        package = order["handler"].partition(".")[0].partition("/")[0]
        if order["loaded"] and package not in loaded:
            loaded.add(package)
            load_imports(Path(sys.argv[1], package))
        if not started(orders, descriptors):
            become(order, orders, descriptors)
            return SERVE(order["handler"])


def load_imports(package: Path) -> None:
    """Loads what the modules of a package import from elsewhere at their top, not the modules themselves."""
    for file in sorted(package.glob("*.py")):
        for statement in imports(file, package.name):
            # A worker whose handler imports what cannot be imported says so itself.
            with suppress(Exception):
                exec(compile(ast.Module([statement], []), str(file), "exec"), {})  # noqa: S102
    # Otherwise a worker's first collection would copy the memory of all that is loaded.
    gc.freeze()


def imports(file: Path, package: str) -> Iterator[ast.stmt]:
    for statement in ast.parse(file.read_bytes()).body:
        if isinstance(statement, ast.Import) or (
            isinstance(statement, ast.ImportFrom)
            and (statement.module or package).partition(".")[0] != package
        ):
            yield statement


def started(orders: socket.socket, descriptors: list[int]) -> bool:
    """Starts a process. False in the new process itself."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # its end is told after its start
    process = os.fork()
    with suppress(OSError):  # both set it, because neither may go on before
        os.setpgid(process, process)
    if process:
        for descriptor in descriptors:
            os.close(descriptor)
        tell(orders, process=process)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    return process != 0


def become(order: dict[str, Any], orders: socket.socket, descriptors: list[int]) -> None:
    """Makes this process a worker: its input, its output, its variables and its folder."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    orders.detach()
    source, output = descriptors
    for descriptor, place in ((source, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, place)
    os.close(source)
    os.close(output)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(sys.argv[1])


def report_ends(orders: socket.socket) -> None:
    with suppress(ChildProcessError):
        while True:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            tell(orders, process=process, status=os.waitstatus_to_exitcode(status))


def tell(orders: socket.socket, **answer: int) -> None:
    with suppress(OSError):  # nobody listens any more
        orders.send(json.dumps(answer).encode())


if __name__ == "__main__":
    sys.exit(main())
