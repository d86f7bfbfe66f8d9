"""Running texts in, spans of characters out: what `annotate` finds is what `predict` and `confidences` say."""

from __future__ import annotations

import functools
import io
import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

import dcrfdsl
from dcrfdsl.data import read_corpus, stream_corpus, tokenize
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model import TrainedModel

TRAIN = [
    {"text": "Bank of England rose", "label": [[0, 15, "ORG"], [8, 15, "LOC"]]},
    {"text": "Anna left England.", "label": [[0, 4, "PER"], [10, 17, "LOC"]]},
    {"text": "😀 Otto Meier met Anna", "label": [[2, 12, "PER"], [17, 21, "PER"]]},
]
NESTED = """data spans(word = token, outer = spans, inner = spans{options})
label outer in bio(ORG, PER) with others = O
label inner in bio(LOC) with others = O
clique outer: bias, word[-1..1]
clique outer[-1], outer
clique inner: bias, word
clique inner[-1], inner
clique outer, inner
train likelihood: prior = gaussian(variance = 10)
"""
SINGLE = """data spans(word = token, outer = spans{options})
label outer in bio(ORG, PER) with others = O
clique outer: bias, word[-1..1]
clique outer[-1], outer
train likelihood: prior = gaussian(variance = 10)
"""
TEXTS = ["Anna met Otto", "", " \n", "Bank  of England,\r\nEngland", "😀😀 Anna", "Meier"]


@functools.cache
def trained(template: str, options: str = "") -> TrainedModel:
    return fitted(template.replace("{options}", options), *TRAIN)


def fitted(template: str, *records: Any) -> TrainedModel:
    spec = dcrfdsl.load_text(template).require()
    assert spec.data is not None
    lines = "".join(f"{json.dumps(record)}\n" for record in records).encode()
    (chunk,) = stream_corpus(io.BytesIO(lines), spec.data)
    return dcrfdsl.fit(spec, chunk.corpus)


@pytest.mark.parametrize(
    "text", [pytest.param(text, marks=[pytest.mark.long] if "Bank" in text else []) for text in TEXTS]
)
def test_probabilities_are_those_of_all_labellings(text: str) -> None:
    """By enumeration: the share of the labellings that have exactly this segment."""
    model = trained(SINGLE)
    tokens = tokenize(text)
    words = [text[start:end] for start, end in tokens]
    found = model.annotate(text)
    assert len(found) == len({(one.start, one.end) for one in found})
    if not words:
        assert found == []
        return
    states = model.states["outer"]
    shares = {}
    for labelling in itertools.product(states, repeat=len(words)):
        try:
            (event,) = model.nbest(words, 1, given=list(labelling))
        except DcrfError:
            continue  # the scheme forbids it
        shares[labelling] = math.exp(event.score)
    total = sum(shares.values())
    best = max(shares, key=lambda labelling: shares[labelling])
    expected = []
    for first, last, kind in segments(best):
        share = sum(share for labelling, share in shares.items() if (first, last, kind) in segments(labelling)) / total
        start, end = tokens[first][0], tokens[last][1]
        expected.append((kind, text[start:end], start, end, pytest.approx(share, abs=1e-9), "outer", None))
    assert [tuple(one) for one in found] == expected


def segments(labelling: Any) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    for n, state in enumerate(labelling):
        if state[0] == "B":
            found.append((n, n, state[2:]))
        elif state[0] == "I":
            found[-1] = (found[-1][0], n, state[2:])
    return found


@pytest.mark.parametrize("template", [SINGLE, NESTED])
def test_it_says_what_predict_and_confidences_say(template: str) -> None:
    model = trained(template)
    many = TEXTS * 7
    answers = model.annotate(many, threads=2)
    assert len(answers) == len(many) and answers == [model.annotate(text) for text in TEXTS] * 7
    for text, found in zip(TEXTS, answers, strict=False):
        assert all(text[one.start : one.end] == one.text and isinstance(one.probability, float) for one in found)
        assert [one.start for one in found] == sorted(one.start for one in found)
        tokens = model.tokenize(text)
        if not tokens:
            continue
        assert model.spec.data is not None
        words = {"word": [text[a:b] for a, b in tokens]}
        corpus = dcrfdsl.corpus_from_rows([words], model.spec.data, optional=model.labels)
        (sure,) = model.calibration.confidences(corpus)
        expected = {
            (one.label, one.type, tokens[one.first][0], tokens[one.last][1], one.probability) for one in sure.segments
        }
        assert {(one.label, one.type, one.start, one.end, one.probability) for one in found} == expected


def test_nested_spans_are_found_outer_first() -> None:
    found = trained(NESTED).annotate("Bank of England rose")
    assert [(one.type, one.text, one.label) for one in found] == [
        ("ORG", "Bank of England", "outer"), ("LOC", "England", "inner"),
    ]  # fmt: skip


def test_many_texts_are_annotated_in_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trained(NESTED).annotate(TEXTS * 3)
    monkeypatch.setattr("dcrfdsl.model.annotation._TOKENS_AT_ONCE", 4)
    assert trained(NESTED).annotate(iter(TEXTS * 3)) == whole
    assert trained(NESTED).annotate(np.array(TEXTS * 3, object)) == whole


def test_offsets_count_characters_whatever_the_data_count() -> None:
    for options in ("", ', offsets = "utf16"'):
        record = {**TRAIN[2], "label": [[3, 13, "PER"], [18, 22, "PER"]]} if options else TRAIN[2]
        (otto, anna) = fitted(SINGLE.replace("{options}", options), record).annotate("😀 Otto Meier met Anna")
        assert (otto.start, otto.end, anna.start, anna.end) == (2, 12, 17, 21)


def test_given_tokens_come_in_a_record() -> None:
    record = {"text": "Anna ran", "tokens": ["Anna", "ran"], "label": [[0, 4, "PER"]]}
    model = fitted(SINGLE.replace("{options}", ', tokenizer = "given"'), record)
    (found,) = model.annotate({"text": "  Anna  ran", "tokens": [[2, 6], [8, 11]], "label": "not looked at"})
    assert (found.type, found.text, found.start, found.end) == ("PER", "Anna", 2, 6)
    assert model.tokenize(record) == [(0, 4), (5, 8)]
    for ask in (model.annotate, model.tokenize):
        with pytest.raises(DcrfError, match="there is no list `tokens`"):
            ask("Anna ran")


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "a number": (3, TypeError, "`texts` takes a list of texts: found an int"),
    "none": (None, TypeError, "`texts` takes a list of texts"),
    "bytes": (b"a", TypeError, "`texts` takes a list of texts"),
    "a list of numbers": (
        ["a", 3],
        TypeError,
        r"`texts\[1\]` takes a text, .*: found an int",
    ),
    "a sentence of lists": ([["a"]], TypeError, r"`texts\[0\]` takes a text"),
    "no text": ({"label": []}, DcrfError, "expected an object whose `text` is a text"),
    "a text that is null": (["a", {"text": None}], DcrfError, "expected an object whose `text` is a text"),
    "half a pair": ("a \ud83d", DcrfError, "half a surrogate pair"),
}


@pytest.mark.parametrize("name", BAD)
def test_anything_but_a_text_is_one_message(name: str) -> None:
    asked, kind, words = BAD[name]
    with pytest.raises(kind, match=words):
        trained(SINGLE).annotate(asked)


def test_a_model_without_texts_refuses_to_annotate() -> None:
    spec = dcrfdsl.load_text("data conll(word, y)\nlabel y\nclique y: word\n").require()
    assert spec.data is not None
    model = dcrfdsl.fit(spec, dcrfdsl.corpus_from_rows([[("a", "X")]], spec.data))
    for ask in (model.annotate, model.tokenize):
        with pytest.raises(DcrfError, match="the data of this model are `conll`, which has tokens") as caught:
            ask("a")
        assert "`tag` takes tokens" in str(caught.value)


def test_a_text_that_no_labelling_fits_is_an_error() -> None:
    both = "require outer is B-PER when word has /z/\nrequire outer is B-ORG when word has /z/\n"
    model = fitted(SINGLE.replace("{options}", "") + both, *TRAIN)
    assert model.annotate(["Anna", ""])[1] == []
    with pytest.raises(DcrfError, match="<texts>:3"):
        model.annotate(["Anna", "", "a z"])


def test_tokenizers_have_a_function_of_their_own() -> None:
    assert tokenize("Sony PS5 black") == [(0, 4), (5, 8), (9, 14)]
    assert tokenize("a b", "characters") == tokenize("a b", "whitespace") == [(0, 1), (2, 3)]
    with pytest.raises(DcrfError, match="`word` is no tokenizer"):
        tokenize("a", "word")
    with pytest.raises(TypeError, match="`text` takes a text"):
        tokenize(["a"])  # type: ignore[arg-type]


def test_a_model_file_without_the_types_of_labels_is_read(tmp_path: Any) -> None:
    """As earlier versions wrote it: schemes as pairs, which are set anew."""
    model = trained(NESTED)
    stored = model.spec.model_dump(mode="json")
    stored["data"]["schemes"] = [["outer", "bio"], ["inner", "bio"]]
    assert type(model.spec).model_validate(stored) == model.spec
    model.save(tmp_path / "a.model")
    assert dcrfdsl.load(tmp_path / "a.model").annotate(TEXTS) == model.annotate(TEXTS)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(TRAIN))
    assert read_corpus(path, dcrfdsl.load(tmp_path / "a.model").spec.data).num_sentences == 3  # type: ignore[arg-type]


def test_no_predicted_segment_is_nothing_to_judge() -> None:
    model = trained(SINGLE)
    assert model.spec.data is not None
    corpus = dcrfdsl.corpus_from_rows([[("rose", "O")]], model.spec.data)
    assert model.annotate("rose") == []
    assert model.calibration.reliability(corpus, of="segments").total == 0


def test_spans_say_whether_they_can_be_taken_unseen() -> None:
    """By the operating point of their type in their label; other types have none, and another decoder's spans too."""
    model, text = trained(NESTED), "Anna left England."
    (chunk,) = stream_corpus(io.BytesIO("".join(f"{json.dumps(one)}\n" for one in TRAIN).encode()), model.spec.data)
    pointed = model.decisions.with_points(chunk.corpus, precision={"outer.PER": 0.9})
    (point,) = pointed.decisions.points
    found = pointed.annotate(text)
    assert {one.type for one in found} == {"PER", "LOC"}
    for one in found:
        assert one.accepted == (one.probability >= point.least if one.type == "PER" else None)
    assert {one.accepted for one in model.annotate(text)} == {None}
    assert {one.accepted for one in pointed.annotate(text, decode="marginal")} == {None}
