"""The server of the page on web services bears requests that are none."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

PAGE = next(f for f in Path(__file__).parents if (f / "pyproject.toml").exists()) / "docs/how-to/web-service.md"


class Model:
    def tag_all(self, sentences: Any, threads: int) -> Any:
        return [["O"] * len(sentence) for sentence in sentences]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    code = re.search(r"\*\*`serve\.py`\*\*\n\n```python\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {"__name__": "serve"}
    exec(code[1], names)
    server = ThreadingHTTPServer(("127.0.0.1", 0), names["Handler"])
    server.model = Model()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


REQUESTS = {
    "a sentence": (None, b'{"sentences": [["a", "b"]]}', 200, b'{"labels": [["O", "O"]]}'),
    "a negative length": (-1, b"", 413, b"expected 0 to 1000000 bytes"),
    "a long body": (1_000_001, b"", 413, b"expected 0 to 1000000 bytes"),
    "a length that is none": ("x", b"", 400, b"invalid literal"),
    "deep JSON": (None, b"[" * 200_000, 400, b"recursion"),
    "no object": (None, b"[]", 400, b"error"),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_every_request_gets_an_answer(case: str, port: int) -> None:
    length, body, status, words = REQUESTS[case]
    head = f"POST /tag HTTP/1.0\r\nContent-Length: {len(body) if length is None else length}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head.encode() + body)  # and stays open: an answer must not wait for its end
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.split()[1] == str(status).encode() and words in answer
