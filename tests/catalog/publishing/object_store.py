"""A local HTTP server with the requests of S3 that Arrow uses: list, head and read objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

BUCKET = "lake"
_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


@dataclass(slots=True)
class ObjectStore:
    """Objects of the bucket `lake` by their keys, with their times. `reads` are the keys of objects
    whose content was requested."""

    objects: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    def put(self, key: str, text: str, at: datetime) -> None:
        self.objects[key] = (text.encode(), at)

    def listing(self, prefix: str, delimiter: str = "") -> bytes:
        """Returns the objects below a prefix. With a delimiter, those in folders are one entry."""
        below = {key: key.removeprefix(prefix) for key in self.objects if key.startswith(prefix)}
        folders = {
            f"{prefix}{rest.split(delimiter)[0]}{delimiter}"
            for rest in below.values()
            if delimiter and delimiter in rest
        }
        found = [
            f"<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>"
            for folder in sorted(folders)
        ]
        found += [
            f"<Contents><Key>{key}</Key><LastModified>{_iso(at)}</LastModified>"
            f"<ETag>{_etag(content)}</ETag><Size>{len(content)}</Size></Contents>"
            for key, (content, at) in sorted(self.objects.items())
            if key in below and not (delimiter and delimiter in below[key])
        ]
        return (
            f'<ListBucketResult xmlns="{_NAMESPACE}"><IsTruncated>false</IsTruncated>'
            f"<KeyCount>{len(found)}</KeyCount>{''.join(found)}</ListBucketResult>"
        ).encode()


def _etag(content: bytes) -> str:
    return f'"{md5(content, usedforsecurity=False).hexdigest()}"'


def _iso(at: datetime) -> str:
    """MinIO lists times in milliseconds; the header Last-Modified has seconds."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


class _Handler(BaseHTTPRequestHandler):
    store: ClassVar[ObjectStore]
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        _, _, key = unquote(url.path).strip("/").partition("/")
        if "list-type" in query:
            self._answer(200, self._listing(query))
        elif not key:
            self._answer(200)
        elif key in self.store.objects:
            self._object(key)
        else:
            self._answer(404)

    def _listing(self, query: Mapping[str, list[str]]) -> bytes:
        prefix, delimiter = (query.get(name, [""])[0] for name in ("prefix", "delimiter"))
        return self.store.listing(prefix, delimiter)

    def _object(self, key: str) -> None:
        content, at = self.store.objects[key]
        modified = format_datetime(at.astimezone(UTC), usegmt=True)
        headers = {"ETag": _etag(content), "Last-Modified": modified}
        given = self.headers.get("Range")
        if self.command == "GET":
            self.store.reads.append(key)
        if self.command == "HEAD" or given is None:
            self._answer(200, content, headers)
            return
        first, last = (int(each) for each in given.removeprefix("bytes=").split("-"))
        part = content[first : last + 1]
        end = first + len(part) - 1
        self._answer(206, part, {**headers, "Content-Range": f"bytes {first}-{end}/{len(content)}"})

    def _answer(
        self, status: int, content: bytes = b"", headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serve(store: ObjectStore) -> Iterator[str]:
    """Serves a store, and yields its URL."""
    handler = type("Handler", (_Handler,), {"store": store})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
