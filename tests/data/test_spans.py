"""Spans of characters: read into marks of tokens, refused with their place where they do not fit, and written back."""

from __future__ import annotations

import io
import json
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dcrfdsl.data import Corpus, TaggedOutput, read_corpus, repeated, stream_corpus
from dcrfdsl.data.formats.span_tokens import TOKENIZERS, to_units
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import load_text
from dcrfdsl.syntax import DataSpec

ANN = "Ann 😀 Lee saw NY."


def data_of(options: str = "", scheme: str = "bio", columns: str = "word = token, ner = spans") -> DataSpec:
    """The `data` statement of a template whose label has the scheme."""
    data = load_text(f"data spans({columns}{options})\nlabel ner in {scheme}\nclique ner: word\n").spec.data
    assert data is not None
    return data


def corpus_of(data: DataSpec, *records: Any, **kwargs: Any) -> Corpus:
    text = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    (chunk,) = stream_corpus(io.BytesIO(text.encode()), data, **kwargs)
    return chunk.corpus


def column(corpus: Corpus, name: str) -> list[str]:
    return [corpus.text_column(name).text(n) for n in range(corpus.num_tokens)]


# tokenizers ---------------------------------------------------------------------------------------------------------

TEXTS = {
    "words": ("Don't stop: 3.5 km_h", ["Don", "'", "t", "stop", ":", "3", ".", "5", "km_h"]),
    "words: combining marks": ("नमस्ते, e\u0301te\u0301!", ["नमस्ते", ",", "e\u0301te\u0301", "!"]),
    "words: pictures": ("a👍\ufe0f b\u00a0c", ["a", "👍\ufe0f", "b", "c"]),
    "whitespace": (" Don't\tstop:\n3.5\u00a0km ", ["Don't", "stop:", "3.5", "km"]),
    "characters": ("東京 2😀", ["東", "京", "2", "😀"]),
    "nothing": (" \n", []),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_has_these_tokens(name: str) -> None:
    text, expected = TEXTS[name]
    tokenizer = TOKENIZERS.get(name.partition(":")[0], TOKENIZERS["words"])
    assert [text[start:end] for start, end in tokenizer(text)] == expected


@given(st.text(max_size=30), st.sampled_from(sorted(TOKENIZERS)))
def test_tokens_are_all_of_a_text_but_its_white_space(text: str, name: str) -> None:
    tokens = TOKENIZERS[name](text)
    bounds = [0, *(bound for token in tokens for bound in token), len(text)]
    assert bounds == sorted(bounds) and all(start < end for start, end in tokens)
    gaps = [text[a:b] for a, b in zip(bounds[::2], bounds[1::2], strict=True)]
    assert "".join(gaps).strip() == "" and not any(char.isspace() for start, end in tokens for char in text[start:end])
    if name == "words":  # the rule, spelled out: a mark never begins a token that could go on with it
        for _, end in tokens:
            follows = text[end : end + 1]
            assert not follows or unicodedata.category(follows)[0] != "M" or follows.isspace()


# reading ------------------------------------------------------------------------------------------------------------

STYLES: dict[str, Any] = {
    "doccano": {"text": ANN, "label": [[0, 9, "PER"], [14, 16, "LOC"]]},
    "doccano, several": {"text": ANN, "labels": [[14, 16, "LOC"], [0, 9, "PER"]]},
    "doccano, relations": {
        "text": ANN,
        "entities": [
            {"id": 1, "label": "PER", "start_offset": 0, "end_offset": 9},
            {"id": 2, "label": "LOC", "start_offset": 14, "end_offset": 16},
        ],
        "relations": [],
    },
    "spacy": {"text": ANN, "entities": [[0, 9, "PER"], [14, 16, "LOC"]]},
    "spacy, pairs": [ANN, {"entities": [[0, 9, "PER"], [14, 16, "LOC"]]}],
    "prodigy": {
        "text": ANN,
        "spans": [{"start": 0, "end": 9, "label": "PER"}, {"start": 14, "end": 16, "label": "LOC", "text": "NY"}],
    },
    "label_studio, short": {
        "text": ANN,
        "label": [
            {"start": 0, "end": 9, "text": "Ann 😀 Lee", "labels": ["PER"]},
            {"start": 14, "end": 16, "labels": ["LOC"]},
        ],
    },
    "label_studio": {
        "id": 7,
        "data": {"text": ANN},
        "annotations": [
            {
                "result": [
                    {"type": "choices", "value": {"choices": ["x"]}},
                    {"from_name": "ner", "value": {"start": 0, "end": 9, "text": "Ann 😀 Lee", "labels": ["PER"]}},
                    {"from_name": "ner", "value": {"start": 14, "end": 16, "labels": ["LOC"]}},
                ]
            }
        ],
    },
}
WORDS = ["Ann", "😀", "Lee", "saw", "NY", "."]
MARKS = {"bio": ["B-PER", "I-PER", "I-PER", "O", "B-LOC", "O"], "bioes": ["B-PER", "I-PER", "E-PER", "O", "S-LOC", "O"]}


@pytest.mark.parametrize("scheme", MARKS)
@pytest.mark.parametrize("style", STYLES)
def test_spans_are_read_in_the_style_that_the_file_has(style: str, scheme: str) -> None:
    corpus = corpus_of(data_of(scheme=scheme), STYLES[style], STYLES[style])
    assert column(corpus, "word") == WORDS * 2 and column(corpus, "ner") == MARKS[scheme] * 2
    assert corpus.sentence_off.tolist() == [0, 6, 12] and corpus.token_line.tolist() == [1] * 6 + [2] * 6


def test_offsets_and_white_space_are_columns_too() -> None:
    data = data_of(columns="word = token, start: int, end: int, space, ner = spans")
    corpus = corpus_of(data, {"text": "Ann's NY", "label": []})
    assert column(corpus, "word") == ["Ann", "'", "s", "NY"] and column(corpus, "space") == ["yes", "no", "no", "yes"]
    assert corpus.columns["start"].values.tolist() == [0, 3, 4, 6]  # type: ignore[union-attr]
    assert corpus.columns["end"].values.tolist() == [3, 4, 5, 8]  # type: ignore[union-attr]


def test_lists_of_spans_have_keys() -> None:
    data = data_of(columns='word = token, ner = spans("names"), chunk = spans("parts")')
    record = {"text": "Ann ran", "names": [[0, 3, "PER"]], "parts": [[0, 7, "S"]], "label": [[4, 7, "X"]]}
    corpus = corpus_of(data, record)
    assert (column(corpus, "ner"), column(corpus, "chunk")) == (["B-PER", "O"], ["B-S", "I-S"])


GIVEN = {
    "offsets": [[0, 3], [4, 5], [6, 16], [16, 17]],
    "objects": [{"text": "Ann", "start": 0, "end": 3, "id": 0}, {"start": 4, "end": 5}, {"start": 6, "end": 17}],
    "texts": ["Ann", "😀", "Lee saw NY", "."],
}


@pytest.mark.parametrize("name", GIVEN)
def test_tokens_may_be_given(name: str) -> None:
    record = {"text": ANN, "tokens": GIVEN[name], "label": [[0, 5, "PER"]]}
    corpus = corpus_of(data_of(', tokenizer = "given"'), record)
    assert column(corpus, "ner")[:3] == ["B-PER", "I-PER", "O"] and column(corpus, "word")[1] == "😀"


def test_white_space_at_the_ends_of_a_span_does_not_count() -> None:
    corpus = corpus_of(data_of(), {"text": "in New York now", "label": [[2, 12, "LOC"]]})
    assert column(corpus, "ner") == ["O", "B-LOC", "I-LOC", "O"]


def test_offsets_of_javascript_are_those_of_characters() -> None:
    record = {"text": ANN, "label": [[0, 10, "PER"], [15, 17, "LOC"]]}
    assert column(corpus_of(data_of(', offsets = "utf16"'), record), "ner") == MARKS["bio"]
    assert to_units("a😀b") == [0, 1, 3, 4] and to_units("aéb") is None


TWO_TOKENS = "Ann Lee"
SPANS = '{"text": "Ann Lee", "label": %s}'
BAD: dict[str, tuple[str, str, str, str, str]] = {
    # name: (options, line 2 of the file, slug, place, words)
    "cut": ("", SPANS % '[[0, 6, "P"]]', "misaligned-span", ":2", "[0, 6) P `Ann Le` cuts the token `Lee`"),
    "white space": ("", SPANS % '[[3, 4, "P"]]', "misaligned-span", ":2", "the span [3, 4) P ` ` has no token"),
    "overlap": (
        "", SPANS % '[[0, 7, "P"], [4, 7, "Q"]]', "overlapping-span", ":2",
        "[0, 7) P `Ann Lee` and [4, 7) Q `Lee` share a token",
    ),
    "twice": ("", SPANS % '[[0, 3, "P"], [0, 3, "P"]]', "overlapping-span", ":2", "share a token"),
    "behind the end": ("", SPANS % '[[4, 8, "P"]]', "bad-span", ":2", "which has 7 characters: `Ann Lee`"),
    "before the start": ("", SPANS % '[[-3, 3, "P"]]', "bad-span", ":2", "[-3, 3) is not inside the text"),
    "turned": ("", SPANS % '[[3, 0, "P"]]', "bad-span", ":2", "[3, 0) is not inside the text"),
    "empty": ("", SPANS % '[[3, 3, "P"]]', "bad-span", ":2", "[3, 3) is not inside the text"),
    "text as offset": ("", SPANS % '[["0", 3, "P"]]', "bad-span", ":2", "expected two whole numbers"),
    "number as offset": ("", SPANS % '[[0.0, 3, "P"]]', "bad-span", ":2", "expected two whole numbers"),
    "truth as offset": ("", SPANS % '[[false, 3, "P"]]', "bad-span", ":2", "expected two whole numbers"),
    "no label": ("", SPANS % "[[0, 3, null]]", "bad-span", ":2", "has no label: found null"),
    "other text": (
        "", SPANS % '[{"start": 0, "end": 3, "label": "P", "text": "Lee"}]', "bad-span", ":2",
        "is `Ann` in the text, and the file says `Lee`",
    ),
    "of javascript": (
        "", '{"text": "😀 Ann", "label": [[3, 6, "P"]]}', "bad-span", ":2", 'declare `offsets = "utf16"`',
    ),
    "in a pair": (
        ', offsets = "utf16"', '{"text": "😀 Ann", "label": [[1, 6, "P"]]}', "bad-span", ":2",
        "the offset 1 lies between the two units of a character",
    ),
    "half a pair": ("", '{"text": "\\ud83d a", "label": []}', "bad-value", ":2", "half a surrogate pair"),
    "no span": ("", SPANS % "[[0, 3]]", "bad-sentence", ":2", "expected a span, as `[0, 4, \"PER\"]`"),
    "no list": ("", SPANS % "3", "bad-sentence", ":2", "`label` is no list of spans"),
    "no text": ("", '{"label": []}', "bad-sentence", ":2", "expected an object whose `text` is a text"),
    "no object": ("", "3", "bad-sentence", ":2", "expected an object whose `text` is a text"),
    "no json": ("", "Ann Lee", "bad-json", ":2:1", "not JSON"),
    "no spans": ("", '{"text": "Ann"}', "missing-column", ":2", "the first line has spans, this one not"),
    "no tokens": (', tokenizer = "given"', SPANS % "[]", "bad-sentence", ":2", "there is no list `tokens`"),
    "tokens turned": (
        ', tokenizer = "given"', '{"text": "a b", "tokens": [[2, 3], [0, 1]], "label": []}', "bad-token", ":2",
        "token 2, `a`, begins before the end of the one before it",
    ),
    "token of no text": (
        ', tokenizer = "given"', '{"text": "a b", "tokens": ["a", "c"], "label": []}', "bad-token", ":2",
        "token 2, `c`, is not in the text",
    ),
    "token outside": (
        ', tokenizer = "given"', '{"text": "a b", "tokens": [[0, 9]], "label": []}', "bad-token", ":2",
        "token 1: the span [0, 9) is not inside",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_span_is_one_message_with_its_line_and_text(name: str, tmp_path: Path) -> None:
    options, line, slug, place, words = BAD[name]
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": "x", "tokens": [[0, 1]], "label": []}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(DcrfError) as caught:
        read_corpus(path, data_of(options))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.slug, diagnostic.location) == (slug, f"{path}{place}") and words in str(caught.value)


BORNE = {
    "widen": (', misaligned = "widen"', [[1, 6, "P"]], ["B-P", "I-P"]),
    "skip": (', misaligned = "skip"', [[0, 6, "P"]], ["O", "O"]),
    "longest": (', overlapping = "longest"', [[4, 7, "Q"], [0, 7, "P"]], ["B-P", "I-P"]),
    "the first of two": (', overlapping = "longest"', [[4, 7, "Q"], [4, 7, "P"]], ["O", "B-Q"]),
}


@pytest.mark.parametrize("name", BORNE)
def test_spans_that_do_not_fit_are_borne_with_a_warning(name: str) -> None:
    options, spans, marks = BORNE[name]
    corpus = corpus_of(data_of(options), {"text": TWO_TOKENS, "label": spans})
    assert column(corpus, "ner") == marks
    (warning,) = corpus.warnings
    assert warning.startswith("<stream>:1: the span")


def test_warnings_are_not_endless() -> None:
    corpus = corpus_of(data_of(', misaligned = "skip"'), *[{"text": TWO_TOKENS, "label": [[0, 6, "P"]]}] * 20)
    assert len(corpus.warnings) == 6 and corpus.warnings[-1].endswith("(not listed)")


def test_gold_that_is_not_needed_forbids_nothing() -> None:
    record = {"text": TWO_TOKENS, "label": [[0, 6, "P"], [0, 99, "Q"]]}
    assert column(corpus_of(data_of(), record, optional=["ner"]), "ner") == ["O", "O"]
    assert list(corpus_of(data_of(), {"text": TWO_TOKENS}, optional=["ner"]).columns) == ["word"]


# writing ------------------------------------------------------------------------------------------------------------


def written(data: DataSpec, records: list[Any], predictions: dict[str, Any], remarks: Any = None) -> list[Any]:
    text = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    (chunk,) = stream_corpus(io.BytesIO(text.encode()), data, optional=["ner"])
    output = TaggedOutput(data)
    lines = (output.write(chunk, predictions, remarks) + output.close()).decode().splitlines()
    return [json.loads(line) for line in lines]


OTHER = ["O", "O", "B-X", "I-X", "O", "B-Y"]  # of the tokens of ANN
SPANS_OF_OTHER = [(6, 13, "X"), (16, 17, "Y")]


@pytest.mark.parametrize("style", STYLES)
def test_predictions_are_spans_in_the_same_style(style: str) -> None:
    """Written, they are read again as what they are; the rest of the record stays."""
    record = STYLES[style]
    (out,) = written(data_of(), [record], {"ner": OTHER})
    if style == "label_studio":
        assert {key: out[key] for key in record} == record
        (prediction,) = out["predictions"]
        values = [result["value"] for result in prediction["result"]]
        assert [(v["start"], v["end"], *v["labels"]) for v in values] == SPANS_OF_OTHER
        assert [value["text"] for value in values] == ["Lee saw", "."]
        (twice,) = written(data_of(), [out], {"ner": OTHER})
        assert twice == out
        return
    assert column(corpus_of(data_of(), out), "ner") == OTHER
    holder, before = (out[1], record[1]) if isinstance(record, list) else (out, record)
    (key,) = {"label", "labels", "entities", "spans"} & set(before)
    assert {name: value for name, value in holder.items() if name != key} == {
        name: value for name, value in before.items() if name != key
    }
    first = before[key][0]
    assert type(holder[key][0]) is type(first) and (isinstance(first, list) or set(holder[key][0]) <= {*first, "text"})


def test_spans_apart_stand_beside_the_gold() -> None:
    record = {"text": ANN, "label": [[0, 3, "PER"]], "id": 1}
    (out,) = written(data_of(', predictions = "apart"'), [record], {"ner": OTHER, "ner_marginals": ["O:1"] * 6})
    predicted = out.pop("predicted")
    assert out == record and predicted["ner"] == [list(span) for span in SPANS_OF_OTHER]
    assert predicted["ner_marginals"] == ["O:1"] * 6
    assert [ANN[start:end] for start, end in predicted["tokens"]] == WORDS


def test_a_text_without_spans_gets_those_of_the_style() -> None:
    records = [{"text": ANN}, {"text": ""}]
    for style, key in {"doccano": "label", "spacy": "entities", "prodigy": "spans"}.items():
        out = written(data_of(f', style = "{style}"'), records, {"ner": OTHER})
        assert [set(record) for record in out] == [{"text", key}] * 2 and out[1][key] == []
    task = {"data": {"text": ANN}}
    for style in ("label_studio", "doccano"):
        (studio,) = written(data_of(f', style = "{style}"'), [task], {"ner": OTHER})
        values = [result["value"] for result in studio["predictions"][0]["result"]]
        assert [(v["start"], v["end"], *v["labels"]) for v in values] == SPANS_OF_OTHER
    for record in ({"text": ANN}, [ANN, {}]):
        assert written(data_of(', style = "label_studio"'), [record], {"ner": OTHER}) == [
            {**task, "predictions": [{"model_version": "dcrfdsl", "result": studio["predictions"][0]["result"]}]}
        ]


def test_the_first_span_decides_for_the_lines_before_it_too() -> None:
    empty = {"text": "a", "spans": []}
    filled = {"text": "b", "spans": [{"start_offset": 0, "end_offset": 1, "label": "Z"}]}
    out = written(data_of(), [empty, filled], {"ner": ["B-X", "B-Y"]})
    assert [record["spans"] for record in out] == [[{"label": x, "start_offset": 0, "end_offset": 1}] for x in "XY"]
    (alone,) = written(data_of(), [empty], {"ner": ["B-X"]})
    assert alone["spans"] == [{"start": 0, "end": 1, "label": "X"}]
    (named,) = written(data_of(', style = "spacy"'), [empty], {"ner": ["B-X"]})
    assert named["spans"] == [[0, 1, "X"]]


OURS = "the prediction of `dcrfdsl` has no list `result` of objects"
BAD_PREDICTIONS: dict[str, tuple[Any, str]] = {
    "a number": (5, "`predictions` is no list"),
    "an object": ({"a": 1}, "`predictions` is no list"),
    "a list of numbers": ([5], "`predictions` is no list"),
    "a result that is no list": ([{"model_version": "dcrfdsl", "result": 5}], OURS),
    "results that are no objects": ([{"model_version": "dcrfdsl", "result": [5, None]}], OURS),
}


@pytest.mark.parametrize("name", BAD_PREDICTIONS)
def test_predictions_that_are_none_are_refused(name: str) -> None:
    there, words = BAD_PREDICTIONS[name]
    records = [{"data": {"text": "a"}}, {"data": {"text": "b"}, "predictions": there}]
    with pytest.raises(DcrfError, match=words) as caught:
        written(data_of(), records, {"ner": ["O", "O"]})
    assert caught.value.diagnostics[0].location == "<stream>:2"


def test_spans_that_come_late_and_are_none_are_refused() -> None:
    with pytest.raises(DcrfError, match="`label` is no list of spans"):
        written(data_of(), [{"text": "a"}, {"text": "b", "label": 5}], {"ner": ["O", "O"]})


def test_offsets_are_written_as_they_are_counted() -> None:
    (out,) = written(data_of(', offsets = "utf16"'), [{"text": ANN, "label": []}], {"ner": OTHER})
    units = ANN.encode("utf-16-le")
    assert [units[2 * a : 2 * b].decode("utf-16-le") for a, b, _ in out["label"]] == ["Lee saw", "."]


def test_copies_of_a_text_have_their_ranks() -> None:
    data = data_of()
    (chunk,) = stream_corpus(io.BytesIO(b'{"text": "Ann Lee", "label": []}\n'), data)
    out = TaggedOutput(data).write(repeated(chunk, [2]), {"ner": ["B-P", "O", "O", "B-P"]}, {"rank": [1, 2]})
    first, second = map(json.loads, out.decode().splitlines())
    assert (first["label"], second["label"]) == ([[0, 3, "P"]], [[4, 7, "P"]])
    assert [first["predicted"]["rank"], second["predicted"]["rank"]] == [1, 2]


text_with_spans = st.lists(st.sampled_from(["a", "bc", " ", "\n", "😀", "é", ".", "e\u0301"]), max_size=12).map("".join)


@given(
    text_with_spans, st.sampled_from(sorted(TOKENIZERS)), st.sampled_from(["bio", "bioes"]), st.booleans(), st.data()
)
def test_spans_of_tokens_are_read_and_written_exactly(
    text: str, tokenizer: str, scheme: str, utf16: bool, draw: st.DataObject
) -> None:
    tokens = TOKENIZERS[tokenizer](text)
    if not tokens:
        return
    units = [len(text[:n].encode("utf-16-le")) // 2 if utf16 else n for n in range(len(text) + 1)]
    bounds = sorted(draw.draw(st.sets(st.integers(0, len(tokens)))))
    labels = draw.draw(st.lists(st.sampled_from(["X", "Y-Z", "", ""]), min_size=len(bounds), max_size=len(bounds)))
    spans = [
        [units[tokens[a][0]], units[tokens[b - 1][1]], label]
        for (a, b), label in zip(pairwise(bounds), labels, strict=False)
        if label
    ]
    data = data_of(f', tokenizer = "{tokenizer}", offsets = "{"utf16" if utf16 else "characters"}"', scheme)
    record = {"text": text, "label": draw.draw(st.permutations(spans))}
    corpus = corpus_of(data, record)
    assert column(corpus, "word") == [text[start:end] for start, end in tokens]
    (out,) = written(data, [{"text": text, "label": []}], {"ner": np.array(column(corpus, "ner"), object)})
    assert out["label"] == spans
