"""Segment schemes: what is legal is what segments are marked as; marks of one scheme become those of another."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from dcrfdsl import DcrfError, fit, load, load_template, load_text, read_corpus
from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows, mark_table, remarked, segments_of
from dcrfdsl.semantics import SCHEMES, legal_moves, scheme_states, violations

TYPES = ("X", "Y")
LETTERS = {"bioes": "BIES", "bilou": "BILU", "bmes": "BMES"}
DATA = load_text("data conll(y)\nlabel y\nclique y").require().data


def segmentations(length: int, start: int = 0) -> list[list[tuple[int, int, str]]]:
    """All ways to have segments of two types in a sentence."""
    if start >= length:
        return [[]]
    out = segmentations(length, start + 1)
    for end in range(start, length):
        out = out + [[(start, end, kind), *rest] for kind in TYPES for rest in segmentations(length, end + 1)]
    return out


def marked(segments: list[tuple[int, int, str]], length: int, scheme: str) -> tuple[str, ...]:
    marks = ["O"] * length
    for n, (start, end, kind) in enumerate(segments):
        touches = n > 0 and segments[n - 1][1] == start - 1 and segments[n - 1][2] == kind
        for t in range(start, end + 1):
            sign = "I"
            if scheme in LETTERS:
                begin, inside, last, single = LETTERS[scheme]
                sign = single if start == end else begin if t == start else last if t == end else inside
            elif t == start and (scheme == "bio" or touches):
                sign = "B"
            marks[t] = f"{sign}-{kind}"
    return tuple(marks)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_legal_labellings_are_the_marks_of_segments(scheme: str, length: int) -> None:
    states = scheme_states(scheme, TYPES)
    allowed = legal_moves(scheme, states)
    expected = {marked(segments, length, scheme) for segments in segmentations(length)}
    off = np.array([0, length])
    legal = {
        tuple(states[code] for code in codes)
        for codes in itertools.product(range(len(states)), repeat=length)
        if not len(violations(allowed, np.array(codes), off))
    }
    assert legal == expected


@pytest.mark.parametrize(("old", "new"), list(itertools.product(SCHEMES, repeat=2)))
def test_every_scheme_becomes_every_other(old: str, new: str) -> None:
    lengths = [n for n in (1, 2, 3, 4) for _ in segmentations(n)]
    every = [one for n in (1, 2, 3, 4) for one in segmentations(n)]
    rows = [[(mark,) for mark in marked(one, n, old)] for one, n in zip(every, lengths, strict=True)]
    found = remarked(corpus_from_rows(rows, DATA), "y", new).text_column("y")
    expected = [mark for one, n in zip(every, lengths, strict=True) for mark in marked(one, n, new)]
    assert [found.values[code] for code in found.codes] == expected


def test_broken_marks_are_read_as_conlleval_does() -> None:
    rows = [[(mark,) for mark in ["I-X", "B-Y", "E-Y", "E-Y", "_", "S-X", "I-X", "O"]]]
    corpus = corpus_from_rows(rows, DATA)
    before, after = corpus.text_column("y"), remarked(corpus, "y", "bio").text_column("y")
    assert [after.text(n) for n in range(8)] == ["B-X", "B-Y", "I-Y", "B-Y", "_", "B-X", "B-X", "O"]
    tables = [mark_table(column.values) for column in (before, after)]
    spans = [
        segments_of(column.codes, *table[:2], corpus.sentence_off)
        for column, table in zip((before, after), tables, strict=True)
    ]
    np.testing.assert_array_equal(spans[0].start, spans[1].start)
    np.testing.assert_array_equal(spans[0].end, spans[1].end)


def test_what_marks_no_segment_is_refused() -> None:
    corpus = corpus_from_rows([[("B-X",), ("NP",)]], DATA)
    with pytest.raises(DcrfError, match=r"`NP`, which marks no segment \(line 1\)"):
        remarked(corpus, "y", "bio")
    with pytest.raises(DcrfError, match="no column `z` of texts"):
        remarked(corpus, "z", "bio")


def test_a_model_learns_and_writes_iob1(tmp_path: Path) -> None:
    template = load_text("data conll(word, y)\nlabel y in iob1\nclique y: word\nclique y[-1], y: word")
    sentence = [("a", "I-X"), ("b", "I-X"), ("a", "B-X"), ("c", "O"), ("a", "I-X")]
    corpus = corpus_from_rows([sentence] * 3, template.require().data)
    model = fit(template, corpus, threads=1)
    model.save(tmp_path / "y.model")
    model = load(tmp_path / "y.model")
    assert model.predict(corpus).texts("y")[:5] == [y for _, y in sentence]
    weights = np.random.default_rng(0).normal(0, 4, model.num_weights)
    random = model.with_weights(weights, model.record)
    codes = [list(model.states["y"]).index(y) for y in random.predict(corpus).texts("y")]
    assert not len(violations(legal_moves("iob1", model.states["y"]), np.array(codes), corpus.sentence_off))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_spans_are_read_and_written_in_each_scheme(scheme, tmp_path, monkeypatch, capsys) -> None:
    """Running text with spans: marks of the label's scheme, and the same spans again."""
    monkeypatch.chdir(tmp_path)
    line = '{"text": "a b c d e", "label": [[0, 1, "X"], [2, 5, "X"], [6, 7, "Y"], [8, 9, "X"]]}'
    Path("a.jsonl").write_text(line + "\n")
    Path("a.dcrf").write_text(f"data spans(word = token, y = spans)\nlabel y in {scheme}(X, Y)\nclique y: word\n")
    template = load_template("a.dcrf")
    column = read_corpus("a.jsonl", template.spec.data).text_column("y")
    segments = [(0, 0, "X"), (1, 2, "X"), (3, 3, "Y"), (4, 4, "X")]
    assert tuple(column.text(n) for n in range(5)) == marked(segments, 5, scheme)
    assert run(["convert", "a.jsonl", "--template", "a.dcrf", "--to", "spans"]) == 0
    done = capsys.readouterr()
    assert '[[0, 1, "X"], [2, 5, "X"], [6, 7, "Y"], [8, 9, "X"]]' in done.out and "breaks" not in done.err


CONVERTED = {
    ("--template", "a.dcrf", "--scheme", "bioes"): "a S-X\nb B-X\nc E-X\n\n",
    ("--from", "conll(word, y)", "--scheme", "y=iob1"): "a I-X\nb B-X\nc I-X\n\n",
    ("--from", "conll(word, y)", "--scheme", "bio", "--to", "csv(word, y)"): "word,y\na,B-X\nb,B-X\nc,I-X\n",
}


@pytest.mark.parametrize("options", CONVERTED, ids=" ".join)
def test_convert_marks_segments_anew(options, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.dcrf").write_text("data conll(word, y)\nlabel y in bio\nclique y: word\n")
    Path("a.txt").write_text("a B-X\nb B-X\nc I-X\n")
    assert run(["convert", "a.txt", *options]) == 0
    assert capsys.readouterr().out.strip() == CONVERTED[options].strip()


REFUSED = {
    ("--scheme", "iobs"): "is no segment scheme",
    ("--scheme", "w=bio"): "names the column `w`, which the data lack",
    ("--scheme", "word=bio"): "`a`, which marks no segment",
    ("--scheme", "bio", "--label", "y"): "with `--scheme` the file is data",
}


@pytest.mark.parametrize("options", REFUSED, ids=" ".join)
def test_what_convert_refuses(options, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("a B-X\nb B-X\nc I-X\n")
    assert run(["convert", "a.txt", "--from", "conll(word, y)", *options]) == 1
    assert REFUSED[options] in capsys.readouterr().err


# the letters of BILOU and BMES --------------------------------------------------------------------------------------

MARKED = {  # the same segments: `a b c` of type X, `e` of type Y, `f g` of type X
    "bioes": "B-X I-X E-X O S-Y B-X E-X",
    "bilou": "B-X I-X L-X O U-Y B-X L-X",
    "bmes": "B-X M-X E-X O S-Y B-X E-X",
}
BARE = "B M E S S B E"


def lines(marks: str) -> str:
    return "".join(f"{word} {mark}\n" for word, mark in zip("abcdefg", marks.split(), strict=True))


@pytest.mark.parametrize("domain", ["in {scheme}(X, Y)", "in {scheme}", ""])
@pytest.mark.parametrize("scheme", MARKED)
def test_a_model_learns_scores_and_writes_the_letters_of_a_scheme(
    domain: str, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Declared, learned, and as plain states of a label without a scheme."""
    monkeypatch.chdir(tmp_path)
    label = f"label y {domain.format(scheme=scheme)}".rstrip()
    Path("a.dcrf").write_text(
        f"data conll(w, y)\n{label}\nclique y: w\nclique y[-1], y\nevaluate segments(y), by_type(y)\n"
    )
    Path("a.txt").write_text(lines(MARKED[scheme]))
    assert run(["train", "a.dcrf", "a.txt", "-o", "a.model", "-q"]) == 0
    capsys.readouterr()
    assert run(["tag", "a.model", "a.txt"]) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines() if line] == MARKED[scheme].split()
    model, corpus = load("a.model"), read_corpus("a.txt", load_template("a.dcrf").require().data)
    assert model.scores.tables(corpus)["y"].by_type.counts.keys() == {"X", "Y"}
    found = [(one.type, one.first, one.last) for one in model.calibration.confidences(corpus)[0].segments]
    assert found == [("X", 0, 2), ("Y", 4, 4), ("X", 5, 6)]


def test_scores_do_not_depend_on_the_letters(tmp_path: Path) -> None:
    """Gold and wrong predictions in each scheme are counted alike, illegal ones too."""
    rng = np.random.default_rng(5)
    letters = {scheme: str.maketrans(LETTERS["bioes"], LETTERS[scheme]) for scheme in LETTERS}
    off = np.array([0, 3, 7, 40])
    for _ in range(50):
        codes = rng.integers(0, 9, 40)
        found = []
        for scheme in LETTERS:
            states = [f"{mark.translate(letters[scheme])}-{kind}" for kind in TYPES for mark in "BIES"] + ["O"]
            mark, kind, names = mark_table(states)
            segments = segments_of(codes, mark, kind, off)
            found.append([(*map(int, one[:2]), names[one[2]]) for one in zip(*segments, strict=True)])
        assert found[0] == found[1] == found[2]


def test_bare_letters_are_segments_without_a_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for label in ("label y in bmes", "label y"):
        Path("a.dcrf").write_text(f"data conll(w, y)\n{label}\nclique y: w\nclique y[-1], y\nevaluate segments(y)\n")
        Path("a.txt").write_text(lines(BARE))
        assert run(["check", "a.dcrf", "--data", "a.txt", "-q"]) == 0
        assert run(["train", "a.dcrf", "a.txt", "-o", "a.model", "-q"]) == 0
        model, corpus = load("a.model"), read_corpus("a.txt", load_template("a.dcrf").require().data)
        assert set(model.states["y"]) == set("BMES")  # no `O`, which the data lacks
        assert model.scores.tables(corpus)["y"].by_type.counts.keys() == {""}
        found = [(one.type, one.first, one.last) for one in model.calibration.confidences(corpus)[0].segments]
        assert found == [("", 0, 2), ("", 3, 3), ("", 4, 4), ("", 5, 6)]
        capsys.readouterr()
        assert run(["tag", "a.model", "a.txt", "--pretty"]) == 0
        assert capsys.readouterr().out.splitlines()[1].strip() == "[a b c] [d] [e] [f g]"
    for scheme, marks in {"bilou": "B I L U U B L", "bio": "B I I B B B I", "bmes": BARE}.items():
        assert run(["convert", "a.txt", "--from", "conll(w, y)", "--scheme", f"y={scheme}", "-q"]) == 0
        assert capsys.readouterr().out.split()[1::2] == marks.split()


def test_bare_letters_with_an_outside_are_learned_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines("B M E O S B E"))
    resolved = load_text(
        "data conll(w, y)\nlabel y in bmes\nclique y: w\nclique y[-1], y\nsegment y up to 3: joined(w)\n"
    )
    data = resolved.require().data
    model = fit(resolved, read_corpus(tmp_path / "a.txt", data))
    assert model.states["y"] == ("B", "M", "E", "S", "O")
    assert model.tag({"w": list("abcdefg")}) == list("BMEOSBE")


@pytest.mark.parametrize(
    ("scheme", "marks", "remedy"),
    [
        ("bioes", MARKED["bilou"], "write `label y in bilou`"),
        ("bio", MARKED["bilou"], "write `label y in bilou`"),
        ("bioes", MARKED["bmes"], "write `label y in bmes`"),
        ("bio", MARKED["bioes"], "write `label y in bioes`"),
        ("bio", BARE, "write `label y in bmes`"),
    ],
)
def test_the_remedy_for_other_letters_is_their_scheme(scheme: str, marks: str, remedy: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines(marks))
    resolved = load_text(f"data conll(w, y)\nlabel y in {scheme}\nclique y: w\n")
    with pytest.raises(DcrfError) as caught:
        fit(resolved, read_corpus(tmp_path / "a.txt", resolved.require().data))
    assert remedy in str(caught.value.diagnostics[-1].help)


def test_letters_that_others_stands_for_name_their_scheme() -> None:
    """`others = O` reads L-X as O, which ends a segment too early: the remedy is the scheme, not `constrain = no`."""
    resolved = load_text("data conll(word, y)\nlabel y in bioes with others = O\nclique y: word\n")
    corpus = corpus_from_rows([[("a", "B-X"), ("b", "L-X"), ("c", "U-X")]], resolved.require().data)
    with pytest.raises(DcrfError, match=r"breaks `bioes`.*(\n.*)*`L-X` too.*write `label y in bilou`"):
        fit(resolved, corpus)
