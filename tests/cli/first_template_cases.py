"""Data of eight kinds, each with the template that people made for it. Not here: what is measured on them.

Corpora lie beside the repository, and a test that needs one is skipped without it; the rest is drawn from generators.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from helpers import ROOT, example_modules, shared

TEMPLATES, EXAMPLES = ROOT / "templates", ROOT / "examples"
Rows = Sequence[Sequence[str]]


class Case(NamedTuple):
    """Files or folders to train and to test on, the template made by people, and the score of both."""

    train: Path
    test: Path
    template: Path
    score: str


def sentences_of(path: Path, first: int, last: int) -> list[list[list[str]]]:
    blocks = path.read_text(encoding="utf-8").split("\n\n")[first:last]
    return [[line.split() for line in block.splitlines()] for block in blocks]


def write_lines(path: Path, sentences: Iterable[Rows], separator: str = " ") -> Path:
    blocks = ("".join(f"{separator.join(row)}\n" for row in rows) for rows in sentences)
    path.write_text("\n".join(blocks), encoding="utf-8")
    return path


def adapted(folder: Path, template: Path, *changes: tuple[str, str]) -> Path:
    """A copy of the template, in which each text stands in place of another one that is there."""
    text = template.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    copy = folder / "hand.dcrf"
    copy.write_text(text, encoding="utf-8")
    return copy


def columns(folder: Path) -> Case:
    corpus = shared("data", "conll2000", "train.txt")
    train = write_lines(folder / "train.txt", sentences_of(corpus, 0, 600))
    test = write_lines(folder / "test.txt", sentences_of(corpus, 600, 1000))
    hand = adapted(folder, TEMPLATES / "linear_chain.dcrf", ("in bio(NP) with others = O", "in bio"))
    return Case(train, test, hand, "segments(chunk).f1")


def treebank(folder: Path) -> Case:
    corpus = shared("data", "ud_english_ewt", "en_ewt-ud-train.conllu")
    blocks = corpus.read_text(encoding="utf-8").split("\n\n")
    for name, first, last in (("train", 0, 500), ("test", 500, 800)):
        (folder / f"{name}.conllu").write_text("\n\n".join(blocks[first:last]) + "\n\n", encoding="utf-8")
    return Case(folder / "train.conllu", folder / "test.conllu", TEMPLATES / "tagger.dcrf", "accuracy(upos)")


def spans(folder: Path) -> Case:
    corpus = shared("data", "conll2002", "esp.train")
    for name, first, last in (("train", 0, 800), ("test", 800, 1200)):
        records = []
        for rows in sentences_of(corpus, first, last):
            text, found = "", list[list[object]]()
            for word, _, mark in rows:
                text += " " if text else ""
                if mark.startswith("I-") and found:
                    found[-1][1] = len(text) + len(word)
                elif mark != "O":
                    found.append([len(text), len(text) + len(word), mark[2:]])
                text += word
            records.append(json.dumps({"text": text, "label": found}, ensure_ascii=False) + "\n")
        (folder / f"{name}.jsonl").write_text("".join(records), encoding="utf-8")
    hand = adapted(
        folder, TEMPLATES / "linear_chain.dcrf",
        ("data conll(word, pos, chunk)", "data spans(word = token, chunk = spans)"),
        ("in bio(NP) with others = O", "in bio"), ("    pos[-2..2]\n", ""), ("    pos[-1] & pos, pos & pos[1]\n", ""),
    )  # fmt: skip
    return Case(folder / "train.jsonl", folder / "test.jsonl", hand, "segments(chunk).f1")


def signals(folder: Path) -> Case:
    (simulate,) = example_modules(EXAMPLES / "activity", "simulate")
    simulate.simulate_into(folder, recordings=12)
    return Case(folder / "train", folder / "test", TEMPLATES / "activity.dcrf", "accuracy(activity)")


def letters(folder: Path) -> Case:
    with np.load(shared("data", "ocr_letters", "letters.npz")) as arrays:
        pixels, names, lengths = np.unpackbits(arrays["X"], axis=1), arrays["y"], arrays["lengths"]
    off, order = np.concatenate([[0], np.cumsum(lengths)]), np.random.default_rng(0).permutation(len(lengths))
    for name, chosen in (("train", order[:500]), ("test", order[500:1000])):
        words = [slice(off[n], off[n + 1]) for n in chosen.tolist()]
        rows = (
            {"pixels": pixels[one].tolist(), "letter": [chr(97 + code) for code in names[one].tolist()]}
            for one in words
        )
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    hand = adapted(
        folder, EXAMPLES / "ocr_letters" / "letters.dcrf", ("train perceptron as perceptron:\n    epochs = 30\n", "")
    )
    return Case(folder / "train.jsonl", folder / "test.jsonl", hand, "accuracy(letter)")


STREETS, KINDS = ("Mill", "High", "Church Hill", "Oxford", "St. John's", "Long"), ("Street", "Lane", "Road", "St", "")
TOWNS, NOTES = (
    ("Oxford", "Bath Spa", "York", "Long Marston", "Mill Hill"),
    ("rear door", "ring twice", "left of the church"),
)


def address(pick: random.Random) -> list[tuple[str, str]]:
    unit, code = pick.choice(("Flat", "Unit", "Floor")), pick.choice(("OX", "YO", "BA"))
    number = pick.choice((str(pick.randrange(1, 400)), f"{pick.randrange(99)}{pick.choice('ABC')}"))
    parts = [("NUMBER", number), ("STREET", f"{pick.choice(STREETS)} {pick.choice(KINDS)}"),
             ("TOWN", pick.choice(TOWNS)), ("POSTCODE", f"{code}{pick.randrange(1, 30)} 7AB")]  # fmt: skip
    if pick.random() < 0.4:
        parts.insert(pick.choice((0, 2)), ("UNIT", f"{unit} {pick.randrange(1, 30)}"))
    if pick.random() < 0.2:
        parts[1], parts[0] = parts[0], parts[1]
    for _ in range(pick.randrange(3)):
        parts.insert(pick.randrange(len(parts) + 1), ("NOTE", pick.choice(NOTES)))
    rows = []
    for kind, text in parts:
        rows += [(word, f"{'BI'[n > 0]}-{kind}") for n, word in enumerate(text.split())]
        rows += [(",", "O")] * (pick.random() < 0.4)
    return rows


def addresses(folder: Path) -> Case:
    pick = random.Random(1)
    train = write_lines(folder / "train.tsv", [[("word", "part")], *([address(pick) for _ in range(300)])], "\t")
    train.write_text(train.read_text().replace("\n\n", "\n", 1))  # the row of names belongs to the first sentence
    test = write_lines(folder / "test.tsv", [[("word", "part")], *([address(pick) for _ in range(300)])], "\t")
    test.write_text(test.read_text().replace("\n\n", "\n", 1))
    hand = adapted(folder, TEMPLATES / "address.dcrf", ("data conll(", "data tsv("))
    return Case(train, test, hand, "segments(part).f1")


DIALOGUE = """\
data csv(word, speaker, act, sentence = "dialogue")
label act
clique act: bias, word
clique act[-1], act
clique act[i], act[j] as own:
    where speaker[i] = speaker[j]
infer exact
train likelihood: prior = gaussian(variance = 10)
evaluate accuracy(act)
"""


def dialogues(folder: Path) -> Case:
    """Turns of two speakers: an act depends on the act before, and on the speaker's own last one."""
    draw = np.random.default_rng(5)
    acts, words = 6, 300
    after, own, said = (
        draw.random((acts, acts)) ** 6,
        draw.random((acts, acts)) ** 6,
        draw.integers(words, size=(acts, 12)),
    )
    for name in ("train", "test"):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["dialogue", "speaker", "word", "act"])
            for number in range(80):
                before, last = -1, dict[str, int]()
                for _ in range(int(draw.integers(8, 25))):
                    speaker = "AB"[draw.integers(2)]
                    share = np.ones(acts) if before < 0 else after[before] + 0.01
                    share = share * (own[last[speaker]] + 0.01) if speaker in last else share
                    before = last[speaker] = int(draw.choice(acts, p=share / share.sum()))
                    word = draw.choice(said[before]) if draw.random() < 0.5 else draw.integers(words)
                    rows.writerow([f"d{number}", speaker, f"w{word}", f"act{before}"])
    (folder / "hand.dcrf").write_text(DIALOGUE)
    return Case(folder / "train.csv", folder / "test.csv", folder / "hand.dcrf", "accuracy(act)")


def citations(folder: Path) -> Case:
    """References of made-up entries, in six styles, with the template, its memory and its lexicons."""
    (styles,) = example_modules(EXAMPLES / "citations", "styles")
    pick, source = random.Random(3), EXAMPLES / "citations"
    for path in (*source.glob("*.dcrf"), *source.glob("*.txt")):
        shutil.copy(path, folder)
    listed = {
        one: (source / f"{one}.txt").read_text().split("\n")[:-1]
        for one in ("journals", "publishers", "places", "families")
    }
    topics = ("tides", "trees", "fields", "chains", "ports", "rivers", "models", "labels", "words", "signs", "graphs")

    def entry() -> object:
        names = [
            styles.Name(pick.choice(("Ann Mara", "J.", "Kim", "Leo Max", "Ida")), pick.choice(listed["families"]))
            for _ in range(6)
        ]
        title = " ".join(pick.choice(topics) for _ in range(pick.randrange(2, 7))).capitalize()
        fields = {"title": title, "volume": str(pick.randrange(1, 90)), "number": str(pick.randrange(1, 12)),
                  "pages": f"{pick.randrange(1, 300)}–{pick.randrange(300, 900)}",
                  "publisher": pick.choice(listed["publishers"]), "place": pick.choice(listed["places"]),
                  "month": pick.choice(("May", "June", "March")),
                  "year": str(pick.randrange(1950, 2020)), "journal": pick.choice(listed["journals"]),
                  "book": f"Proceedings of {pick.choice(topics)} and {pick.choice(topics)}"}  # fmt: skip
        for one in ("volume", "number", "pages", "publisher", "place", "month"):
            if pick.random() < 0.3:
                del fields[one]
        people = {"authors": names[: pick.randrange(1, 4)], "editors": names[4 : pick.randrange(5, 7)]}
        return styles.Entry(pick.choice(("article", "chapter", "book")), people, fields)

    for name, number in (("train", 250), ("test", 250)):
        rendered = [styles.render(entry(), pick.choice(list(styles.STYLES.values()))) for _ in range(number)]
        write_lines(folder / f"{name}.txt", rendered)
    return Case(folder / "train.txt", folder / "test.txt", folder / "reference.dcrf", "segments(part).f1")


CASES: Mapping[str, Callable[[Path], Case]] = {
    "columns": columns, "CoNLL-U": treebank, "spans": spans, "signals": signals, "letters": letters,
    "addresses": addresses, "dialogues": dialogues, "citations": citations,
}  # fmt: skip
