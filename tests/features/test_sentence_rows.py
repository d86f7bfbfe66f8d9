"""The rows of single sentences against those of several: the same numbers, whatever the features and the texts."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from feature_cases import REGISTERED
from helpers import LANGUAGE, ROOT

from dcrfdsl import corpus_from_rows, load_template, load_text
from dcrfdsl.data import Corpus
from dcrfdsl.features import Candidates, FeatureExtractor, RegisteredFeature, load_lexicons, sentence_rows
from dcrfdsl.features.plan import expand
from dcrfdsl.semantics import ModelSpec

TEMPLATES = [*sorted((ROOT / "templates").glob("*.dcrf")), *sorted((LANGUAGE / "good").rglob("*.dcrf"))]
WORDS = ["The", "dog", "U.S.", "1994", "said", "New", "York", "monday", "B-é", "x y", "Ann", "the", "a-b", "IBM", "May"]


def soundex(words: str | list[str], more: str | int | None = 3) -> str | list[str]:
    """Of one word, with the number of its last letters or another word; and of all words of a sentence."""
    if isinstance(words, list):
        return [soundex(word) for word in words]
    return words[:1] + words[-more:] if isinstance(more, int) else f"{words[:1]}{more}"


FUNCTIONS = {**REGISTERED, "soundex": RegisteredFeature("soundex", soundex)}


def random_rows(spec: ModelSpec, lengths: list[int], seed: int, words: list[str]) -> list[list[dict[str, Any]]]:
    draw = np.random.default_rng(seed)
    values = {
        "str": lambda column: words[draw.integers(len(words))],
        "bag": lambda column: " ".join(words[k] for k in draw.integers(len(words), size=draw.integers(4))),
        "float": lambda column: round(float(draw.normal()), 2),
        "int": lambda column: int(draw.integers(4)),
        "vector": lambda column: draw.normal(size=column.type.size).tolist(),
        "scores": lambda column: draw.normal(size=column.type.size or 3).tolist(),  # no feature reads them
    }
    return [
        [{column.name: values[column.type.name](column) for column in spec.data.columns} for _ in range(length)]
        for length in lengths
    ]


def same_rows(extractor: FeatureExtractor, spec: ModelSpec, sentence: list[dict[str, Any]]) -> None:
    """The rows of a sentence are the first ones of a corpus in which it comes twice."""
    one, two = (corpus_from_rows([sentence] * count, spec.data) for count in (1, 2))
    for plan, alone, both in zip(expand(spec).sets, extractor.extract(one), extractor.extract(two), strict=True):
        if plan.segment >= 0:
            continue  # a row for each segment that is possible, and one for all longer ones: `test_segment_rows`
        rows = len(alone.row_off) - 1
        assert np.array_equal(alone.row_off, both.row_off[: rows + 1]) and 2 * rows == len(both.row_off) - 1
        assert np.array_equal(alone.feature, both.feature[: alone.row_off[-1]])
        value = both.value[: alone.row_off[-1]] if len(both.value) else np.ones(len(alone.feature))
        assert np.array_equal(alone.value if len(alone.value) else np.ones(len(alone.feature)), value)
        assert alone.feature.dtype == both.feature.dtype and alone.row_off.dtype == both.row_off.dtype


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_template_reads_one_sentence_as_several(path: Path) -> None:
    resolved = load_template(path)
    spec = resolved.require()
    if not spec.cliques:
        pytest.skip("it has no features")
    corpus = corpus_from_rows(random_rows(spec, [3, 1, 7, 4, 12, 2, 5], 0, WORDS), spec.data)
    resources = load_lexicons(spec, resolved.directories)
    tokens = Candidates(np.arange(corpus.num_tokens), np.ones(corpus.num_tokens, np.int64))
    segments = {n: tokens for n, clique in enumerate(spec.cliques) if clique.segmental}
    extractor, _ = FeatureExtractor.learn(
        spec, corpus, resources=resources, registered=FUNCTIONS, segments=segments
    )  # fmt: skip
    for sentence in random_rows(spec, [1, 2, 3, 9, 9, 2], 1, [*WORDS, "unknown", "", "Zürich"]) * 2:
        same_rows(extractor, spec, sentence)


TEXT = """
data conll(word, pos, tags: bag, y)
label y in {P, Q}
features skipped with outside = skip: word[-1] & pos, pos[-2] & pos[2]
clique y: bias, word[-2..2], pos[-1] & pos & pos[1], skipped, tags[1], word is "a", not word is "a", halves(word)
clique y[-1], y with edges = pad: bias, word, pos[-3] & word[3]
"""


@functools.cache
def learned() -> tuple[FeatureExtractor, ModelSpec]:
    spec = load_text(TEXT).require()
    corpus = corpus_from_rows(random_rows(spec, [3, 1, 7, 4, 12, 2, 5], 0, WORDS), spec.data)
    return FeatureExtractor.learn(spec, corpus, resources=load_lexicons(spec, {}), registered=FUNCTIONS)[0], spec


def fresh() -> tuple[FeatureExtractor, ModelSpec]:
    """The same extractor, which knows no text yet."""
    extractor, spec = learned()
    return replace(extractor), spec


def test_padding_skipping_tests_and_several_values() -> None:
    extractor, spec = fresh()
    for sentence in random_rows(spec, [1, 2, 3, 4, 5, 6, 1, 12], 5, [*WORDS, "new", "words"]):
        same_rows(extractor, spec, sentence)


@pytest.mark.parametrize(
    ("limit", "value"), [("MOST_JOINED", 0), ("MOST_PLACES", 0), ("MOST_BYTES", 1), ("LONGEST", 3)]
)
def test_limits_change_no_row(limit: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_rows, limit, value)
    extractor, spec = fresh()
    for sentence in random_rows(spec, [1, 6, 3, 6], 7, WORDS) * 2:
        same_rows(extractor, spec, sentence)


def test_the_texts_and_places_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_rows, "MOST_BYTES", 20_000)
    monkeypatch.setattr(sentence_rows, "MOST_PLACES", 3_000)
    extractor, spec = fresh()
    plain = [features for features in extractor._plain if features is not None]
    for n in range(40):
        sentence = [{"word": f"w{n}-{t}", "pos": "N", "tags": "", "y": "P"} for t in range(1 + n % 9)]
        same_rows(extractor, spec, sentence)
        for features in plain:
            assert sum(places.place.size for places in features._kept.values()) <= 3_000
            for shares in features.columns:
                assert len(shares.known) <= shares.most + len(sentence)
                assert sum(200 + len(row) for row in shares.known.values() if row is not None) <= 20_000 + 600 * 9
    assert len(plain) == 2 and all(shares.known for features in plain for shares in features.columns)


def test_plain_features_need_no_corpus_once_their_texts_are_known() -> None:
    spec = load_text("data conll(word, y)\nlabel y in {P, Q}\nclique y: bias, word[-1..1], lower(word)").require()
    rows = random_rows(spec, [5, 4], 2, WORDS)
    corpus: Corpus = corpus_from_rows(rows, spec.data)
    extractor, _ = FeatureExtractor.learn(spec, corpus, resources=load_lexicons(spec, {}))
    texts = {"word": [token["word"] for token in rows[0]]}
    assert extractor.sentence_rows(texts, 5) is None  # not yet
    (extracted,) = extractor.extract(corpus.slice(0, 1))
    (known,) = extractor.sentence_rows(texts, 5) or ()
    assert all(np.array_equal(a, b) for a, b in zip(extracted[:3], known[:3], strict=True))
    assert extractor.sentence_rows({"word": ["never seen"]}, 1) is None
