"""`dcrfdsl new --for`: what is seen in data of many shapes, what is refused, and how good the template is."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from first_template_cases import CASES

from dcrfdsl.cli import run

WORDS = "Ann {}\nsaw {}\nBonn {}\n\nBob {}\nCy {}\nran {}\n\n"
PHRASES = "Ann NNP B-NP {}\nsaw VBD B-VP O\nit PRP B-NP O\n\nBob NNP B-NP {}\nran VBD B-VP O\n\n"
TREEBANK = "# text = it runs\n1\tit\t_\tPRON\tPRP\t_\t2\tsubj\t_\t_\n2\truns\t_\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n"


def rows(head: str, count: int, row: str, separator: str = ",") -> str:
    """A table: in the row `{n}` counts from 0, `{s}` counts fives, `{x}` is a number and `{y}` a or b."""
    made = (row.format(n=n, s=n // 5, x=n * 7 % 31, y="ab"[n * n % 3 % 2]) for n in range(count))
    return "\n".join([head, *made, ""])


# name of the file, text, and lines that the template has
SEEN: Sequence[tuple[str, str, Sequence[str]]] = (
    ("bio.txt", 4 * WORDS.format("B-PER", "O", "B-LOC", "B-PER", "B-PER", "O"), ["label tag in bio"]),
    ("iob1.txt", 4 * WORDS.format("I-PER", "O", "I-LOC", "I-PER", "B-PER", "O"), ["label tag in iob1"]),
    ("bioes.txt", 4 * WORDS.format("S-PER", "O", "S-LOC", "B-PER", "E-PER", "O"), ["label tag in bioes"]),
    ("broken.txt", 4 * WORDS.format("O", "O", "I-LOC", "I-PER", "B-LOC", "O"),
     ["label tag in bio with constrain = no"]),
    ("plain.txt", 4 * WORDS.format("N", "V", "N", "N", "N", "V"), ["label tag", "evaluate accuracy(tag)"]),
    ("gap.txt", 4 * WORDS.format("B-A", "O", "_", "B-A", "B-A", "O"), ['label tag in bio with missing = "_"']),
    ("tabs.txt", (4 * WORDS.format("B-A", "O", "O", "B-A", "O", "O")).replace(" ", "\t"),
     ['data conll(word, tag, separator = "\\t")']),
    ("layers.txt", 4 * PHRASES.format("B-PER", "B-LOC"),
     ["data conll(word, column2, column3, tag)", "clique column3, tag",
      "evaluate segments(column3), segments(tag), joint_accuracy"]),
    ("intent.txt", 4 * "fly O book\nto O _\nlima B-TO _\n\nrain O ask\nin O _\nlima B-TO _\n\n",
     ['label tag for sentence with missing = "_"', "clique column2[-1], column2"]),
    ("tree.conllu", 4 * TREEBANK, ["data conllu(word = form, upos)", "label upos"]),
    ("tree.txt", 4 * TREEBANK, ["data conllu(word = form, upos)"]),
    ("texts.json", json.dumps([{"text": "12 Mill Lane", "label": [[0, 12, "STREET"]]}] * 4, indent=1),
     ["data spans(word = token, tag = spans)", "label tag in bio"]),
    ("lists.jsonl", 4 * '{"token": ["a", "b"], "size": [1.5, 2], "ner": ["B-X", "O"]}\n',
     ["data jsonl(word = token, size: float, ner)", "label ner in bio"]),
    ("sequences.fa", 4 * ">p\nMKVLAAIL\niiMMMMoo\n", ["data fasta(residue, tag)"]),
    ("sensor.csv", rows("time,ax,odd name,activity", 200, "{n},{x}.5,{x},{y}"),
     ["data csv(ax: float, activity)", "train likelihood: prior = gaussian(variance = 0.1) # strong, since windows "
      "overlap and tell the same several times"]),
    ("gaps.csv", rows("temp,state", 60, "{x}.5,{y}").replace("\n7.5", "\nNA"),
     ['data csv(temp: float, state, missing = "NA")']),
    ("south.csv", rows("id;temp;y", 60, "{s};{x},5;{y}", ";"),
     ['data csv(temp: float, y, separator = ";", sentence = "id", decimal = ",")']),
    ("talk.csv", rows("talk,speaker,text,act", 60, "t{s},{y},hello {x},{y}"),
     ['data csv(speaker, text, act, sentence = "talk")', "    where speaker[i] = speaker[j]"]),
    ("label_first.csv", "label,first\n" + 4 * "B-X,the\nO,dog\n\nO,a\n\n",
     ['data csv(label, first_2 = column("first"))', "label label in bio",
      "    lower(first_2) # first_2: the word itself"]),
    ("states.csv", "word,tag\n" + 4 * "the,D\ndog,_\n\na,N\n\n", ["label tag"]),
    ("documents.csv", "doc,word,tag\n" + "".join(f"d{n // 3},Ann,B-X\nd{n // 3},saw,O\n\n" for n in range(9)),
     ["data csv(word, tag)"]),
)  # fmt: skip


@pytest.mark.parametrize(("name", "text", "lines"), SEEN, ids=[name for name, _, _ in SEEN])
def test_what_is_seen_in_data(
    name: str, text: str, lines: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    assert run(["new", "--for", name, "-o", "first.dcrf"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("clique ") and told.err.endswith(
        f"next:\n  dcrfdsl train first.dcrf {name} -o first.model\n"
    )
    written = Path("first.dcrf").read_text()
    assert [line for line in lines if line not in written.splitlines()] == [], written
    assert run(["fmt", "--check", "first.dcrf"]) == 0


def test_what_people_say_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.txt").write_text(4 * PHRASES.format("B-PER", "B-LOC"))
    assert run(["new", "--for", "data.txt", "--from", "conll(word, pos, chunk, ner)", "--labels", "pos,ner", "-q"]) == 0
    shown = capsys.readouterr().out
    assert "\nlabel pos\n" in shown and "\nlabel ner in bio\n" in shown and "    chunk # chunk: its kind\n" in shown
    assert "#   time     " in shown


def test_three_are_tried_and_the_best_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A label that tells whether the word before is a vowel: the plain template does not see that word."""
    monkeypatch.chdir(tmp_path)
    chance, text = random.Random(1), ""
    for _ in range(60):
        words = [chance.choice(("ba", "eb", "ci", "ud", "fo", "ag")) for _ in range(6)]
        text += "".join(f"{word} {'AB'[before[0] in 'aeiou']}\n" for before, word in pairwise(["x", *words])) + "\n"
    Path("data.txt").write_text(text)
    assert run(["new", "--for", "data.txt", "--try", "-o", "first.dcrf"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines[:4]] == ["variant", "plain", "features", "second order"]
    (best,) = (line for line in lines if line.startswith("by 3 folds of 60 sentences, 360 tokens: `"))
    scores = {line.split("  ")[0]: float(line.split("±")[0].split()[-1]) for line in lines[1:4]}
    chosen = best.split("`")[1]
    assert scores[chosen] == max(scores.values()) > scores["plain"]
    assert ("tag[-2], tag[-1], tag" in Path("first.dcrf").read_text()) == (chosen == "second order")


@pytest.mark.parametrize(
    ("name", "text", "more", "message"),
    [
        ("a.txt", "", [], "error[empty-file]: `a.txt` has no token\n"),
        ("a.csv", "word,tag\n", [], "error[empty-file]: `a.csv` has no token\n"),
        ("a.txt", "a\nb\n", [], "error[bad-columns]: `a.txt` has 1 column, and a label and a feature need two\n"),
        ("a.txt", "a B\nb O x\n", [],
         "error[column-count]: line 2 has 3 columns, expected 2 (`word tag`)\n  --> a.txt:2\n"),
        ("a.csv", rows("a,b", 99, "{x}.5,{x}"), [], "error[no-label]: no column looks like labels\n  --> a.csv\n"
         "  = help: name it: --labels NAME; the columns are `a` (texts: 31, as `0.5`), `b` (texts: 31, as `0`)\n"),
        ("a.txt", "".join(f"w t{n}\n\n" for n in range(1001)), ["--labels", "tag"],
         "error[no-label]: `tag` cannot be a label, which is a column with 2 to 1,000 kinds of texts\n"),
        ("a.txt", WORDS, ["--labels", "tga"], "  = help: did you mean `tag`?\n"),
        ("a.txt", WORDS, ["linear_chain"],
         "error[idle-option]: `--for` makes a template, and `linear_chain` is a ready one\n"),
        ("a.txt", WORDS, ["-o", "a.txt"], "error[file-exists]: `a.txt` exists already\n"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(
    name: str, text: str, more: Sequence[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text.replace("{}", "N", 2).replace("{}", "V"))
    assert run(["new", "--for", name, *more]) == 1
    told = capsys.readouterr()
    assert message in told.err and told.out == ""


def test_options_without_data_and_data_through_a_pipe_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "--labels", "tag"]) == 1 and run(["new", "--try"]) == 1 and run(["new", "--for", "-"]) == 1
    told = capsys.readouterr().err
    assert "`--labels` is of no use without `--for DATA`" in told and "`--try` is of no" in told and "a pipe" in told


def test_of_large_data_the_beginning_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dcrfdsl.convert.data_templates.SAMPLE", 60)
    Path("data.txt").write_text(40 * WORDS.format("B-PER", "O", "B-LOC", "B-PER", "B-PER", "O") + "w B-LATE\n")
    assert run(["new", "--for", "data.txt", "-q"]) == 0
    assert "from a look at its beginning (sentences: " in capsys.readouterr().out


def scored(
    folder: Path, template: Path | str, train: Path, test: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, float]:
    model = str(folder / "trial.model")
    assert run(["train", str(template), str(train), "-o", model, "-q", "--threads", "1"]) == 0
    assert run(["eval", model, str(test), "--json"]) == 0
    scores: dict[str, float] = json.loads(capsys.readouterr().out)
    Path(model).unlink()
    return scores


@pytest.mark.long
@pytest.mark.parametrize("kind", CASES)
def test_the_template_is_about_as_good_as_one_made_by_people(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `-s` each line of the table is shown: kind, its score and that of people in percent, seconds."""
    case, begun = CASES[kind](tmp_path), time.perf_counter()
    first = str(tmp_path / "first.dcrf")
    assert run(["new", "--for", str(case.train), "-o", first, "-q"]) == 0
    ours = scored(tmp_path, first, case.train, case.test, capsys)
    people = scored(tmp_path, case.template, case.train, case.test, capsys)[case.score]
    measure, _, part = case.score.partition("(")
    like = next(
        name for name in ours if name.startswith(f"{measure}(") and name.partition(".")[2] == part.partition(".")[2]
    )
    with capsys.disabled():
        print(f"\n{kind:<10} {100 * ours[like]:6.2f} {100 * people:6.2f} {time.perf_counter() - begun:5.0f} s", end="")
    assert ours[like] > people - 0.02
