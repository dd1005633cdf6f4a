"""A Helm chart repository on loopback.

It has replacements for published charts, from the folders beside this file, and each chart that it is given. It
packages them as `helm package` would, and answers like any chart repository. The program that runs helm decides which
address leads here.
"""

import gzip
import hashlib
import io
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

_REPLACEMENTS = Path(__file__).parent


class ChartRepository:
    """Serves every chart of `folder`, and those that are added, until it is stopped, at the address `url`."""

    def __init__(self, folder: Path = _REPLACEMENTS) -> None:
        self._files: dict[str, bytes] = {}
        self._entries: dict[str, list[dict[str, object]]] = {}
        for description in sorted(folder.glob("*/Chart.yaml")):
            self.add(description.parent)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    def add(self, chart: Path) -> None:
        """Serves one more chart. The same chart again changes nothing."""
        description = yaml.safe_load((chart / "Chart.yaml").read_text("utf-8"))
        name = f"{description['name']}-{description['version']}.tgz"
        if f"/{name}" in self._files:
            return
        archive = package(chart)
        digest = hashlib.sha256(archive).hexdigest()
        entry = {**description, "urls": [name], "digest": digest, "created": "2026-01-01T00:00:00Z"}
        self._entries.setdefault(description["name"], []).append(entry)
        self._files[f"/{name}"] = archive
        index = {"apiVersion": "v1", "generated": "2026-01-01T00:00:00Z", "entries": self._entries}
        self._files["/index.yaml"] = yaml.safe_dump(index).encode()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="chart-repository", daemon=True
        ).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        files = self._files

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = files.get(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                """Writes nothing: helm itself reports what it did not find."""

        return Handler


def package(chart: Path) -> bytes:
    """The chart as a gzipped tar, with its name as the only folder. The same files give the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path in sorted(path for path in chart.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(f"{chart.name}/{path.relative_to(chart)}")
            content = path.read_bytes()
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)
