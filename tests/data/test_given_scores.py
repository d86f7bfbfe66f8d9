"""Columns of scores in every format and from every kind of Python data: the same numbers everywhere, or one error."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcrfdsl
from dcrfdsl import DcrfError
from dcrfdsl.cli import run
from dcrfdsl.data import read_corpus
from dcrfdsl.model import TrainedModel
from dcrfdsl.training import open_parts

STATES = ("O", "B", "I")
KINDS = ("X", "Y")
TEMPLATE = """data {}(word, logits: scores(tag), both: scores(tag, kind), tag, kind{})
label tag in {{O, B, I}}
label kind in {{X, Y}}
clique tag: offset(logits)
clique tag, kind: offset(both)
"""
LENGTHS = (1, 3, 2)
Sentence = dict[str, Any]


def sentences() -> list[Sentence]:
    """With scores as arrays of single precision, some of them -inf."""
    draw = np.random.default_rng(5)
    made = []
    for length in LENGTHS:
        logits = draw.normal(size=(length, 3)).astype(np.float32)
        both = draw.normal(size=(length, 3, 2)).astype(np.float32)
        logits[draw.random(logits.shape) < 0.2] = -np.inf
        both[draw.random(both.shape) < 0.1] = -np.inf
        logits[:, 0], both[:, 0] = 0.5, 0.25  # something is possible everywhere
        made.append(
            {
                "word": [f"w{t}" for t in range(length)], "logits": logits, "both": both,
                "tag": ["O"] * length, "kind": ["X"] * length,
            }
        )  # fmt: skip
    return made


def named(scores: Any, *domains: Sequence[str]) -> dict[str, float]:
    """The scores of a token by assignment, in another order."""
    numbers = np.asarray(scores, np.float64).reshape(-1).tolist()
    pairs = list(zip(map(" ".join, product(*domains)), numbers, strict=True))
    return dict(reversed(pairs))


def nested(scores: Any) -> dict[str, dict[str, float]]:
    return {tag: named(row, KINDS) for tag, row in zip(STATES, np.asarray(scores), strict=True)}


def lists(sentence: Sentence) -> Sentence:
    return {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in sentence.items()}


def by_name(sentence: Sentence) -> Sentence:
    logits, both = (sentence[name] for name in ("logits", "both"))
    return {**sentence, "logits": [named(one, STATES) for one in logits], "both": list(map(nested, both))}


def flat_names(sentence: Sentence) -> Sentence:
    return {**by_name(sentence), "both": [named(one, STATES, KINDS) for one in sentence["both"]]}


def cells(sentence: Sentence, separator: str, *, names: bool = False) -> list[list[str]]:
    """Rows of texts."""
    rows = []
    for t, word in enumerate(sentence["word"]):
        logits = [repr(float(one)) for one in sentence["logits"][t]]
        if names:
            logits = [f"{state}:{one}" for state, one in zip(STATES, logits, strict=True)][::-1]
        both = [repr(float(one)) for one in sentence["both"][t].reshape(-1)]
        rows.append([word, separator.join(logits), separator.join(both), sentence["tag"][t], sentence["kind"][t]])
    return rows


def tokens(sentence: Sentence) -> list[Sentence]:
    return [dict(zip(sentence, values, strict=True)) for values in zip(*sentence.values(), strict=True)]


# doors: each writes the sentences in its own way, and reads them as a corpus ------------------------------------------

Door = Callable[[Path, list[Sentence]], dcrfdsl.data.Corpus]
COLUMNS = ("word", "logits", "both", "tag", "kind")


def spec(data_format: str = "jsonl", options: str = "") -> Any:
    return dcrfdsl.load_text(TEMPLATE.format(data_format, options), "a.dcrf").require().data


def from_rows(change: Callable[[Sentence], Any]) -> Door:
    return lambda folder, given: dcrfdsl.corpus_from_rows(map(change, given), spec())


def jsonl(change: Callable[[Sentence], Any]) -> Door:
    def door(folder: Path, given: list[Sentence]) -> dcrfdsl.data.Corpus:
        path = folder / "a.jsonl"
        path.write_text("".join(json.dumps(change(one)) + "\n" for one in given))
        return read_corpus(path, spec())

    return door


def as_text(sentence: Sentence) -> Sentence:
    """JSON that every program reads: the text "-inf" in place of the infinity that JSON lacks."""
    return json.loads(json.dumps(lists(sentence)).replace("-Infinity", '"-inf"'))


def table(name: str, options: str, separator: str, inner: str, *, header: bool, names: bool = False) -> Door:
    def door(folder: Path, given: list[Sentence]) -> dcrfdsl.data.Corpus:
        out = io.StringIO()
        if header:
            writer = csv.writer(out, delimiter=separator, lineterminator="\n")
            writer.writerow(COLUMNS)
            for one in given:
                writer.writerows(cells(one, inner, names=names))
                writer.writerow([])
        else:
            for one in given:
                out.writelines(separator.join(row) + "\n" for row in cells(one, inner, names=names))
                out.write("\n")
        path = folder / "a.txt"
        path.write_text(out.getvalue())
        return read_corpus(path, spec(name, options))

    return door


def decimal_commas(folder: Path, given: list[Sentence]) -> dcrfdsl.data.Corpus:
    rows = [[*map(str, COLUMNS)]]
    for one in given:
        rows += [[cell.replace(".", ",") for cell in row] for row in cells(one, " ")] + [[]]
    path = folder / "a.csv"
    path.write_text("".join(";".join(row) + "\n" for row in rows))
    return read_corpus(path, spec("csv", ', separator = ";", decimal = ","'))


def parquet(kind: str, *, by_token: bool = False) -> Door:
    def door(folder: Path, given: list[Sentence]) -> dcrfdsl.data.Corpus:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet as files

        number = pyarrow.float32()
        types = {
            "lists": (pyarrow.list_(number), pyarrow.list_(pyarrow.list_(number))),
            "fixed": (pyarrow.list_(number, 3), pyarrow.list_(number, 6)),
            "maps": (pyarrow.map_(pyarrow.string(), pyarrow.float64()), pyarrow.list_(number)),
        }[kind]
        columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        for one in map(lists, given):
            columns["logits"].append([list(named(x, STATES).items()) for x in one["logits"]] if kind == "maps"
                                     else one["logits"])  # fmt: skip
            flat = [np.reshape(x, -1).tolist() for x in one["both"]]
            columns["both"].append(one["both"] if kind == "lists" else flat)
            for name in ("word", "tag", "kind"):
                columns[name].append(one[name])
        fields = {name: pyarrow.string() for name in COLUMNS} | dict(zip(("logits", "both"), types, strict=True))
        if by_token:
            columns = {name: [x for one in values for x in one] for name, values in columns.items()}
            arrays = {name: pyarrow.array(values, fields[name]) for name, values in columns.items()}
            arrays["id"] = pyarrow.array(np.repeat(range(len(given)), [len(one["word"]) for one in given]))
        else:
            arrays = {name: pyarrow.array(values, pyarrow.list_(fields[name])) for name, values in columns.items()}
        files.write_table(pyarrow.table(arrays), folder / "a.parquet")
        return read_corpus(folder / "a.parquet", spec("parquet", ', sentence = "id"' if by_token else ""))

    return door


def npz(folder: Path, given: list[Sentence]) -> dcrfdsl.data.Corpus:
    """Tokens in turn."""
    arrays = {name: np.concatenate([np.asarray(one[name]) for one in given]) for name in COLUMNS}
    np.savez(folder / "a.npz", lengths=LENGTHS, **arrays)
    return read_corpus(folder / "a.npz", spec("npz"))


def padded_npz(folder: Path, given: list[Sentence]) -> dcrfdsl.data.Corpus:
    """Sentences of one length; what lies beyond their ends is no number."""
    arrays: dict[str, Any] = {}
    for name in COLUMNS:
        values = [np.asarray(one[name]) for one in given]
        kind = values[0].dtype
        shape = (len(given), 5, *values[0].shape[1:])
        arrays[name] = np.full(shape, np.nan, kind) if kind.kind == "f" else np.full(shape, "", "U2")
        for n, one in enumerate(values):
            arrays[name][n, : len(one)] = one
    arrays["both"] = arrays["both"].reshape(len(given), 5, 6)
    np.savez(folder / "a.npz", tokens=LENGTHS, **arrays)
    return read_corpus(folder / "a.npz", spec("npz", ', lengths = "tokens"'))


def frame(kind: str, cell: Callable[[Any], Any]) -> Door:
    def door(folder: Path, given: list[Sentence]) -> dcrfdsl.data.Corpus:
        columns: dict[str, list[Any]] = {"sentence": [n for n, one in enumerate(given) for _ in one["word"]]}
        for name in COLUMNS:
            values = [x for one in given for x in one[name]]
            columns[name] = [cell(x) for x in values] if name in ("logits", "both") else values
        made = pytest.importorskip(kind)
        built = made.table(columns) if kind == "pyarrow" else made.DataFrame(columns)
        return dcrfdsl.corpus_from_frame(built, spec())

    return door


DOORS: Mapping[str, Door] = {
    "arrays in rows": from_rows(dict),
    "lists in rows": from_rows(lists),
    "names in rows": from_rows(by_name),
    "texts in rows": from_rows(lambda one: {**one, "logits": [row[1] for row in cells(one, " ")]}),
    "tokens": from_rows(tokens),
    "tuples": from_rows(lambda one: [tuple(token.values()) for token in tokens(one)]),
    "jsonl": jsonl(lists),
    "jsonl, names": jsonl(by_name),
    "jsonl, flat names": jsonl(flat_names),
    "jsonl, tokens": jsonl(lambda one: tokens(lists(one))),
    "jsonl, -inf as text": jsonl(as_text),
    "csv": table("csv", "", ",", ",", header=True),
    "csv, names": table("csv", "", ",", " ", header=True, names=True),
    "csv, decimal commas": decimal_commas,
    "tsv": table("tsv", "", "\t", " ", header=True),
    "conll": table("conll", "", " ", ",", header=False),
    "conll, names": table("conll", "", " ", ",", header=False, names=True),
    "conll, tabs": table("conll", ', separator = "\\t"', "\t", " ", header=False),
    "parquet": parquet("lists"),
    "parquet, fixed": parquet("fixed"),
    "parquet, maps": parquet("maps"),
    "parquet by token": parquet("fixed", by_token=True),
    "parquet by token, nested": parquet("lists", by_token=True),
    "npz": npz,
    "npz, padded": padded_npz,
    "pandas": frame("pandas", np.asarray),
    "polars": frame("polars", lambda one: np.asarray(one).tolist()),
    "arrow": frame("pyarrow", lambda one: np.asarray(one).tolist()),
}


def model() -> TrainedModel:
    return dcrfdsl.fit(dcrfdsl.load_text(TEMPLATE.format("jsonl", ""), "a.dcrf"))


@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_numbers(door: str, tmp_path: Path) -> None:
    given, trained = sentences(), model()
    rows = dcrfdsl.corpus_from_rows(given, spec())
    corpus = DOORS[door](tmp_path, given)
    assert corpus.num_sentences == len(LENGTHS)
    found, wanted = trained.marginals(corpus)[0], trained.marginals(rows)[0]
    for name, probabilities in wanted.items():
        assert np.array_equal(found[name], probabilities)
    assert trained.scores.log_likelihood(corpus) == trained.scores.log_likelihood(rows)


def test_a_model_tags_sentences_with_scores_in_every_form() -> None:
    given, trained = sentences(), model()
    labels = [{name: one[name] for name in ("tag", "kind")} for one in given]
    bare = [{name: values for name, values in one.items() if name not in labels[0]} for one in given]
    expected = [trained.tag(one) for one in bare]
    for change in (lists, by_name, flat_names, as_text, tokens, lambda one: tokens(lists(one))):
        assert [trained.tag(change(one)) for one in bare] == expected
        assert list(trained.tag_all(map(change, bare))) == expected


# files: tagged, converted, in parts -----------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a template, its model and data."""
    monkeypatch.chdir(tmp_path)
    Path("a.dcrf").write_text(TEMPLATE.format("jsonl", ""))
    model().save("a.model")
    Path("plain.jsonl").write_text("".join(json.dumps(lists(one)) + "\n" for one in sentences()))
    Path("named.jsonl").write_text("".join(json.dumps(by_name(one)) + "\n" for one in sentences()))
    return tmp_path


@pytest.mark.parametrize("file", ["plain.jsonl", "named.jsonl"])
def test_tagged_lines_are_json_that_can_be_read_again(
    file: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tag", "a.model", file]) == 0
    out = capsys.readouterr().out

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is no JSON")

    assert all("predicted" in json.loads(line, parse_constant=refuse) for line in out.splitlines())
    Path("again.jsonl").write_text(out)
    again, expected = (read_corpus(name, spec()) for name in ("again.jsonl", file))
    assert np.array_equal(again.columns["logits"].values, expected.columns["logits"].values)


def statement(name: str, options: str = "") -> str:
    return f"{name}(word, logits: scores(tag), both: scores(tag, kind), tag, kind{options})"


@pytest.mark.parametrize("name", ["jsonl", "csv", "tsv", "conll", "parquet", "npz"])
@pytest.mark.parametrize("file", ["plain.jsonl", "named.jsonl"])
def test_scores_are_converted(name: str, file: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    done = run(["convert", file, "-o", "out.data", "--from", statement("jsonl"), "--to", name])
    if file == "named.jsonl" and name in ("csv", "tsv", "conll", "npz"):
        assert done == 1
        assert "write `jsonl` or `parquet`" in capsys.readouterr().err
        return
    assert done == 0
    back = read_corpus("out.data", spec(name))
    expected = read_corpus(file, spec())
    for column in ("logits", "both"):
        assert np.array_equal(back.columns[column].values, expected.columns[column].values)
        assert list(back.columns[column].names) == list(expected.columns[column].names)


@pytest.mark.parametrize("file", ["plain.jsonl", "named.jsonl"])
def test_parts_keep_scores_and_their_names(file: str, files: Path) -> None:
    template = dcrfdsl.load_text(TEMPLATE.format("jsonl", "") + "clique tag[-1], tag\ntrain likelihood\n", "a.dcrf")
    whole = dcrfdsl.fit(template, read_corpus(file, template.require().data))
    split = dcrfdsl.fit(template, open_parts([file], template, cache=files / "cache", memory="4GB"))
    assert np.allclose(whole.weights, split.weights, atol=1e-8)


# errors ---------------------------------------------------------------------------------------------------------------

PLAIN = """data {}(logits: scores(tag), tag{})
label tag in {{O, B, I}}
clique tag: offset(logits)
"""
WRONG: Mapping[str, tuple[Any, str, str]] = {  # the scores of the second sentence, part of the message, of the help
    "nan": ([float("nan"), 1.0, 2.0], "the score `nan` of `O`", "-inf where it is impossible"),
    "inf": ([0.5, float("inf"), 2.0], "the score `inf` of `B`", "-inf where it is impossible"),
    "too few": ([0.5, 1.0], "2 numbers", ""),
    "too many": ([0.5, 1.0, 2.0, 3.0], "4 numbers", ""),
    "a text": (["x", 1.0, 2.0], "found `x`, expected a number", ""),
    "names": ({"O": 1.0, "B": 2.0, "I": 0.0}, "O B I", ""),
}
NAMED: Mapping[str, tuple[Any, str, str]] = {
    "lacking": ({"O": 1.0, "B": 2.0}, "no score of `I`", "name every state"),
    "unknown": ({"O": 1.0, "B": 2.0, "I": 0.0, "J": 1.0}, "a score of `J`, which is no state", "name every state"),
    "misspelt": ({"O": 1.0, "B": 2.0, "i": 0.0}, "no score of `I`, and one of `i`", "did you mean `I`"),
}


def plain_spec(data_format: str = "jsonl", options: str = "") -> Any:
    return dcrfdsl.load_text(PLAIN.format(data_format, options), "a.dcrf").require().data


def cell_text(scores: Any) -> str:
    if isinstance(scores, dict):
        return ",".join(f"{name}:{number}" for name, number in scores.items())
    return ",".join(map(str, scores))


def written(folder: Path, kind: str, scores: Sequence[Any]) -> tuple[dcrfdsl.data.Corpus, str]:
    """The corpus of sentences of one token each, and the name of its file."""
    path = folder / "a.data"
    if kind == "rows":
        return dcrfdsl.corpus_from_rows([{"logits": [one], "tag": ["O"]} for one in scores], plain_spec()), "<rows>"
    if kind == "jsonl":
        path.write_text("".join(json.dumps({"logits": [one], "tag": ["O"]}) + "\n" for one in scores))
    elif kind == "conll":
        path.write_text("".join(f"{cell_text(one)} O\n\n" for one in scores))
    elif kind == "npz":
        texts = any(isinstance(one, dict) or "x" in one or len(one) != 3 for one in scores)
        logits = np.array([cell_text(one) for one in scores] if texts else scores)
        path = folder / "a.npz"
        np.savez(path, lengths=np.ones(len(scores), int), logits=logits, tag=["O"] * len(scores))
    elif kind == "csv":
        path.write_text("logits,tag\n" + "".join(f'"{cell_text(one)}",O\n\n' for one in scores))
    else:
        pyarrow, files = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        cells = [[cell_text(one)] if isinstance(one, dict) or "x" in one else [one] for one in scores]
        if any(isinstance(one[0], str) for one in cells):
            cells = [[cell_text(one)] for one in scores]
        files.write_table(pyarrow.table({"logits": cells, "tag": [["O"]] * len(scores)}), path)
    return read_corpus(path, plain_spec(kind)), str(path)


LINES = {"rows": 2, "jsonl": 2, "conll": 3, "csv": 4, "parquet": 2, "npz": 2}


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("case", [*WRONG, *NAMED])
def test_what_is_no_score_is_one_error_with_its_line(kind: str, case: str, tmp_path: Path) -> None:
    scores, message, remedy = {**WRONG, **NAMED}[case]
    first: Any = [0.5, 1.0, 2.0]
    line = LINES[kind]
    if case in NAMED:  # all tokens alike, so that the first one is told
        first, line = scores, {"conll": 1, "csv": 2}.get(kind, 1)
    trained = dcrfdsl.fit(dcrfdsl.load_text(PLAIN.format("jsonl", ""), "a.dcrf"))
    with pytest.raises(DcrfError) as raised:
        corpus, _ = written(tmp_path, kind, [first, scores])
        trained.predict(corpus)
    (problem,) = raised.value.diagnostics
    assert problem.slug == "bad-value" and message in problem.message, problem.message
    assert "`logits`" in problem.message
    assert problem.location is not None and problem.location.endswith(f":{line}"), problem.location
    assert remedy in (problem.help or "")


@pytest.mark.parametrize("kind", LINES)
def test_a_wrong_count_is_blamed_where_it_is_even_in_the_first_line(kind: str, tmp_path: Path) -> None:
    with pytest.raises(DcrfError) as raised:
        written(tmp_path, kind, [[0.5, 1.0], [0.5, 1.0, 2.0]])
    (problem,) = raised.value.diagnostics
    assert "found 2 numbers, expected 3: those of the states of `tag`" in problem.message
    assert str(problem.location).endswith(":2" if kind == "csv" else ":1")


def test_learned_states_need_names() -> None:
    template = dcrfdsl.load_text(PLAIN.format("jsonl", "").replace(" in {O, B, I}", ""), "a.dcrf")
    data = template.require().data
    assert data is not None
    rows = [{"logits": [[0.5, 1.0], [1.0, 0.0]], "tag": ["B", "O"]}]
    with pytest.raises(DcrfError) as raised:
        dcrfdsl.fit(template, dcrfdsl.corpus_from_rows(rows, data))
    assert "without names" in raised.value.diagnostics[0].message
    rows[0]["logits"] = [{"O": 0.5, "B": 1.0}, {"B": 1.0, "O": 0.0}]  # type: ignore[list-item]
    trained = dcrfdsl.fit(template, dcrfdsl.corpus_from_rows(rows, data))
    assert trained.tag({"logits": [{"O": 0.5, "B": 1.0}, {"B": -np.inf, "O": 0.0}]}) == ["B", "O"]


def test_views_of_learned_states_need_names() -> None:
    """Their order is that of the label's states, which is the order of the data."""
    template = dcrfdsl.load_text("data jsonl(s: scores(v), y)\nlabel y\nview v = y is P\nclique v: offset(s)\n")
    data = template.require().data
    assert data is not None
    for labels in (["Q", "P"], ["P", "Q"]):
        rows = [{"s": [[0.0, 1.0], [1.0, 0.0]], "y": labels}]
        with pytest.raises(DcrfError, match="without names"):
            dcrfdsl.fit(template, dcrfdsl.corpus_from_rows(rows, data))


@pytest.mark.parametrize("kind", ["rows", "jsonl"])
@pytest.mark.parametrize("scores", [[0.5, True, 2.0], [[0.5], [True], [2.0]], {"O": 0.5, "B": True, "I": 2.0}])
def test_a_boolean_among_scores_is_no_number(kind: str, scores: Any, tmp_path: Path) -> None:
    with pytest.raises(DcrfError) as raised:
        written(tmp_path, kind, [[0.5, 1.0, 2.0], scores])
    (problem,) = raised.value.diagnostics
    assert problem.slug == "bad-value" and "found `True`, expected a number" in problem.message
