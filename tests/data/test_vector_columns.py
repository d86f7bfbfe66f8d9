"""`vector(n)` columns: read, refused, and as features the same as n columns of numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from template_cases import Case
from training_cases import objective_of

import dcrfdsl
from dcrfdsl.cli import run as dcrfdsl_command
from dcrfdsl.data import Corpus, InternedColumn, NumericColumn, read_corpus, stream_corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError

SIZE = 3
DATA = "data {format}(pixels: vector(3), letter)\n"
MODEL = (
    "label letter\nclique letter: bias, pixels[-1..1], pixels & first\nclique letter[-1], letter\ntrain likelihood\n"
)


def template(format: str = "conll") -> dcrfdsl.Resolved:
    return dcrfdsl.load_text(DATA.format(format=format) + MODEL)


def sentences(seed: int = 0, count: int = 6) -> list[list[tuple[list[float], str]]]:
    """Short words whose letters lie near corners of a cube; a third of the numbers is zero."""
    generator = np.random.default_rng(seed)
    corners = {"a": [1.0, 0.0, 0.5], "b": [0.0, 1.0, 0.0], "c": [-1.0, 0.0, 2.0]}
    out = []
    for _ in range(count):
        letters = generator.choice(list(corners), generator.integers(1, 6)).tolist()
        noise = np.round(generator.normal(0, 0.3, (len(letters), SIZE)), 2) * (
            generator.random((len(letters), SIZE)) < 0.7
        )
        out.append([((np.array(corners[y]) + x).tolist(), y) for x, y in zip(noise, letters, strict=True)])
    return out


SENTENCES = sentences()
NUMBERS = np.array([numbers for sentence in SENTENCES for numbers, _ in sentence])
LETTERS = [letter for sentence in SENTENCES for _, letter in sentence]


def conll(between: str) -> str:
    lines = ["".join(f"{between.join(map(str, x))}\t{y}\n" for x, y in sentence) for sentence in SENTENCES]
    return "\n".join(lines)


# reading -----------------------------------------------------------------------------------------------------------


def of_objects() -> str:
    return "".join(json.dumps({"pixels": [x for x, _ in s], "letter": [y for _, y in s]}) + "\n" for s in SENTENCES)


FILES = {
    "commas": ("conll", conll(",")),
    "spaces, where TABs part the columns": ("conll", conll(" ")),
    "jsonl": ("jsonl", of_objects()),
    "jsonl, tokens": (
        "jsonl",
        "".join(json.dumps([{"pixels": x, "letter": y} for x, y in s]) + "\n" for s in SENTENCES),
    ),
    "jsonl, texts": (
        "jsonl",
        "".join(json.dumps([[",".join(map(str, x)), y] for x, y in s]) + "\n" for s in SENTENCES),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_every_notation_gives_one_array(name: str, tmp_path: Path) -> None:
    format, text = FILES[name]
    (tmp_path / "data").write_text(text)
    resolved = template(format)
    if " " in text.partition("\t")[0] and format == "conll":
        resolved = dcrfdsl.load_text(DATA.format(format=format).replace(")\n", ', separator = "\\t")\n') + MODEL)
    data = resolved.require().data
    assert data is not None
    corpus = read_corpus(tmp_path / "data", data)
    column = corpus.columns["pixels"]
    assert isinstance(column, NumericColumn) and column.values.dtype == np.float64
    np.testing.assert_array_equal(column.values, NUMBERS)
    chunks = [
        chunk.corpus.columns["pixels"].values for chunk in stream_corpus(tmp_path / "data", data, tokens_per_chunk=1)
    ]
    np.testing.assert_array_equal(np.concatenate(chunks), NUMBERS)


def test_zeros_and_ones_may_stand_together(tmp_path: Path) -> None:
    (tmp_path / "bits").write_text("010 a\n0,1,0 b\n110 a\n")
    data = template().require().data
    assert data is not None
    corpus = read_corpus(tmp_path / "bits", data)
    np.testing.assert_array_equal(corpus.columns["pixels"].values, [[0, 1, 0], [0, 1, 0], [1, 1, 0]])


def rows(kind: Any) -> list[dict[str, Any]]:
    return [{"pixels": kind([x for x, _ in s]), "letter": [y for _, y in s]} for s in SENTENCES]


def frame() -> Any:
    pixels = np.empty(len(NUMBERS), object)
    pixels[:] = [np.array(x) for x in NUMBERS]
    number = [n for n, sentence in enumerate(SENTENCES) for _ in sentence]
    return pytest.importorskip("pandas").DataFrame({"sentence": number, "pixels": pixels, "letter": LETTERS})


def by_hand() -> Corpus:
    code = {letter: n for n, letter in enumerate(dict.fromkeys(LETTERS))}
    off = np.cumsum([0, *map(len, SENTENCES)])
    letters = InternedColumn(np.array([code[y] for y in LETTERS], np.int32), list(code))
    columns: dict[str, InternedColumn | NumericColumn] = {"pixels": NumericColumn(NUMBERS), "letter": letters}
    return Corpus("<hand>", off, columns, np.arange(1, len(LETTERS) + 1))


DOORS = {
    "an array a sentence": lambda data: dcrfdsl.corpus_from_rows(rows(np.array), data),
    "lists": lambda data: dcrfdsl.corpus_from_rows(rows(list), data),
    "tokens": lambda data: dcrfdsl.corpus_from_rows([[(np.array(x), y) for x, y in s] for s in SENTENCES], data),
    "a frame": lambda data: dcrfdsl.corpus_from_frame(frame(), data),
    "a corpus": lambda data: by_hand(),
}


@pytest.mark.parametrize("name", DOORS)
def test_python_values_give_the_array_too(name: str) -> None:
    data = template().require().data
    corpus = DOORS[name](data)
    np.testing.assert_array_equal(corpus.columns["pixels"].values, NUMBERS)
    assert [corpus.text_column("letter").text(n) for n in range(corpus.num_tokens)] == LETTERS
    part = corpus.slice(1, 3)
    first, last = len(SENTENCES[0]), sum(map(len, SENTENCES[:3]))
    np.testing.assert_array_equal(part.columns["pixels"].values, NUMBERS[first:last])


def test_zeros_and_ones_as_an_array_of_truths() -> None:
    data = template().require().data
    assert data is not None
    bits = NUMBERS[: len(SENTENCES[0])] > 0.5
    corpus = dcrfdsl.corpus_from_rows([{"pixels": bits, "letter": ["a"] * len(bits)}], data)
    np.testing.assert_array_equal(corpus.columns["pixels"].values, bits.astype(float))


def test_single_precision_becomes_double() -> None:
    data = template().require().data
    assert data is not None
    own = NUMBERS[:2].astype(np.float32)
    column = dcrfdsl.corpus_from_rows([{"pixels": own, "letter": ["a", "b"]}], data).columns["pixels"]
    assert isinstance(column, NumericColumn) and column.values.dtype == np.float64
    np.testing.assert_array_equal(column.values, own)


def test_the_callers_array_may_change_afterwards() -> None:
    data = template().require().data
    assert data is not None
    own = NUMBERS[:2].copy()
    corpus = dcrfdsl.corpus_from_rows([{"pixels": own, "letter": ["a", "b"]}], data)
    own[:] = 9.0
    np.testing.assert_array_equal(corpus.columns["pixels"].values, NUMBERS[:2])


BAD_TEXTS = {
    "1,2": "column `pixels`: found 2 numbers in `1,2`, expected 3",
    "1": "column `pixels`: found 1 number in `1`, expected 3",
    "0110": "column `pixels`: found 4 zeros and ones in `0110`, expected 3",
    "012": "column `pixels`: found 1 number in `012`, expected 3",
    "1,x,2": "column `pixels`: number 2: found `x`, expected a number",
    "1,2,nan": "column `pixels`: number 3: found `nan`, expected a finite number",
    "-inf,1,2": "column `pixels`: number 1: found `-inf`, expected a finite number",
}


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_a_text_that_is_no_vector_is_named_with_its_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text(f"1,2,3 a\n\n{text} b\n")
    data = template().require().data
    assert data is not None
    with pytest.raises(DcrfError) as caught:
        read_corpus(tmp_path / "bad", data)
    (found,) = caught.value.diagnostics
    assert (found.slug, found.message, found.location) == ("bad-value", BAD_TEXTS[text], f"{tmp_path / 'bad'}:3")


BAD_VALUES = {
    "number": (3.0, "found `3.0`, expected a list of numbers"),
    "short": ([1, 2], "found 2 numbers in `[1, 2]`, expected 3"),
    "truth": ([1, True, 2], "number 2: found `True`, expected a number"),
    "nothing": ([1, 2, None], "number 3: found `None`, expected a number"),
    "nan": ([1, float("nan"), 2], "number 2: found `nan`, expected a finite number"),
    "nested": ([[1], [2], [3]], "expected a list of numbers"),
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_a_value_that_is_no_vector_is_named_with_its_sentence(name: str) -> None:
    value, expected = BAD_VALUES[name]
    data = template().require().data
    assert data is not None
    with pytest.raises(DcrfError) as caught:
        dcrfdsl.corpus_from_rows([{"pixels": [[1, 2, 3]], "letter": ["a"]}, {"pixels": [value], "letter": ["a"]}], data)
    (found,) = caught.value.diagnostics
    assert found.slug == "bad-value" and expected in found.message and found.location == "<rows>:2"


@pytest.mark.parametrize("values", [NUMBERS[:, :2], NUMBERS[:, 0]], ids=["too short", "single numbers"])
def test_a_corpus_by_hand_is_looked_at(values: Any) -> None:
    own = by_hand()
    bad = Corpus(own.file, own.sentence_off, {**own.columns, "pixels": NumericColumn(values)}, own.token_line)
    with pytest.raises(DcrfError, match="the template declares vectors of 3 numbers"):
        dcrfdsl.fit(template(), bad, threads=1)
    with pytest.raises(DcrfError, match="does not hold vectors of 3 numbers"):
        dcrfdsl.fit(template(), bad, threads=1, unchecked=True)


# features ------------------------------------------------------------------------------------------------------------


def as_floats(text: str) -> str:
    """The template with a column of numbers a component."""
    names = [f"pixels{n}" for n in range(SIZE)]
    listed = text.replace("pixels: vector(3)", ", ".join(f"{name}: float" for name in names))
    listed = listed.replace("pixels[-1..1]", ", ".join(f"{name}[-1..1]" for name in names))
    return listed.replace("pixels & first", ", ".join(f"{name} & first" for name in names))


def test_a_vector_is_as_many_columns_of_numbers() -> None:
    vectors = template()
    floats = dcrfdsl.load_text(as_floats(DATA.format(format="conll") + MODEL))
    flat = [[(*x, y) for x, y in sentence] for sentence in SENTENCES]
    models, marginals = [], []
    for resolved, given in ((vectors, SENTENCES), (floats, flat)):
        data = resolved.require().data
        assert data is not None
        corpus = dcrfdsl.corpus_from_rows(given, data)
        models.append(dcrfdsl.fit(resolved, corpus, threads=1))
        marginals.append(models[-1].marginals(corpus, threads=1)[0]["letter"])
    one, other = (
        sorted((c, s, name.replace("#", ""), w) for c, name, s, w in model.explanations.iter_weights())
        for model in models
    )
    renamed = [(c, s, name, w) for c, s, name, w in one]
    assert len(one) == len(other) > 3 * SIZE * 4
    # `pixels[-1]#0` of the vector is `pixels0[-1]` of the numbers
    key = {(c, s, _placed(name)): w for c, s, name, w in renamed}
    for c, s, name, w in other:
        assert key[c, s, name] == pytest.approx(w, abs=1e-6)
    np.testing.assert_allclose(marginals[0], marginals[1], atol=1e-8)


def _placed(name: str) -> str:
    """`pixels[-1]0` → `pixels0[-1]`"""
    head, _, rest = name.partition("pixels")
    if rest.startswith("["):
        place, _, behind = rest.partition("]")
        return f"{head}pixels{behind[:1]}{place}]{behind[1:]}"
    return name


def test_values_are_the_numbers_and_zeros_are_left_out() -> None:
    data = template().require().data
    assert data is not None
    resolved = dcrfdsl.load_text(
        DATA.format(format="conll") + "label letter\nclique letter: pixels[1]\ntrain likelihood\n"
    )
    corpus = dcrfdsl.corpus_from_rows(SENTENCES, data)
    model = dcrfdsl.fit(resolved, corpus, threads=1)
    (found,) = model.extractor.extract(corpus)
    names = [model.extractor.describe(0, k) for k in range(model.extractor.sets[0].num_features)]
    assert sorted(names) == ["pixels[1]#0", "pixels[1]#1", "pixels[1]#2"]
    dense = np.zeros((corpus.num_tokens, SIZE))
    for row in range(corpus.num_tokens):
        for at in range(found.row_off[row], found.row_off[row + 1]):
            dense[row, int(names[found.feature[at]][-1])] = found.value[at]
    expected = np.concatenate([[x for x, _ in s[1:]] + [[0.0] * SIZE] for s in SENTENCES])
    np.testing.assert_array_equal(dense, expected)
    assert len(found.feature) == np.count_nonzero(expected)


def test_the_gradient_is_that_of_the_objective() -> None:
    case = Case(DATA.format(format="conll") + MODEL.replace("train likelihood\n", ""), SENTENCES)
    objective = objective_of(case, "likelihood")
    weights = np.random.default_rng(1).normal(0, 0.5, objective.num_weights)
    value_of = lambda at: objective.value_and_gradient(at)[0]  # noqa: E731
    expected = reference.finite_difference(value_of, weights)
    np.testing.assert_allclose(objective.value_and_gradient(weights)[1], expected, atol=1e-6)


# the whole way -------------------------------------------------------------------------------------------------------


def test_a_model_file_keeps_what_it_has_learned(tmp_path: Path) -> None:
    data = template().require().data
    assert data is not None
    corpus = dcrfdsl.corpus_from_rows(SENTENCES, data)
    model = dcrfdsl.fit(template(), corpus, threads=1)
    model.save(tmp_path / "letters.model")
    again = dcrfdsl.load(tmp_path / "letters.model")
    assert list(again.explanations.iter_weights()) == list(model.explanations.iter_weights())
    other = dcrfdsl.corpus_from_rows(sentences(seed=1), data)
    np.testing.assert_array_equal(
        again.marginals(other, threads=1)[0]["letter"], model.marginals(other, threads=1)[0]["letter"]
    )


def test_the_builder_writes_the_same_template() -> None:
    m = dcrfdsl.Template("letters")
    pixels, _ = m.data("conll", "pixels:vector(3)", "letter")
    letter = m.label("letter")
    m.clique(letter, features=[dcrfdsl.template.bias, pixels])
    assert "data conll(pixels: vector(3), letter)" in dcrfdsl.to_text(m.resolved().require())


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Train, tag, evaluate, show and draw; what is tagged keeps the field of numbers as it stands."""
    paths = [str(tmp_path / name) for name in ("t.dcrf", "train.txt", "letters.model")]
    Path(paths[0]).write_text(DATA.format(format="conll") + MODEL)
    Path(paths[1]).write_text(conll(","))

    def run(*arguments: str) -> str:
        assert dcrfdsl_command(list(arguments)) == 0
        return capsys.readouterr().out

    run("train", paths[0], paths[1], "-o", paths[2], "--quiet")
    out = run("tag", paths[2], paths[1], "--quiet").splitlines()
    assert [line.rsplit("\t", 1)[0] for line in out if line] == [line for line in conll(",").splitlines() if line]
    assert "accuracy(letter)" in run("eval", paths[2], paths[1])
    assert "pixels[-1]#2" in run("show", paths[2], "--top", "1000")
    drawn = run("unroll", paths[0], paths[1], "--format", "text")
    assert "pixels#0" in drawn and "letter[0]  3 states  1" in drawn


def test_a_component_that_is_zero_throughout_is_no_mistake_and_a_vector_that_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.dcrf").write_text("data conll(pixels: vector(3), blank: vector(2), letter)\nlabel letter\n"
                                     "clique letter: pixels, blank\n")  # fmt: skip
    (tmp_path / "train.txt").write_text("010 00 a\n110 00 b\n")
    assert dcrfdsl_command(["check", str(tmp_path / "t.dcrf"), "--data", str(tmp_path / "train.txt")]) == 0
    said = capsys.readouterr()
    warned = [line for line in (said.out + said.err).splitlines() if "silent-feature" in line]
    assert len(warned) == 1 and "the feature `blank` never fires" in warned[0]
