"""`eval --by-label --confusion --errors`: what is shown, in JSON too, on a terminal, without colours and in a pipe."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dcrfdsl import TrainedModel, corpus_from_rows, fit, load_text
from dcrfdsl.cli import run
from dcrfdsl.data import read_corpus, stream_corpus

if sys.platform != "win32":
    from pseudo_terminal import COLOUR, run_on_terminal

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
Captured = pytest.CaptureFixture[str]
TEMPLATE = """data conll(word, part, kind)
label part in bio(X, Y)
label kind
clique part: bias, word
clique part[-1], part
clique kind: bias, word
evaluate segments(part), accuracy(kind)
"""
GOLD = """a B-X k
b I-X k
c O l

a B-Y k
d O [bold]m
"""
ROWS = [
    [("a", "B-X", "k"), ("b", "I-X", "k"), ("c", "O", "l")],
    [("c", "O", "l"), ("d", "O", "l")],
    [("a", "B-X", "k"), ("d", "O", "l")],
]


def model_of(template: str) -> TrainedModel:
    resolved = load_text(template)
    return fit(resolved, corpus_from_rows(ROWS * 3, resolved.require().data))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eval")
    model_of(TEMPLATE).save(folder / "m")
    (folder / "gold.txt").write_text(GOLD)
    return folder


@pytest.fixture
def here(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained)
    return trained


def printed(capsys: Captured, *options: str) -> str:
    assert run(["eval", "m", "gold.txt", *options, "-q"]) == 0
    return capsys.readouterr().out


EVERY = ("--by-label", "--confusion", "--errors", "9")
SHOWN = """\
metric              %  precision  recall     f1
segments(part)             50.00   50.00  50.00
accuracy(kind)  80.00

tokens: 5
sentences: 2
unseen labels: 1
illegal moves(part): 0

by_state(part)  precision  recall      f1  support
B-X                 50.00  100.00   66.67        1
I-X                100.00  100.00  100.00        1
B-Y                  0.00    0.00    0.00        1
O                  100.00  100.00  100.00        2

micro               80.00   80.00   80.00        5
macro               62.50   75.00   66.67        5
weighted            70.00   80.00   73.33        5

by_state(kind)  precision  recall      f1  support
k                  100.00  100.00  100.00        3
l                   50.00  100.00   66.67        1
[bold]m              0.00    0.00    0.00        1

micro               80.00   80.00   80.00        5
macro               50.00   66.67   55.56        5
weighted            70.00   80.00   73.33        5

by_type(part)  precision  recall     f1  support
X                  50.00  100.00  66.67        1
Y                   0.00    0.00   0.00        1

micro              50.00   50.00  50.00        2
macro              25.00   50.00  33.33        2
weighted           25.00   50.00  33.33        2

confusion(part)  B-X  I-X  B-Y  O
B-X                1    .    .  .
I-X                .    1    .  .
B-Y                1    .    .  .
O                  .    .    .  2

confusion(kind)  k  l  [bold]m
k                3  .        .
l                .  1        .
[bold]m          .  1        .

sentence 2, gold.txt:5
  a d
  1 a: part is B-Y, predicted B-X
  2 d: kind is [bold]m, predicted l

sentences with a mistake: 1
"""


def test_tables_and_mistakes_follow_the_scores(here: Path, capsys: Captured) -> None:
    assert printed(capsys, *EVERY) == SHOWN
    scores = SHOWN[: SHOWN.index("\nby_state")]
    assert printed(capsys) == scores
    assert printed(capsys, "--confusion") == scores + SHOWN[SHOWN.index("\nconfusion") : SHOWN.index("\nsentence 2")]


def test_tables_for_spreadsheets_have_the_same_cells(here: Path, capsys: Captured) -> None:
    rows = list(csv.reader(printed(capsys, "--by-label", "--confusion", "--format", "csv").splitlines()))
    shown = [line.split() for line in SHOWN[: SHOWN.index("\nsentence 2")].split("\n")]
    ends = shown.index(["by_state(part)", "precision", "recall", "f1", "support"])
    assert [[cell for cell in row if cell] for row in rows[rows.index(shown[ends]) :] if row] == [
        row for row in shown[ends:] if row
    ]
    assert rows[:3] == [
        shown[0],
        ["segments(part)", "", "50.00", "50.00", "50.00"],
        ["accuracy(kind)", "80.00", "", "", ""],
    ]
    assert rows[4:6] == [["count", "value"], ["tokens", "5"]]
    assert run(["eval", "m", "gold.txt", "--errors", "3", "--format", "latex"]) == 1
    assert "idle-option" in capsys.readouterr().err


def test_json_has_the_same(here: Path, capsys: Captured) -> None:
    found = json.loads(printed(capsys, *EVERY, "--json"))
    plain = json.loads(printed(capsys, "--json"))
    tables, errors = found.pop("tables"), found.pop("errors")
    assert found == plain
    assert tables["kind"]["confusion"] == {
        "states": ["k", "l", "[bold]m"],
        "counts": [[3, 0, 0], [0, 1, 0], [0, 1, 0]],
        "unlabelled": [0, 0, 0],
    }
    assert "by_type" not in tables["kind"]
    assert tables["part"]["by_type"]["classes"]["X"] == {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "support": 1}
    assert tables["part"]["by_type"]["macro"]["f1"] == pytest.approx(1 / 3)
    assert errors == [
        {
            "sentence": 2,
            "file": "gold.txt",
            "line": 5,
            "words": ["a", "d"],
            "mistakes": [
                {"token": 1, "label": "part", "gold": "B-Y", "predicted": "B-X"},
                {"token": 2, "label": "kind", "gold": "[bold]m", "predicted": "l"},
            ],
        }
    ]


def test_parts_of_the_data_give_the_tables_of_the_whole(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = printed(capsys, *EVERY)

    def small(*args: Any, **kwargs: Any) -> Any:
        return stream_corpus(*args, **kwargs, tokens_per_chunk=1)

    monkeypatch.setattr("dcrfdsl.data.stream_corpus", small)
    assert printed(capsys, *EVERY) == whole


def test_only_the_first_sentences_are_shown(here: Path, capsys: Captured) -> None:
    (here / "more.txt").write_text("\n".join([GOLD] * 3))
    assert run(["eval", "m", "more.txt", "--errors", "2"]) == 0
    out = capsys.readouterr().out
    assert "sentence 4, more.txt:12" in out and "sentence 6" not in out
    assert out.endswith("sentences with a mistake: 3, of which the first 2 are shown\n")


def test_the_template_can_ask_for_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A metric that is a table is shown as one, and decides as its first value does."""
    monkeypatch.chdir(tmp_path)
    asked = "by_state(part), by_type(part), confusion(kind)"
    model = model_of(TEMPLATE.replace("segments(part), accuracy(kind)", asked))
    model.save("m")
    Path("gold.txt").write_text(GOLD)
    out = printed(capsys)
    tables = SHOWN[SHOWN.index("by_state(part)") : SHOWN.index("\nby_state(kind)")]
    tables += SHOWN[SHOWN.index("\nby_type") : SHOWN.index("\nconfusion(part)")]
    tables += SHOWN[SHOWN.index("\nconfusion(kind)") : SHOWN.index("\nsentence 2")]
    assert out == "tokens: 5\nsentences: 2\nunseen labels: 1\nillegal moves(part): 0\n\n" + tables
    corpus = read_corpus("gold.txt", model.spec.data)
    scores = json.loads(printed(capsys, "--json"))
    assert scores == model.evaluate(corpus)
    assert scores["by_type(part).macro_f1"] == pytest.approx(1 / 3)
    assert scores['confusion(kind)["[bold]m"]["l"]'] == 1
    assert model.scores.first_score(corpus) == ("by_state(part).macro_f1", pytest.approx(2 / 3))
    assert model.scores.tables(corpus)["part"].by_type is not None


def test_fields_without_marks_have_their_tables(tmp_path: Path) -> None:
    model = model_of(TEMPLATE.replace("segments(part), accuracy(kind)", "segments(kind, runs)"))
    corpus = corpus_from_rows(ROWS, model.spec.data)
    assert model.evaluate(corpus)["segments(kind, runs).f1"] == 1.0
    by_type = model.scores.tables(corpus)["kind"].by_type
    assert by_type is not None and by_type.counts == {"k": (2, 2, 2), "l": (3, 3, 3)}


def test_a_large_matrix_is_a_list_of_its_mistakes(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcrfdsl.cli.label_report.MOST_STATES", 2)
    monkeypatch.setattr("dcrfdsl.cli.label_report.MOST_MISTAKES", 1)
    (here / "more.txt").write_text(GOLD + "\na B-X l\na B-X l\n")
    assert run(["eval", "m", "more.txt", "--confusion"]) == 0
    out = capsys.readouterr().out
    assert out.endswith(
        "confusion(kind)  predicted  count  % of gold\nl                k              2      66.67\n"
        "\n… and 1 other confusions\n"
    )


@needs_terminal
@pytest.mark.parametrize("no_color", [None, "", "1"])
def test_a_terminal_has_colours_unless_it_is_not_to(
    no_color: str | None, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is shown is the same text."""
    code, out = run_on_terminal(["eval", "m", "gold.txt", *EVERY], monkeypatch, no_color=no_color)
    assert code == 0
    if no_color:
        assert "\x1b" not in out
        assert [line.rstrip() for line in out.splitlines()] == SHOWN.splitlines()
    else:
        assert f"{COLOUR}31m[bold]m" not in out and f"{COLOUR}31ml" in out  # the predicted state is red
        assert f"{COLOUR}32m3" in out


@needs_terminal
def test_a_matrix_that_is_wider_than_the_terminal_is_a_list(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, out = run_on_terminal(["eval", "m", "gold.txt", "--confusion"], monkeypatch, no_color="1", columns=32)
    assert "confusion(part)  B-X" not in out
    assert "confusion(kind)  k  l" in out  # this one fits


def test_a_pipe_has_no_colours_even_if_they_are_forced(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert printed(capsys, *EVERY) == SHOWN


def test_the_gold_value_of_a_sentence_is_shown_from_the_cell_that_says_it(tmp_path: Path, capsys: Captured) -> None:
    resolved = load_text(
        'data conll(word, s)\nlabel s in {U, V} for sentence with missing = "?"\nclique s: bias, word\n'
    )
    model = fit(resolved, corpus_from_rows([[("a", "U"), ("b", "U")], [("c", "V")]] * 3, resolved.require().data))
    model.save(tmp_path / "m")
    (tmp_path / "gold.txt").write_text("a ?\nb V\n\nb ?\na Q\n")
    assert run(["eval", str(tmp_path / "m"), str(tmp_path / "gold.txt"), "--errors", "2", "-q"]) == 0
    shown = capsys.readouterr().out
    assert "  1 a: s is V, predicted U\n" in shown and "  1 b: s is Q, predicted U\n" in shown
    corpus = read_corpus(tmp_path / "gold.txt", resolved.require().data)
    page = model.report(corpus, tmp_path / "page.html")[0].read_text()
    assert "labelled U, gold V" in page and "labelled U, gold Q" in page and "gold ?" not in page
