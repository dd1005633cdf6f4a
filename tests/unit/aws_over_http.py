"""An AWS account over HTTP, for programs that find it as they find AWS; nothing is in it at first."""

import logging
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from moto.server import ThreadedMotoServer


@contextmanager
def account() -> Iterator[str]:
    """The endpoint of a new account, for as long as the context lasts."""
    # Its server would write each request to stderr, which belongs to the program that asks.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    # moto keeps what an earlier account of this process had.
    urllib.request.urlopen(f"{endpoint}/moto-api/reset", data=b"").close()
    yield endpoint
    server.stop()
