"""Data files that nobody would write, of each format, and the lexicons beside them.

    mutated(generator, blob)     another file: bytes, cells and lines changed, doubled, lost, replaced by odd ones

Each file is read in every possible way: as a whole, in chunks that are written back tagged (JSON must stay JSON), as
sentences of Python values, as a lexicon or a file of states. Findings beyond those of every kind: a message with a
character that acts on a terminal, a message without a file, an output that is not in its format. Not here: models.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from dcrfdsl.data import corpus_from_rows, read_corpus, stream_corpus, tagged
from dcrfdsl.data.states import declared_states
from dcrfdsl.features.values.lexicons import read_lexicon
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.foundation.errors.printing import json_text
from dcrfdsl.graph.drawing import FORMATS, GraphDrawing, VariableMark
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.schema.model_spec import ModelSpec
from dcrfdsl.syntax import Label, StateFile

from .cases import Fuzzer, Wrong

Rng = np.random.Generator

TEMPLATES = {
    "conll": "data conll(word, size:float, count:int, bits:vector(2), more:bag, y)\nlabel y\nclique y: word\n",
    "tabs": 'data conll(word, size:float, y, separator = "\\t", comment = "#")\nlabel y\nclique y: word\n',
    "conllu": 'data conllu(word = form, upos, case = feats("Case"), y = deprel)\nlabel y\nclique y: word\n',
    "keys": (
        'data conllu(word = form, head: int, y = misc("y"), z = feats("A"), missing = "_")\nlabel y\nclique y: word\n'
    ),
    "gaps": 'data conll(word, size:float, count:int, y, missing = "?")\nlabel y\nclique y: word, size, count\n',
    "table": (
        'data csv(word, size:float, count:int, bits:vector(2), y, separator = ";", decimal = ",", missing = "")\n'
        "label y\nclique y: word, size is missing\n"
    ),
    "gaps of JSON": 'data jsonl(word, size:float, count:int, y, missing = "")\nlabel y\nclique y: word, size\n',
    "jsonl": "data jsonl(word, size:float, count:int, bits:vector(2), more:bag, y)\nlabel y\nclique y: word\n",
}
_CONLLU = (
    "# text = a b\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\ta\ta\tX\t_\tCase=Nom|Number=Sing\t0\tP\t_\t_\n2\tb\tb\tY\t_\t_\t1\tQ\t_\tA=b\n\n"
)
SOUND = {
    "conll": b"a 0.5 1 01 x P\nb -1 2 1,0.5 y Q\n\nc\xc3\xa9 2e1 0 11 z P\n",
    "tabs": b"# one\na b\t0.5\tP\n\t1\tQ\n\n# two\nc\t2\tP\n",
    "conllu": _CONLLU.encode() * 2,
    "keys": _CONLLU.replace("A=b", "Z=1|y=Q|A=b|y=P").encode() * 2,
    "gaps": b"a 0.5 ? P\nb ? 2 Q\n\nc nan null P\n",
    "table": b"\xef\xbb\xbfword;size;count;bits;y\r\na;0,5;;01;P\r\n\"b;c\";;2;1 0.5;Q\r\n;;;;\r\nc;-2e1;nan;11;P\r\n",
    "gaps of JSON": (
        b'{"word": ["a", "b", "c"], "size": [0.5, null, NaN], "count": [null, 2, ""], "y": ["P", "Q", "P"]}\n'
    ),
    "jsonl": (
        b'{"word": ["a", "b"], "size": [0.5, -1], "count": [1, 2], "bits": [[0, 1], "1 0.5"], '
        b'"more": ["x", ["y", "z"]], "y": ["P", "Q"], "id": 1e3}\n'
        b'{"word": ["c"], "size": ["2e1"], "count": [0], "bits": ["11"], "more": ["x"], "y": ["P"], "id": {"a": []}}\n'
    ),
    "set": b"a\nb c\n\nd\xc3\xa9\n",
    "map": b"a\tone\nb\ttwo\n",
    "states": b"P\nQ\n\nR\n",
    "rows": b'[["a", 0.5, 1, [0, 1], "x", "P"], ["b", -1, 2, "1 0.5", ["y", "z"], "Q"]]',
}  # fmt: skip

ODD: tuple[bytes, ...] = (
    b"1e999", b"-1e999", b"1" * 400, b"1" * 5000, b"1e-400", b"nan", b"inf", b"-Infinity", b"NaN", b"Infinity",
    b"1_000", b"0x10", "٣".encode(), "１".encode(), b"-0", b"+1", b".5", b"5.", b"1e", b"1,2", b"01" * 300,
    b"\x1b[31mred\x1b[0m",
    b"\x1b]0;title\x07", b"\x00", b"\x07", b"\x08", b"\x7f", b"\xc2\x85", b"\xc2\x9b31m", "\u202eabc\u202c".encode(),
    "\u2066a\u2069".encode(), "\u2028".encode(), "\u2029".encode(), b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", "\u00a0".encode(), "\u3000".encode(), "\ufffe".encode(), b"\r", b"\r\n", b"\n", b"\n\n", b"\t",
    b" ", b"", b"#", b"_", b"a" * 100_000, b" x" * 2000, b"null", b"true", b"{}", b"[]", b'"\\ud800"',
    b'"\\u0000"', b'"\\u001b[2J"', b"[" * 500 + b"]" * 500, b"[" * 100_000, b'{"a":' * 900 + b"1" + b"}" * 900,
    b'""', b'[""]', b'{"word": ["a"]}', b"1.5", b"2147483648", b"9223372036854775808", b"0", b"<&\"'>", b"\\",
    b"|", b"=", b"1-2", b"1.1",
)  # fmt: skip
JSON_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**400, -(10**400), 2**63, 2**64, 1e308, "", "a", "1e999", "\ud800", "\x1b[2J", "\u202e",
    [], {}, [[]], [None], ["a", 1], [10**400], [[10**400, 1]], [1e308, 1e308], {"a": 1}, "a\nb", "a b", [True, False],
)  # fmt: skip


class DataCase(NamedTuple):
    """The content of a file, how it is read, and its name."""

    format: str
    content: bytes
    name: str = "data.txt"


def _one(rng: Rng, items: Any) -> Any:
    return items[int(rng.integers(len(items)))]


# mutations ----------------------------------------------------------------------------------------------------------


def _odd_at(rng: Rng, blob: bytes) -> bytes:
    at = int(rng.integers(len(blob) + 1))
    return blob[:at] + _one(rng, ODD) + blob[at + int(rng.integers(3)) :]


def _odd_cell(rng: Rng, blob: bytes) -> bytes:
    """The file with one cell replaced."""
    marks = [n for n, byte in enumerate(blob) if byte in b' \t\n,:[]{}|="'] or [0]
    first = _one(rng, marks)
    last = next((n for n in marks if n > first), len(blob))
    return blob[: first + 1] + _one(rng, ODD) + blob[last:]


def _lost(rng: Rng, blob: bytes) -> bytes:
    first, last = sorted(int(n) for n in rng.integers(0, len(blob) + 1, 2))
    return blob[:first] + blob[min(last, first + int(_one(rng, (1, 3, 20, 10**6)))) :]


def _doubled(rng: Rng, blob: bytes) -> bytes:
    first, last = sorted(int(n) for n in rng.integers(0, len(blob) + 1, 2))
    return blob[:last] + blob[first:last] * int(_one(rng, (1, 2, 300))) + blob[last:]


def _flipped(rng: Rng, blob: bytes) -> bytes:
    changed = bytearray(blob)
    for _ in range(int(rng.integers(1, 5)) if changed else 0):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def _other_ends(rng: Rng, blob: bytes) -> bytes:
    return blob.replace(
        b"\n", _one(rng, (b"\r", b"\r\n", b"\n\r", "\u2028".encode(), b"\x0b", b"\x0c", b" \n", b"\n\n"))
    )


def _other_encoding(rng: Rng, blob: bytes) -> bytes:
    text = blob.decode("utf-8", "replace")
    encoding = _one(rng, ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "utf-8-sig", "cp037"))
    return text.encode(encoding, "replace")


def _other_value(rng: Rng, blob: bytes) -> bytes:
    """The file with one value of a line of JSON replaced."""
    lines = blob.split(b"\n")
    number = int(rng.integers(len(lines)))
    try:
        node = json.loads(lines[number])
    except (ValueError, RecursionError):
        return _odd_cell(rng, blob)
    places: list[tuple[Any, Any]] = []
    _gather(node, places)
    if not places:
        return _odd_at(rng, blob)
    holder, key = _one(rng, places)
    holder[key] = _one(rng, JSON_VALUES)
    lines[number] = json.dumps(node).encode()
    return b"\n".join(lines)


def _gather(node: Any, places: list[tuple[Any, Any]]) -> None:
    for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        places.append((node, key))
        _gather(node[key], places)


MUTATIONS: tuple[Callable[[Rng, bytes], bytes], ...] = (
    _odd_at, _odd_at, _odd_cell, _odd_cell, _odd_cell, _lost, _doubled, _flipped, _other_ends, _other_encoding,
    _other_value, _other_value,
)  # fmt: skip


def mutated(generator: Rng, blob: bytes) -> bytes:
    """A file like `blob`, changed in one to three ways."""
    for _ in range(int(_one(generator, (1, 1, 2, 3)))):
        blob = _one(generator, MUTATIONS)(generator, blob)
    return blob


# trying -------------------------------------------------------------------------------------------------------------


def check_message(error: DcrfError) -> None:
    """Raises `Wrong` if a message could act on a terminal, is very long, or names no file."""
    text = str(error)
    acting = [char for char in text if char != "\n" and (ord(char) < 32 or "\x7f" <= char <= "\x9f")]
    acting += [
        char for char in text if char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff"
    ]
    if acting or any("\ud800" <= char <= "\udfff" for char in text):
        raise Wrong("control characters", ascii(text[:300]))
    if len(text) > 20_000:
        raise Wrong("long message", ascii(text[:300]))
    for diagnostic in error.diagnostics:
        if diagnostic.location is None and diagnostic.primary is None:
            raise Wrong("message without a file", ascii(text[:300]))


def _tag(content: bytes, template: str, rng: Rng) -> str:
    """Reads the file in chunks, and writes it back with predictions."""
    data = load_text(template).require().data
    assert data is not None
    out = b""
    for chunk in stream_corpus(BytesIO(content), data, optional=["y"], tokens_per_chunk=int(_one(rng, (1, 50_000)))):
        count = chunk.corpus.num_tokens
        out += tagged(chunk, {"y": ["P"] * count}, {"rank": [math.nan] * chunk.corpus.num_sentences})
    out.decode()
    if data.format == "jsonl":
        for line in out.decode("utf-8-sig").split("\n"):
            if line.strip():
                json.loads(line, parse_constant=_no_constant)
    return "tagged"


def _no_constant(text: str) -> Any:
    raise Wrong("output that is no JSON", text)


def _drawn(words: tuple[str, ...], title: str) -> None:
    """Draws a graph with these words, in every format."""
    marks = tuple(VariableMark(word[:20], n, 2) for n, word in enumerate(words))
    for name, draw in FORMATS.items():
        picture = draw(GraphDrawing(title, words, marks, ()))
        if name == "svg":
            ElementTree.fromstring(picture.encode())


class DataFiles(Fuzzer[DataCase]):
    """Small files of every format, mutated."""

    def __init__(self, room: Path) -> None:
        super().__init__(room)
        for name in TEMPLATES:
            self.attempt(DataCase(name, SOUND[name]), np.random.default_rng(0))

    def make(self, rng: Rng) -> DataCase:
        name = _one(rng, sorted(SOUND))
        content = _one(rng, ODD) * int(_one(rng, (1, 50))) if rng.random() < 0.05 else mutated(rng, SOUND[name])
        file = _one(rng, ("data.txt", "data.txt", "a\x1b[31mb.txt", "a\nb.txt", "\u202etxt.a", "a\udcffb.txt"))
        return DataCase(name, content, file)

    def attempt(self, case: DataCase, rng: Rng) -> str:
        path = self.room / case.name
        path.write_bytes(case.content)
        try:
            if case.format in ("set", "map"):
                read_lexicon("names", path)
                return "read"
            if case.format == "states":
                label = Label(name="y", domain=StateFile(path=case.name))
                declared_states(ModelSpec(labels=(label,)), {"y": self.room})
                return "read"
            if case.format == "rows":
                return self._rows(case)
            if rng.random() < 0.5:
                return _tag(case.content, TEMPLATES[case.format], rng)
            data = load_text(TEMPLATES[case.format]).require().data
            assert data is not None
            corpus = read_corpus(path, data, optional=["y"])
            json.loads(json_text([corpus.text_column("word").values, corpus.file]))
            _drawn(tuple(corpus.text_column("word").values[:20]), corpus.file)
            return "read"
        except DcrfError as error:
            check_message(error)
            return "refused"
        finally:
            path.unlink()

    def _rows(self, case: DataCase) -> str:
        """The JSON of the file, passed as Python values."""
        try:
            value = json.loads(case.content)
        except (ValueError, RecursionError):
            return "no values"
        data = load_text(TEMPLATES["jsonl"]).require().data
        assert data is not None
        corpus_from_rows([value], data)
        return "read"

    def smaller(self, case: DataCase) -> Iterator[DataCase]:
        size = len(case.content)
        step = size // 2
        while step:
            for at in range(0, size, step):
                yield case._replace(content=case.content[:at] + case.content[at + step :])
            step //= 2

    def show(self, case: DataCase) -> str:
        return f"{case.format}, {case.name!r}: {case.content[:2000]!r}"
