"""A registry of npm and of PyPI on loopback, with packages made on the spot: real clients use it."""

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Registry:
    """Serves what was published; counts what was fetched; can keep a client waiting."""

    def __init__(self) -> None:
        self.fetched: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.reached = threading.Event()
        self.released = threading.Event()
        self.released.set()
        self._packages: dict[str, dict[str, Any]] = {}
        self._pages: dict[str, list[str]] = {}
        self._files: dict[str, bytes] = {}
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.answer(self)

            do_HEAD = do_GET  # noqa: N815 - uv asks for the size first

            def log_message(self, *words: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def hold(self) -> None:
        """Let the next one who fetches a file wait for `released`."""
        self.reached.clear()
        self.released.clear()

    def offer_npm(self, name: str, version: str, files: dict[str, str], **manifest: Any) -> None:
        """Publish a package; a second time, with other content, as the same version."""
        facts = {"name": name, "version": version, **manifest}
        content = _tarball({"package.json": json.dumps(facts), **files})
        path = f"/{name}/-/{version}.tgz"
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        known = self._packages.setdefault(
            f"/{name}", {"name": name, "dist-tags": {}, "versions": {}}
        )
        dist = {"tarball": self.url + path, "integrity": f"sha512-{digest}"}
        known["versions"][version] = {**facts, "dist": dist}
        known["dist-tags"]["latest"] = version
        self._files[path] = content

    def wheel(self, name: str, version: str, files: dict[str, str], script: str = "") -> None:
        """Publish a wheel, with a console script if one is named: `module:function`."""
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        everything = {
            **files,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        if script:
            everything[f"{info}/entry_points.txt"] = f"[console_scripts]\n{name} = {script}\n"
        rows = "".join(f"{path},,\n" for path in (*everything, f"{info}/RECORD"))
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, text in {**everything, f"{info}/RECORD": rows}.items():
                archive.writestr(path, text)
        self._publish(name, f"{name.replace('-', '_')}-{version}-py3-none-any.whl", buffer)

    def source(self, name: str, version: str, setup: str) -> None:
        """Publish a source distribution alone."""
        folder = f"{name}-{version}"
        content = _tarball({"setup.py": setup, "PKG-INFO": "Metadata-Version: 2.1\n"}, folder)
        self._publish(name, f"{folder}.tar.gz", io.BytesIO(content))

    def _publish(self, name: str, file: str, content: io.BytesIO) -> None:
        self._pages.setdefault(f"/simple/{name}/", []).append(file)
        self._files[f"/files/{file}"] = content.getvalue()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        path = request.path.replace("%2f", "/").replace("%2F", "/")
        self.headers.append(dict(request.headers.items()))
        if path in self._packages:
            _send(request, json.dumps(self._packages[path]).encode(), "application/json")
        elif path in self._pages:
            links = "".join(f'<a href="/files/{one}">{one}</a>' for one in self._pages[path])
            _send(request, f"<html><body>{links}</body></html>".encode(), "text/html")
        elif path in self._files and request.command == "HEAD":
            _send(request, self._files[path], "application/octet-stream")
        elif path in self._files:
            self.fetched.append(path)
            self.reached.set()
            self.released.wait()
            _send(request, self._files[path], "application/octet-stream")
        else:
            _send(request, b"{}", "application/json", 404)


def _send(request: BaseHTTPRequestHandler, content: bytes, kind: str, status: int = 200) -> None:
    try:
        request.send_response(status)
        request.send_header("content-type", kind)
        request.send_header("content-length", str(len(content)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(content)
    except OSError:
        pass  # the client was killed: that is what some tests do


def _tarball(files: dict[str, str], folder: str = "package") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{folder}/{path}")
            member.size = len(text.encode())
            member.mode = 0o644
            archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()
