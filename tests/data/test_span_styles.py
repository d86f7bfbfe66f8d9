"""Random texts in every style of annotation tools, in any layout, against marks that are known beforehand.

Each text is made token by token with its marks, then written in a style by hand; what is read, and what is read again
after tagging, has these marks.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from dcrfdsl.data import Corpus, TaggedOutput, stream_corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import load_text
from dcrfdsl.syntax import DataSpec

LABELS = {"a": "A", "b": "B"}  # two labels of one list, by their types
TEMPLATE = """data spans(word = token, a = spans, b = spans{})
label a in bio(A) with others = O
label b in bio(B) with others = O
clique a, b: word
"""


class Made(NamedTuple):
    """A record, the number of its tokens, their marks by label, and whether it counts as gold."""

    record: Any
    length: int
    marks: dict[str, list[str]]
    counts: bool


Span = tuple[int, int, str, str]


def doccano(text: str, spans: list[Span], rng: random.Random) -> tuple[Any, bool]:
    return {"text": text, "label": [list(span[:3]) for span in spans]}, True


def entities(text: str, spans: list[Span], rng: random.Random) -> tuple[Any, bool]:
    made = [{"id": n, "label": kind, "start_offset": a, "end_offset": b} for n, (a, b, kind, _) in enumerate(spans)]
    ends = [rng.randrange(len(spans)) for _ in range(4)] if spans else []
    relations = [{"from_id": a, "to_id": b} for a, b in zip(ends[::2], ends[1::2], strict=True)]
    return {"text": text, "entities": made, "relations": relations}, True


def pairs(text: str, spans: list[Span], rng: random.Random) -> tuple[Any, bool]:
    return [text, {"entities": [list(span[:3]) for span in spans]}], True


def prodigy(text: str, spans: list[Span], rng: random.Random) -> tuple[Any, bool]:
    made: list[Any] = [{"start": a, "end": b, "label": kind} for a, b, kind, _ in spans]
    if rng.random() < 0.3:
        made.insert(0, {"start": 0, "end": 1, "label": "A", "answer": "reject"})
    answer = rng.choice(["accept", "accept", "reject", "ignore", None])
    return {"text": text, "spans": made, "answer": answer}, answer in ("accept", None)


def short_studio(text: str, spans: list[Span], rng: random.Random) -> tuple[Any, bool]:
    return {"text": text, "label": [{"start": a, "end": b, "text": q, "labels": [k]} for a, b, k, q in spans]}, True


def studio(text: str, spans: list[Span], rng: random.Random) -> tuple[Any, bool]:
    kind = rng.choice(["labels", "hypertextlabels"])
    values = [{"start": a, "end": b, "text": quote, kind: [label]} for a, b, label, quote in spans]
    good: dict[str, Any] = {"result": [{"value": {"choices": ["x"]}}, *({"value": value} for value in values)]}
    cancelled = {"result": [{"value": {"start": 0, "end": 999, "labels": ["A"]}}], "was_cancelled": True}
    every = {
        0: [good],
        1: [cancelled, good],
        2: [{"result": []}, {**good, "ground_truth": True}],
        3: [cancelled],
        4: [],
    }
    which = rng.randrange(5)
    return {"data": {"text": text}, "annotations": every[which]}, which < 3


STYLES: dict[str, Callable[[str, list[Span], random.Random], tuple[Any, bool]]] = {
    "doccano": doccano, "entities": entities, "pairs": pairs, "prodigy": prodigy, "short studio": short_studio,
    "studio": studio,
}  # fmt: skip


def made(style: str, utf16: bool, rng: random.Random) -> Made:
    text, tokens = rng.choice(["", " "]), []
    for _ in range(rng.randrange(6)):
        word = rng.choice(["a", "bc", "😀", "é"])
        tokens.append((len(text), len(text) + len(word)))
        text += word + rng.choice([" ", "  ", "\n", "\r\n"])
    spans: list[tuple[int, int, str]] = []
    marks = {label: ["O"] * len(tokens) for label in LABELS}
    for label, kind in LABELS.items():
        n = 0
        while n < len(tokens):
            last = rng.randint(n, min(n + 2, len(tokens) - 1))
            if rng.random() < 0.4:
                marks[label][n : last + 1] = [f"B-{kind}"] + [f"I-{kind}"] * (last - n)
                spans.append((tokens[n][0], tokens[last][1], kind))
            n = last + 1
    if tokens and rng.random() < 0.3:
        spans.append((tokens[0][0], tokens[-1][1], "OTHER"))
    rng.shuffle(spans)
    units = [len(text[:n].encode("utf-16-le")) // 2 if utf16 else n for n in range(len(text) + 1)]
    record, counts = STYLES[style](text, [(units[a], units[b], kind, text[a:b]) for a, b, kind in spans], rng)
    return Made(record, len(tokens), marks, counts and bool(tokens))


def laid_out(records: list[Any], rng: random.Random) -> bytes:
    lines = [json.dumps(record, ensure_ascii=rng.random() < 0.5) for record in records]
    return rng.choice(
        ["\n".join(lines), "\r\n".join([*lines, ""]), json.dumps(records), json.dumps(records, indent=rng.randrange(3))]
    ).encode()


def data_of(utf16: bool) -> DataSpec:
    data = load_text(TEMPLATE.format(', offsets = "utf16"' if utf16 else "")).spec.data
    assert data is not None
    return data


def column(corpus: Corpus, label: str) -> list[str]:
    return [corpus.text_column(label).text(n) for n in range(corpus.num_tokens)] if corpus.num_tokens else []


def drawn_marks(corpus: Corpus, kind: str, rng: random.Random) -> list[str]:
    marks: list[str] = []
    firsts = set(corpus.sentence_off.tolist())
    for n in range(corpus.num_tokens):
        inside = n not in firsts and marks[-1] != "O"
        marks.append(rng.choice(["O", f"B-{kind}", *([f"I-{kind}"] if inside else [])]))
    return marks


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("style", STYLES)
def test_every_style_is_read_and_written_as_it_was_made(style: str, seed: int) -> None:
    rng = random.Random(f"{style} {seed}")
    for _ in range(12):
        utf16, size = rng.random() < 0.5, rng.choice([1, 4, 1000])
        every = [made(style, utf16, rng) for _ in range(rng.randint(1, 5))]
        raw, data = laid_out([one.record for one in every], rng), data_of(utf16)
        gold = [one for one in every if one.counts]
        found: dict[str, list[str]] = {label: [] for label in LABELS}
        try:
            for chunk in stream_corpus(io.BytesIO(raw), data, tokens_per_chunk=size):
                for label, marks in found.items():
                    marks += column(chunk.corpus, label)
        except DcrfError as error:
            assert not gold and error.diagnostics[0].slug == "empty-file"
        assert found == {label: [mark for one in gold for mark in one.marks[label]] for label in LABELS}
        if any(one.length for one in every):
            _tagged_and_read_again(every, raw, data, size, rng)


def _tagged_and_read_again(every: list[Made], raw: bytes, data: DataSpec, size: int, rng: random.Random) -> None:
    output, out = TaggedOutput(data), b""
    marks: dict[str, list[str]] = {label: [] for label in LABELS}
    for chunk in stream_corpus(io.BytesIO(raw), data, tokens_per_chunk=size, optional=list(LABELS), gold=False):
        drawn = {label: drawn_marks(chunk.corpus, kind, rng) for label, kind in LABELS.items()}
        for label, of_chunk in drawn.items():
            marks[label] += of_chunk
        out += output.write(chunk, drawn)
    out += output.close()
    is_array = out.startswith(b"[\n")
    tagged = json.loads(out) if is_array else [json.loads(line) for line in out.split(b"\n") if line.strip()]
    assert len(tagged) == len(every)
    at = 0
    for record, one in zip(tagged, every, strict=True):
        if not one.length:
            continue
        if "annotations" in record:
            assert record["annotations"] == one.record["annotations"]
            results = record["predictions"][0]["result"]
            record = {"text": record["data"]["text"], "label": [result["value"] for result in results]}
        if isinstance(record, dict):
            record.pop("answer", None)
            ids = {entity["id"] for entity in record.get("entities", ()) if "id" in entity}
            assert all({end["from_id"], end["to_id"]} <= ids for end in record.get("relations", ()))
        (chunk,) = stream_corpus(io.BytesIO(json.dumps(record).encode()), data)
        for label in LABELS:
            assert column(chunk.corpus, label) == marks[label][at : at + one.length]
        at += one.length
