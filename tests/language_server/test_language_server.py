"""The server itself, by messages over stdio: every capability, and what a client may do wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editor_cases import BASE
from lsp_client import LspClient, LspError

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

WHOLE = {"options": {"tabSize": 4, "insertSpaces": True}}
CONTEXT = {"context": {"diagnostics": []}}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LspClient]:
    folder = tmp_path_factory.mktemp("templates")
    (folder / "days.txt").write_text("Monday\n")
    with LspClient(folder) as client:
        yield client


def ranges(text: str, range: Any) -> str:
    """The text of a range."""
    lines = text.split("\n")
    start, end = range["start"], range["end"]
    assert start["line"] == end["line"]
    return lines[start["line"]][start["character"] : end["character"]]


def test_capabilities(client: LspClient) -> None:
    capabilities = client.initialized["capabilities"]
    wanted = (
        "completionProvider", "hoverProvider", "signatureHelpProvider", "definitionProvider", "referencesProvider",
        "documentHighlightProvider", "documentSymbolProvider", "codeActionProvider", "documentFormattingProvider",
        "renameProvider", "foldingRangeProvider", "semanticTokensProvider", "inlayHintProvider",
    )  # fmt: skip
    assert all(capabilities.get(name) for name in wanted)
    assert capabilities["positionEncoding"] == "utf-16"
    assert capabilities["renameProvider"] == {"prepareProvider": True}
    assert client.initialized["serverInfo"]["name"] == "dcrfdsl"


def test_problems_and_their_fixes(client: LspClient) -> None:
    uri = client.open("problems.dcrf", BASE + "clique chunk: wrd  # 𝔸\nlet unused = 1\n")
    (wrong,) = client.checked(uri)
    assert wrong["code"] == "unknown-name"
    assert wrong["severity"] == 1
    assert wrong["source"] == "dcrfdsl"
    assert ranges(client.texts[uri], wrong["range"]) == "wrd"
    (related,) = wrong["relatedInformation"]
    assert ranges(client.texts[uri], related["location"]["range"]) == "word"
    assert "declared nowhere" in wrong["data"]["explanation"]
    actions = client.ask("textDocument/codeAction", client.at(uri, "wrd") | CONTEXT | {"range": wrong["range"]})
    assert [one["title"] for one in actions][:2] == ["Write `word`", "Add the column `wrd` to `data`"]
    (edit,) = actions[0]["edit"]["changes"][uri]
    client.change(uri, [{"range": edit["range"], "text": edit["newText"]}])
    client.texts[uri] = client.texts[uri].replace("wrd", "word")
    assert [one["code"] for one in client.checked(uri)] != ["unknown-name"]
    client.replace(uri, BASE)
    assert [one["severity"] for one in client.checked(uri)] in ([], [2])


def test_answers_at_a_place(client: LspClient) -> None:
    uri = client.open("answers.dcrf", BASE + "clique chunk: suffix(word, ")
    hover = client.ask("textDocument/hover", client.at(uri, "lower"))
    assert "feature function" in hover["contents"]["value"]
    completion = client.ask("textDocument/completion", client.at(uri, "as here"))
    assert [item["label"] for item in completion["items"]] == ["where", "as", "with"]
    signature = client.ask("textDocument/signatureHelp", client.at(uri, "suffix(word, ", shift=13))
    assert signature["signatures"][0]["label"] == "suffix(term, lengths)"
    assert signature["activeParameter"] == 1
    (place,) = client.ask("textDocument/definition", client.at(uri, "form\n"))
    assert place["range"]["start"] == {"line": 5, "character": 9}
    found = client.ask("textDocument/references", client.at(uri, "form\n") | {"context": {"includeDeclaration": True}})
    assert len(found) == 2
    marks = client.ask("textDocument/documentHighlight", client.at(uri, "form\n"))
    assert [mark["range"] for mark in marks] == [one["range"] for one in found]


def test_rename(client: LspClient) -> None:
    uri = client.open("names.dcrf", BASE)
    at = client.at(uri, "form\n")
    prepared = client.ask("textDocument/prepareRename", at)
    assert prepared["placeholder"] == "form"
    edits = client.ask("textDocument/rename", at | {"newName": "shape_of"})["changes"][uri]
    assert {edit["newText"] for edit in edits} == {"shape_of"}
    assert len(edits) == 2
    with pytest.raises(LspError, match="already declared"):
        client.ask("textDocument/rename", at | {"newName": "word"})
    with pytest.raises(LspError, match="no name"):
        client.ask("textDocument/prepareRename", client.at(uri, "lower"))


def test_the_whole_text(client: LspClient) -> None:
    uri = client.open("whole.dcrf", BASE + "clique   chunk[-1], chunk:\n    bias\n    word\n")
    document = {"textDocument": {"uri": uri}}
    symbols = client.ask("textDocument/documentSymbol", document)
    assert [one["name"] for one in symbols][-2:] == ["here", "chunk[-1], chunk"]
    assert len(symbols[0]["children"]) == 3
    (fold,) = client.ask("textDocument/foldingRange", document)
    assert (fold["startLine"], fold["endLine"]) == (7, 9)
    tokens = client.ask("textDocument/semanticTokens/full", document)["data"]
    assert len(tokens) % 5 == 0
    assert tokens[:5] == [0, 0, 4, 0, 0]
    edits = client.ask("textDocument/formatting", document | WHOLE)
    assert [edit["newText"] for edit in edits] == ["dcrf 1\n", "clique chunk[-1], chunk:\n"]
    actions = client.ask("textDocument/codeAction", document | CONTEXT | {
        "range": {"start": {"line": 9, "character": 5}, "end": {"line": 9, "character": 6}},
    })  # fmt: skip
    assert [one["title"] for one in actions] == ["Extract the feature group `group1`"]


def test_files_that_use_each_other(client: LspClient) -> None:
    """Problems stand in the file that has them, whether it is saved or not."""
    (client.folder / "base.dcrf").write_text("data conll(word, y)\nlabel y in {A, B, A}\n")
    base = (client.folder / "base.dcrf").as_uri()
    uri = client.open("outer.dcrf", 'use "base.dcrf"\nclique y: word\n')
    assert client.checked(uri) == []
    client.wait_for(lambda: [d["code"] for d in client.diagnostics.get(base, {"diagnostics": []})["diagnostics"]]
                    == ["state-twice"])  # fmt: skip
    client.open("base.dcrf", "data conll(word, y)\nlabel y in {A, B}\n")
    client.wait_for(lambda: "state-twice" not in str(client.diagnostics[base]))
    place = client.ask("textDocument/definition", client.at(uri, "word"))[0]
    assert place["uri"] == base
    client.replace(base, "data conll(token, y)\nlabel y in {A, B}\n")
    client.wait_for(lambda: "unknown-name" in str(client.diagnostics[uri]))
    edits = client.ask("textDocument/rename", client.at(base, "y)") | {"newName": "z"})["changes"]
    assert set(edits) == {uri, base}


def test_a_new_name_reaches_files_that_are_not_open(client: LspClient) -> None:
    deep = client.folder / "deep"
    deep.mkdir()
    (deep / "closed.dcrf").write_text('use "../shared.dcrf"\nclique y: token\n')
    (client.folder / "stranger.dcrf").write_text("data conll(token, y)\nlabel y in {A, B}\nclique y: token\n")
    uri = client.open("shared.dcrf", "data conll(token, y)\nlabel y in {A, B}\n")
    changes = client.ask("textDocument/rename", client.at(uri, "token") | {"newName": "word"})["changes"]
    assert set(changes) == {uri, (deep / "closed.dcrf").as_uri()}


def test_a_closed_text_has_no_problems(client: LspClient) -> None:
    uri = client.open("closed.dcrf", "label = 3")
    assert client.checked(uri)
    client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.wait_for(lambda: client.diagnostics[uri]["diagnostics"] == [])
    with pytest.raises(LspError, match="not open"):
        client.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})


def test_line_ends_and_signs_beyond_the_first_plane(client: LspClient) -> None:
    text = "\ufeff# 𝔸𝔸\r\ndata conll(word, y)\r\nlabel y in {𝔸, B}\r\nclique y: word is 𝔸, wrd\r\n"
    uri = client.open("signs.dcrf", text)
    wrong = [one for one in client.checked(uri) if one["code"] == "unknown-name"]
    assert wrong[0]["range"] == {"start": {"line": 3, "character": 22}, "end": {"line": 3, "character": 25}}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-32"])
def test_other_encodings_of_columns(encoding: str, tmp_path: Path) -> None:
    with LspClient(tmp_path, encodings=[encoding]) as client:
        assert client.initialized["capabilities"]["positionEncoding"] == encoding
        uri = client.open("a.dcrf", "data conll(word, y)\nlabel y in {𝔸, B}\nforbid y is 𝔸 and wrd is B\n")
        wrong = next(one for one in client.checked(uri) if one["code"] == "unknown-name")
        assert wrong["range"]["start"]["character"] == (21 if encoding == "utf-8" else 18)


def test_without_pygls_one_line_says_what_to_do() -> None:
    code = (
        "import sys; sys.modules['pygls'] = None\n"
        "from dcrfdsl.cli import template_commands\ntemplate_commands.find_spec = lambda name: None\n"
        "from dcrfdsl.cli import run; sys.exit(run(['lsp']))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode != 0
    assert "pip install -e '.[lsp]'" in run.stderr
    assert "Traceback" not in run.stderr


def test_the_server_starts_without_the_engine() -> None:
    code = (
        "import sys\nfrom dcrfdsl.language_server import lsp_server\n"
        "from dcrfdsl.language_server.template_problems import problems_of\n"
        "from dcrfdsl.language_server.template_index import Workspace\nfrom pathlib import Path\n"
        "problems_of(Path('a.dcrf'), 'label y in {A, B}', Workspace(lambda path: None))\n"
        "print(*sorted(set(sys.modules) & {'numba', 'scipy', 'networkx', 'sklearn', 'pandas'}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []
