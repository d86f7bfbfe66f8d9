"""Columns of numbers with gaps, decimal commas, and what is said of cells that are no numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcrfdsl import DcrfError, check, corpus_from_frame, corpus_from_rows, fit, load, load_text, read_corpus
from dcrfdsl.cli import run
from dcrfdsl.data import NumericColumn
from dcrfdsl.export import export_tagger
from dcrfdsl.export.standalone.tagger_command import main
from dcrfdsl.export.standalone.tagger_model import Tagger
from dcrfdsl.syntax import DataSpec

NAN = math.nan
REST = "\nlabel y in {A, B}\nclique y: t\n"


def data_of(statement: str) -> DataSpec:
    data = load_text(f"data {statement}\n").spec.data
    assert data is not None
    return data


def numbers(corpus: Any, name: str = "t") -> list[float | None]:
    column = corpus.columns[name]
    assert isinstance(column, NumericColumn)
    return [None if math.isnan(number) else number for number in column.values.tolist()]


FILES: dict[str, tuple[str, str, list[float | None]]] = {
    # statement, text, and the numbers of the column `t`, None where one is missing
    "an empty cell": ('csv(t: float, y, missing = "")', "t,y\n1.5,A\n,B\n-2,A\n", [1.5, None, -2.0]),
    "nan and null": ('csv(t: float, y, missing = "")', "t,y\nnan,A\nNaN,B\nNULL,A\n3,A\n", [None, None, None, 3.0]),
    "a mark": ('csv(t: int, y, missing = "?")', "t,y\n1,A\n?,B\nnan,A\n", [1.0, None, None]),
    "a number as the mark": ('csv(t: float, y, missing = "-9999")', "t,y\n-9999,A\n1,B\n", [None, 1.0]),
    "columns": ('conll(t: float, y, missing = "_")', "1 A\n_ B\n\n_ A\n", [1.0, None, None]),
    "a treebank": (
        'conllu(head: int, y = upos, missing = "_")',
        "1\ta\t_\tA\t_\t_\t0\t_\t_\t_\n2\tb\t_\tB\t_\t_\t_\t_\t_\t_\n\n", [0.0, None],
    ),
    "JSON": ('jsonl(t: float, y, missing = "")', '{"t": [1, null, "", 2.5], "y": ["A", "A", "B", "B"]}\n',
             [1.0, None, None, 2.5]),
    "JSON by token": ('jsonl(t: float, y, missing = "")', '[{"t": null, "y": "A"}, {"t": 7, "y": "B"}]\n', [None, 7.0]),
    "a decimal comma": (
        'csv(t: float, y, separator = ";", decimal = ",", missing = "")', "t;y\n1,5;A\n;B\n-0,25;A\n3;A\n",
        [1.5, None, -0.25, 3.0],
    ),
    "a byte order mark and Windows": ('csv(t: float, y, missing = "")', "\ufefft,y\r\n,A\r\n2,B\r\n", [None, 2.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_numbers_may_be_missing(name: str, tmp_path: Path) -> None:
    statement, text, expected = FILES[name]
    (tmp_path / "data").write_text(text, newline="")
    corpus = read_corpus(tmp_path / "data", data_of(statement))
    assert numbers(corpus, "head" if "conllu" in statement else "t") == expected


def test_rows_and_frames_of_programs_may_have_gaps() -> None:
    data = data_of('csv(t: float, n: int, y, missing = "?")')
    pandas = pytest.importorskip("pandas")
    nothing = [None, NAN, np.float64("nan"), np.float32("nan"), pandas.NA, pandas.NaT, "?", "nan"]
    corpus = corpus_from_rows([[(one, 2, "A") for one in nothing], [(1.5, one, "B") for one in nothing]], data)
    assert numbers(corpus) == [None] * 8 + [1.5] * 8
    assert numbers(corpus, "n") == [2.0] * 8 + [None] * 8
    frame = pandas.DataFrame(
        {
            "sentence": [1, 1, 1], "t": [1.0, NAN, 3.0], "n": pandas.array([1, None, 3], dtype="Int64"),
            "y": ["A", "B", "A"],
        }
    )  # fmt: skip
    corpus = corpus_from_frame(frame, data)
    assert numbers(corpus) == numbers(corpus, "n") == [1.0, None, 3.0]


@pytest.mark.parametrize("by_sentence", [True, False])
def test_nulls_of_parquet_are_missing(by_sentence: bool, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    cells: list[float | None] = [1.0, None, NAN, 4.0]
    if by_sentence:
        table, statement = pyarrow.table({"t": [cells], "y": [list("ABAB")]}), 'parquet(t: float, y, missing = "")'
    else:
        table = pyarrow.table({"s": [1, 1, 2, 2], "t": cells, "y": list("ABAB")})
        statement = 'parquet(t: float, y, sentence = "s", missing = "")'
    parquet.write_table(table, tmp_path / "a.parquet")
    assert numbers(read_corpus(tmp_path / "a.parquet", data_of(statement))) == [1.0, None, None, 4.0]


BAD: dict[str, tuple[str, str, str, str]] = {
    # statement, text, message, remedy
    "empty": ("csv(t: float, y)", "t,y\n1,A\n,B\n,A\n", "found ``, expected a number (the first of 2 such cells)",
              'declare `missing = ""`'),
    "a mark": ("csv(t: float, y)", "t,y\n1,A\nN/A,B\n", "found `N/A`, expected a number", 'declare `missing = "N/A"`'),
    "nan": ("csv(t: float, y)", "t,y\n1,A\nnan,B\n", "found `nan`, expected a finite number", 'declare `missing = ""`'),
    "null": ("jsonl(t: float, y)", '{"t": [1, null, null], "y": ["A", "B", "B"]}',
             "found `null`, expected a number (the first of 2 such cells)", 'declare `missing = ""`'),
    "another mark": ('csv(t: float, y, missing = "?")', "t,y\n1,A\n,B\n", "found ``, expected a number",
                     'written as `missing = "?"` says'),
    "a decimal comma": ('csv(t: float, y, separator = ";")', "t;y\n1;A\n1,5;B\n2,5;B\n",
                        "found `1,5`, expected a number (the first of 2 such cells)", 'declare `decimal = ","`'),
    "a comma in a column": ("conll(t: float, y)", "1 A\n1,5 B\n", "found `1,5`, expected a number", "a decimal point"),
    "thousands": ('csv(t: float, y, separator = ";", decimal = ",")', "t;y\n1;A\n1.000;B\n",
                  "found `1.000`, expected a number with a decimal comma", "correct it"),
    "too large": ("csv(t: float, y)", "t,y\n1,A\n1e999,B\n", "found `1e999`, expected a finite number", "correct it"),
    "infinite": ('csv(t: float, y, missing = "")', "t,y\n1,A\ninf,B\n", "found `inf`, expected a finite number", ""),
    "no whole number": ("csv(t: int, y)", "t,y\n1,A\n1.5,B\n", "found `1.5`, expected a whole number", "correct it"),
    "a word": ("csv(t: float, y)", "t,y\n1,A\nhigh2,B\n", "found `high2`, expected a number", "in place of `t: float`"),
    "a vector with a gap": ("csv(t: vector(2), y)", 't,y\n1 2,A\n1 nan,B\n', "number 2: found `nan`",
                            "a vector has all of its numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_cells_without_a_number_are_one_message_with_a_remedy(name: str, tmp_path: Path) -> None:
    statement, text, message, remedy = BAD[name]
    (tmp_path / "data").write_text(text)
    with pytest.raises(DcrfError) as caught:
        read_corpus(tmp_path / "data", data_of(statement))
    (problem,) = caught.value.diagnostics
    line = 1 if "jsonl" in statement else 2 if "conll" in statement else 3
    assert problem.slug == "bad-value" and problem.location == f"{tmp_path / 'data'}:{line}"
    assert message in problem.message and remedy in str(problem.help)


def test_every_bad_cell_of_a_long_file_is_counted(tmp_path: Path) -> None:
    """Also those of later blocks; each column is a problem."""
    rows = ["t,n,y", *(f"{'?' if n % 3 == 0 else n},{'x' if n == 299_999 else 1},A" for n in range(300_000))]
    (tmp_path / "data.csv").write_text("\n".join(rows) + "\n")
    with pytest.raises(DcrfError) as caught:
        read_corpus(tmp_path / "data.csv", data_of("csv(t: float, n: int, y)"))
    first, second = caught.value.diagnostics
    assert "the first of 100,000 such cells" in first.message and str(first.location).endswith(":2")
    assert "`n`: found `x`" in second.message and str(second.location).endswith(":300001")


@pytest.mark.parametrize(
    ("value", "remedy"), [(3, 'write `"3"`; a column of numbers is declared as `y: int`'), (1.5, "`y: float`")]
)
def test_labels_that_are_numbers_have_a_remedy(value: float, remedy: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"w": ["a"], "y": [value]}))
    with pytest.raises(DcrfError) as caught:
        read_corpus(tmp_path / "a.jsonl", data_of("jsonl(w, y)"))
    assert remedy in str(caught.value.diagnostics[0].help)


def test_labels_that_are_numbers_beside_scores_are_no_column_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"s": [[0.5, 1]], "y": [3]}))
    with pytest.raises(DcrfError) as caught:
        read_corpus(tmp_path / "a.jsonl", data_of("jsonl(s: scores(y), y)"))
    (problem,) = caught.value.diagnostics
    assert 'declare the numbers as states, as in `label y in {0, 1}`, and write `"3"`' in str(problem.help)


# conversion -------------------------------------------------------------------------------------------------------


CONVERTED: dict[str, str] = {
    'jsonl(t, n, y)': '{"t": [1.5, null], "n": [null, 3], "y": ["A", "B"]}\n',
    'csv(t, n, y, missing = "NA")': "t,n,y\n1.5,NA,A\nNA,3,B\n\n",
    'csv(t, n, y, separator = ";", decimal = ",", missing = "")': 't;n;y\n1,5;"";A\n"";3;B\n\n',
    "csv(t, n, y)": "t,n,y\n1.5,nan,A\nnan,3,B\n\n",
    "conll(t, n, y)": "1.5 nan A\nnan 3 B\n\n",
    "crfsuite(y, t, n)": "A\tt:1.5\nB\tn:3.0\n\n",
}  # fmt: skip


@pytest.mark.parametrize("target", CONVERTED)
def test_missing_numbers_are_converted(
    target: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("t,n,y\n1.5,?,A\n?,3,B\n")
    source = 'csv(t: float, n: int, y, missing = "?")'
    assert run(["convert", "a.csv", "--from", source, "--to", target, "-q"]) == 0
    assert capfd.readouterr().out == CONVERTED[target]


def test_a_converted_file_is_read_with_its_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("t,n,y\n1.5,?,A\n?,3,B\n")
    source = 'csv(t: float, n: int, y, missing = "?")'
    assert run(["convert", "a.csv", "--from", source, "--to", "parquet", "-o", "a.parquet", "-q"]) == 0
    corpus = read_corpus("a.parquet", data_of('parquet(t: float, n: int, y, missing = "")'))
    assert (numbers(corpus), numbers(corpus, "n")) == ([1.5, None], [None, 3.0])


# models -----------------------------------------------------------------------------------------------------------

TEMPLATE = """data jsonl(w, t: float, n: int, y, missing = "?")
label y in {A, B, C}
features hour:
    t[-1..1], n, t & w
    t > 1, not t[1] > 1, t - t[-1] > 0.5, bin(t, 3)
    t is missing & w, n is not missing, t = n, not t = t[-1]
clique y: bias, hour
clique y[-1], y: bias, t is missing
forbid y is A when t is missing and n is missing
require y is C when n > 3 and not t > 0
"""


def random_sentences(rng: np.random.Generator, count: int) -> list[dict[str, list[Any]]]:
    out = []
    for _ in range(count):
        length = int(rng.integers(1, 6))
        t = [None if rng.random() < 0.4 else round(float(rng.normal(0.5)), 1) for _ in range(length)]
        n = [None if rng.random() < 0.4 else int(rng.integers(0, 6)) for _ in range(length)]
        y = [gold(a, b, rng) for a, b in zip(t, n, strict=True)]
        out.append({"w": [str(rng.choice(["a", "b"])) for _ in range(length)], "t": t, "n": n, "y": y})
    return out


def gold(t: float | None, n: int | None, rng: np.random.Generator) -> str:
    """A label that the constraints of `TEMPLATE` allow."""
    if n is not None and n > 3 and not (t is not None and t > 0):
        return "C"
    return str(rng.choice(["B", "C"] if t is None and n is None else ["A", "B", "C"]))


def test_an_exported_program_agrees_where_numbers_are_missing(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    resolved = load_text(TEMPLATE)
    assert not [problem for problem in check(resolved) if problem.severity == "error"]
    data = resolved.require().data
    assert data is not None
    model = fit(resolved, corpus_from_rows(random_sentences(rng, 60), data))
    tagger = Tagger(export_tagger(model, tmp_path / "tagger.py").arrays)
    broken = 0
    for sentence in random_sentences(rng, 80):
        observed = {name: values for name, values in sentence.items() if name != "y"}
        ours = model.tag(observed)
        theirs = tagger.tag(observed)
        assert ours == (theirs["y"] if isinstance(theirs, dict) else theirs)
        for label, t, n in zip(ours, observed["t"], observed["n"], strict=True):
            broken += label == "A" and t is None and n is None
            broken += label != "C" and n is not None and n > 3 and not (t is not None and t > 0)
    assert not broken


def test_missing_is_a_test_of_numbers_alone() -> None:
    (problem,) = check(load_text("data csv(t: float, y)\nlabel y in {A, B}\nclique y: t is missing\n"))
    assert "how a missing one is written" in problem.message and 'missing = ""' in str(problem.help)
    text = 'data csv(t: float, w, v: vector(2), y, missing = "")\nlabel y in {A, B, missing}\n'
    assert not check(load_text(text + "clique y: w is missing, t is missing\nforbid y is missing and t is missing\n"))
    assert check(load_text(text + "clique y: v is missing\n"))[0].slug == "not-a-text"
    assert check(load_text(text + "clique y: t is high\n"))[0].slug == "not-a-text"


def test_an_indicator_tells_what_a_gap_means(tmp_path: Path) -> None:
    """A gap is a sign of its own: with the indicator the labels are told apart, and no weight of the number moves."""
    rows = [[(1.0, "A"), (None, "B"), (1.0, "A"), (None, "B")]] * 5
    resolved = load_text('data csv(t: float, y, missing = "")\nlabel y in {A, B}\nclique y: t\n')
    data = resolved.require().data
    assert data is not None
    model = fit(resolved, corpus_from_rows(rows, data))
    assert model.tag({"t": [None, 1.0, None]}) == ["B", "A", "B"]
    assert {feature for _, feature, _, _ in model.explanations.strongest_weights(10)} == {"t", "t is missing"}


@pytest.mark.parametrize("exported", [False, True])
def test_nan_in_json_is_written_as_null(
    exported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Python writes `NaN` into JSON, where no number has this name."""
    monkeypatch.chdir(tmp_path)
    Path("a.dcrf").write_text('data jsonl(t: float, y, missing = "")\nlabel y in {A, B}\nclique y: t\n')
    Path("a.jsonl").write_text('{"t": [1, NaN, null], "y": ["A", "B", "B"]}\n')
    assert run(["train", "a.dcrf", "a.jsonl", "-o", "a.model", "-q"]) == 0
    Path("b.jsonl").write_text('{"t": [NaN, 1]}\n')
    capfd.readouterr()
    if exported:
        assert main(["--model", str(export_tagger(load("a.model"), "tagger.py").arrays), "b.jsonl"]) == 0
    else:
        assert run(["tag", "a.model", "b.jsonl"]) == 0
    assert json.loads(capfd.readouterr().out) == {"t": [None, 1], "predicted": {"y": ["B", "A"]}}


LOOKS: dict[str, tuple[str, str, list[str], str | None]] = {
    # features, other statements, the texts of the column, the remedy
    "decimals": ("t", "", [f"{n}.5" for n in range(40)], "`t: float`"),
    "whole numbers": ("t[-1..1]", "", [f"{7 * n}" for n in range(40)], "`t: int`"),
    "in a cross": ("t & w", "", [f"-{n}e3" for n in range(40)], "`t: int`"),
    "in a group": ("g", "features g: t", [f"{n}.5" for n in range(40)], "`t: float`"),
    "gaps": ("t", "", [*(f"{n}.5" for n in range(39)), "?"], '`missing = "?"`'),
    "in bins": ("bin(t, 4), t > 3", "", [f"{n}.5" for n in range(40)], None),
    "few": ("t", "", [f"{n % 10}" for n in range(400)], None),
    "codes": ("t", "", [f"{n}.5" if n % 2 else f"x{n}" for n in range(40)], None),
    "the ends of numbers": ("suffix(t, 1)", "", [f"{n}" for n in range(40)], None),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_column_that_looks_numeric_is_noted(name: str) -> None:
    features, statement, texts, remedy = LOOKS[name]
    text = f"data csv(t, w, y)\nlabel y in {{A, B}}\n{statement}\nclique y: {features}\n"
    resolved = load_text(text)
    data = resolved.require().data
    assert data is not None
    corpus = corpus_from_rows([[(one, "a", "AB"[n % 2]) for n, one in enumerate(texts)]], data)
    found = [problem for problem in check(resolved, corpus) if problem.slug == "numbers-as-texts"]
    assert len(found) == (remedy is not None)
    for problem in found:
        assert problem.severity == "note" and remedy is not None and remedy in str(problem.help)
        assert "40 distinct ones" in problem.message


def test_training_prints_the_note(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.dcrf").write_text("data csv(t, y)\nlabel y in {A, B}\nclique y: t\n")
    Path("a.csv").write_text("t,y\n" + "".join(f"{n}.5,{'AB'[n % 2]}\n" for n in range(40)))
    for command in (["check", "a.dcrf", "--data", "a.csv"], ["train", "a.dcrf", "a.csv", "-o", "a.model"]):
        assert run(command) == 0
        captured = capfd.readouterr()
        assert (captured.out + captured.err).count("looks numeric") == 1
