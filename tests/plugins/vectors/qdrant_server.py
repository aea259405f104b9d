"""A server of Qdrant's REST interface on loopback, as far as `qdrant-client` uses it for a vector store.

Qdrant's own local mode answers; this module translates requests and replies. A real server needs a binary that no
package index has.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import TypeAdapter
from qdrant_client import QdrantClient, models

KEY = "leadline-test-key-of-32-letters!"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    client: QdrantClient
    busy: threading.Lock
    seen: list[str]
    failure: tuple[int, str] | None = None

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.seen.append(f"{self.command} {self.path}")
        if self.headers.get("api-key") != KEY:
            self._send(401, {"status": {"error": "Must provide an API key"}})
        elif self.failure:
            self._send(self.failure[0], {"status": {"error": self.failure[1]}})
        else:
            with self.busy:
                result = self._result(json.loads(body) if body else {})
            self._send(200, {"result": result, "status": "ok", "time": 0.0})

    do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - the names of the base class

    def _send(self, status: int, data: Any) -> None:
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _result(self, body: dict[str, Any]) -> Any:
        path = self.path.partition("?")[0].split("/")[2:]
        name, client = path[0], self.client
        match self.command, path[1:]:
            case "GET", ["exists"]:
                return {"exists": client.collection_exists(name)}
            case "GET", []:
                return client.get_collection(name).model_dump(mode="json")
            case "PUT", []:
                params = models.VectorParams.model_validate(body["vectors"])
                return client.create_collection(name, params)
            case "DELETE", []:
                return client.delete_collection(name)
            case "PUT", ["index"]:
                return _DONE
            case "PUT", ["points"]:
                client.upsert(name, TypeAdapter(list[models.PointStruct]).validate_python(body["points"]))
                return _DONE
            case "POST", ["points", "delete"]:
                client.delete(name, models.FilterSelector(filter=models.Filter.model_validate(body["filter"])))
                return _DONE
            case "POST", ["points", "count"]:
                which = models.Filter.model_validate(body["filter"]) if body.get("filter") else None
                return client.count(name, count_filter=which).model_dump()
            case "POST", ["points", "query"]:
                found = client.query_points(
                    name, query=body["query"]["nearest"], limit=body["limit"], with_payload=True
                )
                return found.model_dump(mode="json")
            case "POST", ["points", "scroll"]:
                points, offset = client.scroll(name, limit=body["limit"], offset=body.get("offset"))
                return {"points": [one.model_dump(mode="json") for one in points], "next_page_offset": offset}
        raise AssertionError(f"the test server does not know {self.command} {self.path}")


_DONE = {"operation_id": 1, "status": "completed"}


@contextmanager
def qdrant_server() -> Iterator[tuple[str, type[_Handler]]]:
    """Run a server; provide its address and its handler, whose `failure` makes it refuse everything."""
    client = QdrantClient(":memory:", force_disable_check_same_thread=True)
    handler = type("Handler", (_Handler,), {"client": client, "busy": threading.Lock(), "seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        client.close()
