"""Functions of users over several columns and whole sentences, and those that give names with numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dcrfdsl import DcrfError, check, feature, fit, load, load_text, to_text
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.features import FeatureExtractor, Lexicons, PartLearner, join_surveys
from dcrfdsl.template import Term, apply

DATA = "data conll(word, pos, age: float, tags: bag, tag)\nlabel tag in {A, B}\n"
ROWS = [
    [("a", "N", "1", "p", "A"), ("b", "V", "2", "p q", "B"), ("a", "N", "3", "", "A")],
    [("c", "N", "1", "p", "B")],
    [("a", "N", "1", "p", "A"), ("b", "V", "2", "p q", "B"), ("a", "N", "3", "", "A")],
]
CALLS: list[tuple[Any, ...]] = []


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


@feature
def both(*values: Any) -> str:
    CALLS.append(values)
    return "|".join(map(str, values))


@feature
def older(age: float, before: float | None, by: float) -> bool:
    return before is not None and age > before + by


@feature
def ahead(words: list[str], pos: list[str]) -> list[str]:
    """How many tokens follow, and the first tag of the sentence."""
    CALLS.append((tuple(words), tuple(pos)))
    return [f"{len(words) - t}{pos[0]}" for t in range(len(words))]


@feature
def share(words: list[str]) -> list[float]:
    return [words.count(word) / len(words) for word in words]


@feature
def letters(word: str, *more: str | None) -> dict[str, float]:
    return {letter: 0.5 * word.count(letter) for letter in word} | {"long": float(len(word))}


@feature
def marks(words: list[str]) -> Any:
    return ({word: float(t)} for t, word in enumerate(words))


REGISTERED = {f.name: f for f in (both, older, ahead, share, letters, marks)}


def features_of(text: str, rows: Any = ROWS, training: Any = ROWS) -> list[dict[str, float]]:
    """The features of each token with their values, restored from their stored form."""
    template = load_text(DATA + text)
    spec = template.require()
    assert load_text(to_text(spec)).spec == spec
    corpus = corpus_from_rows(training, spec.data)
    extractor, learned = FeatureExtractor.learn(spec, corpus, resources=Lexicons(), registered=REGISTERED)
    metadata = json.loads(json.dumps(extractor.metadata()))
    restored = FeatureExtractor.restore(spec, extractor.arrays(), metadata, registered=REGISTERED)
    for found, expected in zip(restored.extract(corpus), learned, strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    (found,) = restored.extract(corpus_from_rows(rows, spec.data))
    values = found.value if len(found.value) else np.ones(len(found.feature))
    return [
        {restored.describe(0, int(f)): float(v) for f, v in zip(found.feature[a:b], values[a:b], strict=True)}
        for a, b in zip(found.row_off, found.row_off[1:], strict=False)
    ]


def test_several_columns_and_places() -> None:
    found = features_of("clique tag: both(word, pos), both(lower(word), pos[-1], 3)[1], both(word, age)[-1..0] & pos")
    assert found[0] == {
        "both(word, pos)=a|N": 1, "both(lower(word), pos[-1], 3)[1]=b|N|3": 1, "both(word, age)[-1]=⟨-1⟩ & pos=N": 1,
        "both(word, age)=a|1.0 & pos=N": 1,
    }  # fmt: skip
    assert found[2] == {
        "both(word, pos)=a|N": 1, "both(lower(word), pos[-1], 3)[1]=⟨+1⟩": 1, "both(word, age)[-1]=b|2.0 & pos=N": 1,
        "both(word, age)=a|3.0 & pos=N": 1,
    }  # fmt: skip


def test_a_place_outside_is_none_and_a_combination_is_called_once() -> None:
    found = features_of("clique tag: both(word, pos[-1])")
    assert [set(row) for row in found[:4]] == [
        {"both(word, pos[-1])=a|None"}, {"both(word, pos[-1])=b|N"}, {"both(word, pos[-1])=a|V"},
        {"both(word, pos[-1])=c|None"},
    ]  # fmt: skip
    assert len(set(CALLS)) == 4 and len(CALLS) == 3 * 4  # learned, and extracted twice


def test_tests_and_numbers_of_several_columns() -> None:
    tests = "older(age, age[-1], step), not older(age, age[-1], 9) & pos, share(word[all]) > 0.5"
    text = f"let step = 0.5\nclique tag: {tests}"
    found = features_of(text)
    assert found[1] == {"older(age, age[-1], step)": 1, "not older(age, age[-1], 9) & pos=V": 1}
    assert found[2] == {
        "older(age, age[-1], step)": 1, "not older(age, age[-1], 9) & pos=N": 1, "share(word[all]) > 0.5": 1,
    }  # fmt: skip


def test_whole_sentences() -> None:
    found = features_of(
        "clique tag: ahead(word[all], pos[all])[-1..0], share(word[all]), lower(ahead(word[all], pos[all]))"
    )
    assert found[1] == {
        "ahead(word[all], pos[all])[-1]=3N": 1, "ahead(word[all], pos[all])=2N": 1, "share(word[all])": 1 / 3,
        "lower(ahead(word[all], pos[all]))=2n": 1,
    }  # fmt: skip
    assert len(CALLS) == 3 * 2  # two distinct sentences: learned, and extracted twice


def test_names_with_numbers() -> None:
    found = features_of("clique tag: letters(word)[-1], letters(word) & pos, letters(word) has /^a/, marks(word[all])")
    assert found[0] == {
        "letters(word)[-1]=⟨-1⟩": 1, "letters(word)=a & pos=N": 0.5, "letters(word)=long & pos=N": 1,
        "letters(word) has /^a/": 1,
    }  # fmt: skip
    assert found[2]["marks(word[all])=a"] == 2 and found[1]["letters(word)[-1]=a"] == 0.5
    assert features_of("clique tag: letters(word, pos)", [[("cc", "N", "1", "", "A")]])[0] == {
        "letters(word, pos)=c": 1.0, "letters(word, pos)=long": 2.0,
    }  # fmt: skip


def test_a_model_with_them_tags_as_it_was_saved(tmp_path) -> None:
    text = (
        "clique tag: both(word, pos), letters(word), ahead(word[all], pos[all])\nclique tag[-1], tag\n"
        "clique tag[i], tag[j]:\n    where word[i] = word[j]\n    both(word, pos)[i]"
    )
    template = load_text(DATA + text)
    corpus = corpus_from_rows(ROWS, template.require().data)
    model = fit(template, corpus, threads=1, registered=REGISTERED)
    model.save(tmp_path / "own.model")
    again = load(tmp_path / "own.model", registered=REGISTERED)
    np.testing.assert_array_equal(again.marginals(corpus)[0]["tag"], model.marginals(corpus)[0]["tag"])
    one = corpus_from_rows(ROWS[:1], template.require().data)  # a sentence alone goes another way
    np.testing.assert_allclose(again.marginals(one)[0]["tag"], model.marginals(corpus)[0]["tag"][:3], atol=1e-12)


def test_parts_learn_what_the_whole_does() -> None:
    text = "clique tag: both(word, pos[-1]), letters(word), ahead(word[all], pos[all]), older(age, age[-1], 0)"
    spec = load_text(DATA + text).require()
    whole, _ = FeatureExtractor.learn(
        spec, corpus_from_rows(ROWS, spec.data), resources=Lexicons(), registered=REGISTERED
    )
    learner = PartLearner(spec, Lexicons(), REGISTERED)
    parts = [corpus_from_rows([rows], spec.data) for rows in ROWS]
    survey = join_surveys(map(learner.survey, parts))
    found = learner.extractor((learner.count(part, survey) for part in parts), survey)
    assert found.metadata() == whole.metadata()
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(found.arrays()[name], array)


def _returning(value: Any) -> Callable[..., Any]:
    return lambda *arguments: value


BAD = {
    "too few": (
        _returning(["x"]),
        "odd(word[all])",
        r"returns 1 results for 3 tokens on `\['a', 'b', 'a'\]` .<rows>:1.",
    ),
    "no list": (_returning("xyz"), "odd(word[all])", r"returns `'xyz'` for 3 tokens"),
    "a mapping": (_returning({"a": 1.0}), "odd(word[all])", r"for 3 tokens"),
    "odd results": (_returning([1, object, 2]), "odd(word[all])", r"returns `<class 'object'>`"),
    "this and that": (
        lambda words: ["x" if word == "b" else 1 for word in words],
        "odd(word[all])",
        "gives a number here and a text there",
    ),
    "odd weights": (_returning({"a": "x"}), "odd(word, pos)", r"returns `\{'a': 'x'\}` on `a, N` .<rows>:1."),
    "no number": (_returning({"a": float("nan")}), "odd(word, pos)", "`nan`, which is no finite number"),
    "raises": (lambda a, b: {}["x"], "odd(word, pos)", r"raises KeyError on `a, N` .<rows>:1."),
}


@pytest.mark.parametrize("case", BAD)
def test_what_they_may_not_return(case: str) -> None:
    function, call, message = BAD[case]
    registered = {"odd": feature(name="odd")(function)}
    template = load_text(DATA + f"clique tag: {call}")
    with pytest.raises(DcrfError, match=message):
        fit(template, corpus_from_rows(ROWS, template.require().data), threads=1, registered=registered)


REFUSED = {
    "both(word, tags)": "this is several values",
    "both(word[-1..1], pos)": r"write it behind the call, `both\(…\)\[-1..1\]`",
    "both(word, pos[all])": "reads a whole sentence, and here one place of it",
    "both(word, by = 3)": "the further arguments of `both` are columns",
    "both(word, tag)": "`tag` is a label",
    "word[all]": r"`\[all\]` is a named position",
    "lower(word[all])": r"`\[all\]` is a named position",
    "both(word, wrod)": "`wrod`",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_they_may_not_read(call: str) -> None:
    found = check(load_text(DATA + f"clique tag: {call}"), registered=REGISTERED)
    errors = [problem for problem in found if problem.severity == "error"]
    assert re.search(REFUSED[call], " ".join(f"{one.message} {one.help}" for one in errors))


def test_the_builder_has_them() -> None:
    word, pos = Term("word"), Term("pos")
    spec = load_text(DATA + "clique tag: both(word, pos[-1])[1], ahead(word[all], pos[all])").spec
    assert [apply("both", word, pos[-1])[1].node, apply("ahead", word[...], pos[...]).node] == [
        *spec.cliques[0].features
    ]
