"""Runs the AWS CLI of a layer. It has loaded the CLI once, and each run is a copy of it.

It is run as a program, with the folder of the CLI and the address of its socket. A message is one run: JSON, with the
descriptors of its input, output and errors. The answer is its exit status. It ends with its standard input.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

#: A message has the words and the environment.
MESSAGE = 1 << 17


def main(folder: str, address: str) -> int:
    sys.path[0] = folder
    cli = importlib.import_module("awscli.clidriver")
    cli.create_clidriver()  # loads its plugins
    gc.freeze()  # otherwise a run's first collection would copy the memory of all that is loaded
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how the waiting copies end
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(128)
    while listening in select.select([sys.stdin, listening], [], [])[0]:
        asking, _ = listening.accept()
        if not os.fork():
            listening.close()
            answer_or_become(asking, folder)
            status: int = cli.main()
            return status
        asking.close()
    return 0


def answer_or_become(asking: socket.socket, folder: str) -> None:
    """Returns in a new process, which is the run. This one tells how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, descriptors, _, _ = socket.recv_fds(asking, MESSAGE, 3)
    run = os.fork()
    if run:
        _, status = os.waitpid(run, 0)
        asking.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    asking.close()
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
        os.close(descriptor)
    order = json.loads(message)
    # The CLI has noted the place of its data in the environment, which is bare otherwise.
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    sys.argv = [f"{folder}/aws", *order["words"]]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
