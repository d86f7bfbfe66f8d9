"""A client of the language server for tests: JSON-RPC over stdio, written out plainly. Not here: what is asked."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from types import TracebackType
from typing import Any

COMMAND = [sys.executable, "-c", "from dcrfdsl.cli import main; main()", "lsp"]
PATIENCE = 60.0  # seconds


class LspError(Exception):
    """The server refused a request."""


class LspClient:
    """Starts the server, and ends it with the `with` block.

    diagnostics: what it last said of a file, by URI.   seconds: how long each request took, by method.
    """

    def __init__(self, folder: Path, *, encodings: list[str] | None = None, options: Any = None):
        self.folder = folder
        self.process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
        )
        self.diagnostics: dict[str, dict[str, Any]] = {}
        self.published: list[dict[str, Any]] = []
        self.seconds: dict[str, list[float]] = {}
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self._messages: Queue[dict[str, Any]] = Queue()
        self._number = 0
        self.errors = b""
        self._threads = [Thread(target=read, daemon=True) for read in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()
        capabilities = {
            "general": {"positionEncodings": encodings} if encodings else {},
            "workspace": {"inlayHint": {"refreshSupport": True}},
            "textDocument": {"rename": {"prepareSupport": True}},
        }
        self.initialized = self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": folder.as_uri(),
                "capabilities": capabilities,
                "initializationOptions": options,
            },
        )
        self.tell("initialized", {})

    def __enter__(self) -> LspClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.ask("shutdown", None)
                self.tell("exit", None)
                assert self.process.wait(PATIENCE) == 0, self.errors.decode()
        finally:
            self.process.kill()
            self.process.wait()
            for thread in self._threads:
                thread.join()
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
        if kind is None:
            assert b"Traceback" not in self.errors, self.errors.decode()

    # messages -----------------------------------------------------------------------------------------------------

    def ask(self, method: str, params: Any) -> Any:
        self._number += 1
        number, start = self._number, time.perf_counter()
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._messages.get(timeout=PATIENCE)
            if message.get("id") == number and "method" not in message:
                self.seconds.setdefault(method, []).append(time.perf_counter() - start)
                if "error" in message:
                    raise LspError(message["error"]["message"])
                return message["result"]
            self._take(message)

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def wait_for(self, wanted: Any, patience: float = PATIENCE) -> None:
        """Reads messages until `wanted()` is true."""
        end = time.monotonic() + patience
        while not wanted():
            try:
                self._take(self._messages.get(timeout=max(0.0, end - time.monotonic())))
            except Empty:
                raise AssertionError(f"nothing came in {patience} s; {self.errors.decode()}") from None

    def _take(self, message: Mapping[str, Any]) -> None:
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]
            self.published.append(message["params"])
        elif "id" in message and "method" in message:
            self._send({"id": message["id"], "result": None})
            self.published.append({"request": message["method"]})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline().strip()) or not length:
                if not line:
                    return
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            self._messages.put(json.loads(stream.read(length)))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line

    # texts --------------------------------------------------------------------------------------------------------

    def open(self, name: str, text: str) -> str:
        """The URI of a file of the folder, opened with this text."""
        uri = (self.folder / name).as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        document = {"uri": uri, "languageId": "dcrf", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return uri

    def replace(self, uri: str, text: str) -> None:
        self.change(uri, [{"text": text}])
        self.texts[uri] = text

    def append(self, uri: str, added: str) -> None:
        """Types at the end of the text, in columns of UTF-16."""
        text = self.texts[uri]
        place = self.place(text, len(text))
        self.change(uri, [{"range": {"start": place, "end": place}, "text": added}])
        self.texts[uri] = text + added

    def change(self, uri: str, changes: list[dict[str, Any]]) -> None:
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    @staticmethod
    def place(text: str, offset: int) -> dict[str, int]:
        """A position in UTF-16."""
        lines = text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le")) // 2}

    def at(self, uri: str, mark: str, shift: int = 0, nth: int = 1) -> dict[str, Any]:
        """A document and the position of the nth `mark` in its text."""
        offset = -1
        for _ in range(nth):
            offset = self.texts[uri].index(mark, offset + 1)
        return {"textDocument": {"uri": uri}, "position": self.place(self.texts[uri], offset + shift)}

    def checked(self, uri: str) -> list[dict[str, Any]]:
        """The problems of the text as it is, when the server has found them."""
        version = self.versions[uri]
        self.wait_for(lambda: self.diagnostics.get(uri, {}).get("version") == version)
        found: list[dict[str, Any]] = self.diagnostics[uri]["diagnostics"]
        return found
