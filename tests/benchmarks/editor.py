"""The language server on a template of 300 lines: seconds of each answer while keys are pressed.

The client and the server run on the same machine, and what the pipes and JSON take is a part of each answer. Not here:
whether the answers are right (`tests/language_server`).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from figures import Figure, Skip, at_most
from work import SMOKE

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from lsp_client import LspClient

LINES = 300
ROUNDS = 3 if SMOKE else 60
LIMIT = 0.05  # seconds
MARK = "suffix(word, "
AT_CURSOR = ("completion", "hover", "signatureHelp", "definition", "documentHighlight", "prepareRename")
OF_TEXT = ("documentSymbol", "foldingRange", "semanticTokens/full", "formatting")
HEAD = "dcrf 1\ndata conll(word, pos, chunk)\nlabel chunk in {B-NP, I-NP, O}\n"
PART = """
features g{0} with min_count = 2:
    word, suffix(word, 1..3), lower(word)[-1..1]
    word[-1] & pos, (word matches /[A-Z].*/ and pos is NN)
# a comment
clique chunk[-1], chunk as c{0} with states = all: g{0}[-1..1], bias
forbid chunk is B-NP and word is x{0} as f{0}
"""
TAIL = "\ntrain likelihood: prior = gaussian(variance = 10)\n"


def template_of(lines: int) -> str:
    """A template of about so many lines, without a mistake."""
    parts = (lines - HEAD.count("\n") - TAIL.count("\n")) // PART.count("\n")
    return HEAD + "".join(PART.format(n) for n in range(parts)) + TAIL


def editor() -> Iterator[Figure]:
    """A language server on 300 lines: p95 of each answer after a key pressed in the middle, and of problems."""
    if find_spec("pygls") is None:
        raise Skip("pygls is not installed")
    with tempfile.TemporaryDirectory() as folder, LspClient(Path(folder)) as client:
        uri = client.open("long.dcrf", template_of(LINES))
        client.checked(uri)
        for n in range(ROUNDS):
            _press_a_key(client, uri, n)
            _ask_all(client, uri)
            if n % 10 == 0:
                client.checked(uri)
        for method, seconds in client.seconds.items():
            taken = sorted(seconds)
            if method.startswith("textDocument/"):
                middle, high = taken[len(taken) // 2], taken[int(0.95 * (len(taken) - 1))]
                work = f"{len(taken)} answers: median {1e3 * middle:.1f} ms, slowest {1e3 * taken[-1]:.1f} ms"
                yield Figure(method.removeprefix("textDocument/"), high, "s", work, at_most(LIMIT))
        yield Figure("start", client.seconds["initialize"][0], "s", "from the process to its first answer")


def _press_a_key(client: LspClient, uri: str, n: int) -> None:
    """Writes a letter or takes it back, in a statement in the middle."""
    text = client.texts[uri]
    offset = text.index(MARK, len(text) // 2) + len(MARK)
    place = client.place(text, offset)
    if n % 2:
        end = place | {"character": place["character"] + 1}
        client.change(uri, [{"range": {"start": place, "end": end}, "text": ""}])
        client.texts[uri] = text[:offset] + text[offset + 1 :]
    else:
        client.change(uri, [{"range": {"start": place, "end": place}, "text": "l"}])
        client.texts[uri] = f"{text[:offset]}l{text[offset:]}"


def _ask_all(client: LspClient, uri: str) -> None:
    text = client.texts[uri]
    document = {"textDocument": {"uri": uri}}
    offset = text.index(MARK, len(text) // 2)
    place = client.place(text, offset + len(MARK))
    name = client.place(text, offset + len("suffix("))
    for method in AT_CURSOR:
        at = place if method in ("completion", "signatureHelp") else name
        client.ask(f"textDocument/{method}", document | {"position": at})
    client.ask("textDocument/references", document | {"position": name, "context": {"includeDeclaration": True}})
    client.ask("textDocument/rename", document | {"position": name, "newName": "token"})
    for method in OF_TEXT:
        client.ask(f"textDocument/{method}", document | {"options": {"tabSize": 4, "insertSpaces": True}})
    here = {"start": name, "end": name}
    client.ask("textDocument/codeAction", document | {"range": here, "context": {"diagnostics": []}})
    whole = {"start": {"line": 0, "character": 0}, "end": client.place(text, len(text))}
    client.ask("textDocument/inlayHint", document | {"range": whole})
