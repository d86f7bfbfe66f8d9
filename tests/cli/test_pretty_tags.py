"""`tag --pretty`, and the progress of training: what a person reads, on a terminal, without colours and in a pipe."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from dcrfdsl import corpus_from_rows, fit, load_text
from dcrfdsl.cli import run
from dcrfdsl.cli.pretty_tags import PrettySentences
from dcrfdsl.data import Corpus, InternedColumn

if sys.platform != "win32":
    from pseudo_terminal import COLOUR, run_on_terminal

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
Captured = pytest.CaptureFixture[str]
TEMPLATE = """data conll(word, part, kind, whole)
label part in bio(X, Y)
label kind in {k, l, O}
label whole in {yes, no}
clique part: bias, word
clique part[-1], part
clique kind: bias, word
clique whole: bias, word
"""
ROWS = [
    [("a", "B-X", "k", "yes"), ("b", "I-X", "O", "yes"), ("c", "O", "l", "yes")],
    [("c", "O", "l", "yes"), ("d", "B-Y", "l", "no"), ("d", "B-Y", "l", "no")],
]
TEXT = "a\nb\nc\n\nd\nd\n\n[e]\x1b[31m\n"
SHOWN = """\
sentence 1, text.txt:1
         a    b    c
  part   B-X  I-X  .
  kind   k    .    l
  whole  yes

sentence 2, text.txt:5
  part   [Y d] [Y d]
  kind   l
  whole  no

"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pretty")
    resolved = load_text(TEMPLATE)
    fit(resolved, corpus_from_rows(ROWS * 4, resolved.require().data)).save(folder / "m")
    (folder / "text.txt").write_text(TEXT)
    (folder / "t.dcrf").write_text(TEMPLATE)
    (folder / "d.txt").write_text("\n".join("".join(" ".join(token) + "\n" for token in row) for row in ROWS * 4))
    return folder


@pytest.fixture
def here(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained)
    monkeypatch.delenv("DCRFDSL_THREADS", raising=False)
    return trained


def test_it_is_for_reading(here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """A character that would act on the terminal is written as an escape, and brackets are no markup."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(["tag", "m", "text.txt", "--pretty"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(SHOWN) and "[e]\\x1b[31m" in out and "\x1b" not in out
    assert run(["tag", "m", "text.txt", "--pretty", "--flush", "--threads", "1"]) == 0
    assert capsys.readouterr().out == out
    assert run(["tag", "m", "text.txt", "--pretty", "--jobs", "2"]) == 0
    assert capsys.readouterr().out == out
    for beside in (["--confidence"], ["--marginals"], ["--nbest", "2"], ["--json"]):
        assert run(["tag", "m", "text.txt", "--pretty", *beside]) == 1
        assert (
            f"idle-option]: `--pretty` shows the best labelling of each sentence, and has no place for `{beside[0]}`"
            in (capsys.readouterr().err)
        )


@needs_terminal
@pytest.mark.parametrize("no_color", [None, "1"])
def test_a_terminal_shows_states_in_colours(
    no_color: str | None, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    code, out = run_on_terminal(["tag", "m", "text.txt", "--pretty"], monkeypatch, no_color=no_color)
    assert code == 0
    if no_color:
        assert out.startswith(SHOWN) and "\x1b" not in out
        return
    assert f"{COLOUR}36mB-X" in out and f"{COLOUR}32m[Y d]" in out  # a type has one colour
    assert f"{COLOUR}36mk" in out and f"{COLOUR}32ml" in out


def sentence(words: str) -> Corpus:
    tokens = words.split()
    column = InternedColumn(np.arange(len(tokens), dtype=np.int32), tokens)
    return Corpus("f", np.array([0, len(tokens)]), {"word": column}, np.arange(1, len(tokens) + 1))


PRETTY = {
    # states of the model, predicted: line
    "segments that touch": ("O B-X I-X", "B-X I-X B-X", "[X a b] [X c]"),
    "segments that break the scheme": ("O B-X I-X", "O I-X O", "a [X b] c"),
    "nothing is possible": ("O B-X I-X", "_ _ _", "no labelling is possible"),
    "one state all along": ("N V", "N N N", "N"),
    "O all along": ("N O", "O O O", "a b c"),
    "several": ("N V O", "N O V", "a/N b c/V"),
}


@pytest.mark.parametrize("name", PRETTY)
def test_a_line_shows_a_label(name: str) -> None:
    states, predicted, line = PRETTY[name]
    lines = PrettySentences({"y": states.split()}).lines(sentence("a b c"), {"y": predicted.split()})
    assert [text.plain for text in lines] == ["sentence 1, f:1", f"  {line}"]


RUNS = {
    # states of the model, predicted: line
    "runs": ("N V", "N N V", "N 1–2, V 3"),
    "segments": ("O B-X I-X", "B-X I-X O", "X 1–2, O 3"),
    "segments that touch": ("O B-X I-X", "B-X B-X I-X", "X 1, X 2–3"),
    "nothing is possible": ("N V", "_ _ _", "no labelling is possible"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_corpus_without_words_has_runs(name: str) -> None:
    states, predicted, line = RUNS[name]
    corpus = Corpus("f", np.array([0, 3]), {}, np.array([1, 2, 3]))
    lines = PrettySentences({"y": states.split()}).lines(corpus, {"y": predicted.split()})
    assert [text.plain for text in lines][1] == f"  {line}"


def test_texts_that_are_numbers_are_no_words() -> None:
    times = " ".join(f"{t / 7:.3f}" for t in range(150))
    labels = {"y": ["walk"] * 52 + ["run"] * 98, "z": ["on"] * 150}
    lines = PrettySentences({"y": ["walk", "run"], "z": ["on", "off"]}).lines(sentence(times), labels)
    assert [text.plain for text in lines] == ["sentence 1, f:1", "  y  walk 1–52, run 53–150", "  z  on 1–150"]


def test_several_labels_stand_below_their_words_in_columns() -> None:
    """A word of two columns' width counts as two; a full line goes on below."""
    words, labels = "a 東京 c", {"part": ["N", "V", "N"], "kind": ["k", "long", "_"]}
    states = {"part": ["N", "V"], "kind": ["k", "long"]}
    lines = PrettySentences(states).lines(sentence(words), labels)
    assert [text.plain for text in lines][1:] == [
        "        a  東京  c",
        "  part  N  V     N",
        "  kind  k  long  .",
    ]
    narrow = [text.plain for text in PrettySentences(states).lines(sentence(words), labels, width=16)]
    assert narrow[1:] == ["        a  東京", "  part  N  V", "  kind  k  long", "        c", "  part  N", "  kind  ."]


@pytest.mark.parametrize("option", ["--json", "--nbest=2", "--marginals", "--apart"])
def test_what_has_no_place_there_is_refused(option: str, here: Path, capsys: Captured) -> None:
    assert run(["tag", "m", "text.txt", "--pretty", option]) == 1
    out, err = capsys.readouterr()
    assert not out and "error[idle-option]" in err and option.partition("=")[0] in err


# the progress of training -----------------------------------------------------------------------------------------


@needs_terminal
@pytest.mark.parametrize("no_color", [None, "1"])
def test_training_draws_its_course_on_a_terminal(
    no_color: str | None, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out = run_on_terminal(["train", "t.dcrf", "d.txt", "-o", "n"], monkeypatch, no_color=no_color)
    assert code == 0
    assert "objective █" in out and "▁" in out
    assert (f"{COLOUR}36m" in out) is (no_color is None)
    assert (f"{COLOUR}1m" in out) is (no_color is None)


def test_training_in_a_pipe_has_plain_lines(here: Path, capsys: Captured) -> None:
    assert run(["train", "t.dcrf", "d.txt", "-o", "n"]) == 0
    err = capsys.readouterr().err
    assert "iteration " in err and not any(bar in err for bar in "▁█\x1b\r")
