"""What no editor should send, and files with strange names: an answer or one line, and never a traceback."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_client import COMMAND, LspClient, LspError

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

WRONG = "data conll(word, y)\nlabel y in {A, B}\nclique y: wrd\n"
INITIALIZE = {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
SHUTDOWN = {"id": 2, "method": "shutdown"}
EXIT = {"method": "exit"}


def said(folder: Path, *messages: Any) -> tuple[int, str]:
    """The exit code and stderr after these messages and the end of stdin."""
    sent = b""
    for message in messages:
        body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        sent += b"Content-Length: %d\r\n\r\n" % len(body) + body
    run = subprocess.run(COMMAND, input=sent, capture_output=True, cwd=folder, timeout=60)
    return run.returncode, run.stderr.decode()


def test_exit_codes(tmp_path: Path) -> None:
    assert said(tmp_path) == (0, "")
    assert said(tmp_path, INITIALIZE) == (0, "")
    assert said(tmp_path, INITIALIZE, SHUTDOWN, EXIT) == (0, "")
    assert said(tmp_path, INITIALIZE, EXIT) == (1, "")


def test_bad_json_is_said_in_one_line(tmp_path: Path) -> None:
    code, errors = said(tmp_path, INITIALIZE, b"{abc}", SHUTDOWN, EXIT)
    assert code == 0
    assert errors.startswith("what came is no JSON: ") and errors.count("\n") == 1


def test_other_json_is_told_in_one_line_each(tmp_path: Path) -> None:
    told = {
        b"[1, 2]": "list, expected an object with `jsonrpc`",
        b'[{"jsonrpc": "2.0", "id": 7, "method": "shutdown"}]': "list, expected an object with `jsonrpc`",
        b"7": "int, expected an object with `jsonrpc`",
        b"null": "NoneType, expected an object with `jsonrpc`",
        b'{"id": 7}': "dict, expected an object with `jsonrpc`",
        b"[" * 100_000 + b"]" * 100_000: "it is nested too deeply",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000: "it is nested too deeply",
    }
    code, errors = said(tmp_path, INITIALIZE, *told, SHUTDOWN, EXIT)
    assert (code, errors.splitlines()) == (0, [f"what came is no message: {reason}" for reason in told.values()])


def test_a_request_that_cannot_be_read_is_answered(tmp_path: Path) -> None:
    with LspClient(tmp_path) as client:
        uri = client.open("a.dcrf", WRONG)
        below = {"textDocument": {"uri": uri}, "position": {"line": -1, "character": -5}}
        for params in ({"x": 1}, None, below):
            with pytest.raises(LspError, match="Invalid Params"):
                client.ask("textDocument/hover", params)
        client.tell("textDocument/didChange", {"x": 1})
        assert client.checked(uri)[0]["code"] == "unknown-name"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LspClient]:
    with LspClient(tmp_path_factory.mktemp("names")) as client:
        yield client


@pytest.mark.parametrize(
    "name", ["my file.dcrf", "100%.dcrf", "%41.dcrf", "\u015f#q?.dcrf", "\u00fc+&.dcrf"]
)  # fmt: skip
def test_names_of_files_with_signs_of_uris(name: str, client: LspClient) -> None:
    used = client.folder / name
    used.write_text("data conll(word, y)\nlabel y in {A, B}\n", encoding="utf-8")
    outer = client.open(f"outer of {len(client.texts)}.dcrf", f'use "{name}"\nclique y: word\n')
    assert client.checked(outer) == []
    (found,) = client.ask("textDocument/definition", client.at(outer, "word"))
    assert found["uri"] == used.as_uri()


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "file:///a%00b.dcrf", f"file:///{'q' * 5000}.dcrf"])
def test_texts_that_are_no_files(uri: str, client: LspClient) -> None:
    client.texts[uri], client.versions[uri] = WRONG, 1
    document = {"uri": uri, "languageId": "dcrf", "version": 1, "text": WRONG}
    client.tell("textDocument/didOpen", {"textDocument": document})
    assert client.checked(uri)[0]["code"] == "unknown-name"
    client.ask("textDocument/completion", client.at(uri, "wrd"))


@pytest.mark.long
def test_hints_follow_data_that_changes_on_the_disk(tmp_path: Path) -> None:
    """No key is pressed, and the editor does not watch the file: asking for hints is enough."""
    data = tmp_path / "train.txt"
    data.write_text("a A\nb B\n\n")
    with LspClient(tmp_path, options={"data": "train.txt"}) as client:
        uri = client.open("a.dcrf", "data conll(word, y)\nlabel y\nclique y: word\n")
        places = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
        whole = {"textDocument": {"uri": uri}, "range": places}

        def refreshed() -> int:
            return client.published.count({"request": "workspace/inlayHint/refresh"})

        client.wait_for(lambda: refreshed() == 1, 300)
        assert client.ask("textDocument/inlayHint", whole)[0]["label"].startswith("2 states")
        client.ask("textDocument/foldingRange", {"textDocument": {"uri": uri}})
        data.write_text("a A\nb B\nc C\n\n")
        assert client.ask("textDocument/inlayHint", whole) == []
        client.wait_for(lambda: refreshed() == 2, 300)
        assert client.ask("textDocument/inlayHint", whole)[0]["label"].startswith("3 states")
        data.unlink()
        assert client.ask("textDocument/inlayHint", whole) == []
