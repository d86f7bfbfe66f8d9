"""Templates typed character by character, with an answer of each kind on the way: nothing fails, nothing is stale."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from editor_cases import workspace
from helpers import ROOT, SHARED
from lsp_client import LspClient, LspError

from dcrfdsl.language_server.template_problems import problems_of

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

DESIGN = SHARED / "design" / "examples"
OURS = sorted((ROOT / "templates").glob("*.dcrf"))
PREFIXES = 100  # after which the problems must be those of a fresh check
LIMIT = 0.05  # seconds of an answer, on a quiet machine
AT_CURSOR = (
    "textDocument/completion", "textDocument/hover", "textDocument/signatureHelp", "textDocument/definition",
    "textDocument/documentHighlight", "textDocument/prepareRename",
)  # fmt: skip
OF_TEXT = (
    "textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/semanticTokens/full",
    "textDocument/formatting",
)  # fmt: skip


def fresh(path: Path, text: str) -> list[tuple[str, str]]:
    """The problems of a text by themselves: slug and message."""
    found = problems_of(path, text, workspace())
    return sorted((one.diagnostic.slug, one.message) for one in found.problems[path])


def shown(client: LspClient, uri: str) -> list[tuple[str, str]]:
    return sorted((one["code"], one["message"]) for one in client.checked(uri))


def ask_all(client: LspClient, uri: str) -> None:
    text = client.texts[uri]
    document = {"textDocument": {"uri": uri}}
    place = client.place(text, len(text))
    for method in AT_CURSOR:
        try:
            client.ask(method, document | {"position": place})
        except LspError as refusal:
            assert method == "textDocument/prepareRename", refusal
    for method in OF_TEXT:
        client.ask(method, document | {"options": {"tabSize": 4, "insertSpaces": True}})
    action = {"range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    client.ask("textDocument/codeAction", document | action)
    whole = {"range": {"start": {"line": 0, "character": 0}, "end": place}}
    client.ask("textDocument/inlayHint", document | whole)


@pytest.mark.long
def test_templates_typed_character_by_character(tmp_path: Path) -> None:
    files = sorted(DESIGN.glob("*.dcrf")) or OURS
    texts = [path.read_text(encoding="utf-8") for path in files[:5]]
    stops = {
        (n, place)
        for n, text in enumerate(texts)
        for place in random.Random(n).sample(range(len(text)), PREFIXES // len(texts) + 1)
    }
    compared = 0
    with LspClient(tmp_path) as client:
        for n, text in enumerate(texts):
            uri = client.open(f"typed{n}.dcrf", "")
            for place, char in enumerate(text):
                client.append(uri, char)
                if (n, place) in stops:
                    ask_all(client, uri)
                    assert shown(client, uri) == fresh(tmp_path / f"typed{n}.dcrf", text[: place + 1])
                    compared += 1
            assert shown(client, uri) == fresh(tmp_path / f"typed{n}.dcrf", text)
        assert compared >= PREFIXES
        versions: dict[str, int] = {}
        for one in client.published:
            if "uri" in one:
                assert one["version"] >= versions.get(one["uri"], 0)
                versions[one["uri"]] = one["version"]
        for method, seconds in sorted(client.seconds.items()):
            taken = sorted(seconds)
            middle, high = taken[len(taken) // 2], taken[int(0.95 * (len(taken) - 1))]
            print(f"{method}: {len(taken)} answers, p50 {1e3 * middle:.1f} ms, p95 {1e3 * high:.1f} ms")


def test_a_burst_of_keys_is_checked_once_it_ends(tmp_path: Path) -> None:
    """The last state is shown, and no problem of a text that is gone."""
    text = "data conll(word, y)\nlabel y in {A, B}\nclique y: wor"
    with LspClient(tmp_path) as client:
        uri = client.open("a.dcrf", "")
        for char in text:
            client.append(uri, char)
        assert [one["code"] for one in client.checked(uri)] == ["unknown-name"]
        client.append(uri, "d")
        assert client.checked(uri) == []
        assert all(one["version"] <= client.versions[uri] for one in client.published if "uri" in one)
