"""Trains on labels as they come: of two sources that mark different types, and soft ones of a weaker model.

    python examples/labels/run.py --train esp.train --test esp.testa --out result.json

Every seed draws its own sentences. All ways to train see the same words, and are scored on the same test sentences.
Not here: the templates, which lie beside this file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
from running import add_options, chance, empty_table, exit_status, parser_of, refusals, say, timed, write
from scipy.stats import ttest_rel

from dcrfdsl import corpus_from_rows, fit, load_template
from dcrfdsl.cli.report import print_table
from dcrfdsl.model import TrainedModel

FOLDER = Path(__file__).parent
SENTENCES, SEEDS, GOLD = 1000, 5, 0.05  # of training; of the sentences of which are gold beside soft ones
QUICK = {"sentences": 60, "seeds": 2}
TYPES = {"one": ("LOC", "PER"), "two": ("ORG", "MISC")}
STATES = (*(f"{mark}-{kind}" for kind in ("LOC", "PER", "ORG", "MISC") for mark in "BI"), "O")
Sentence = Sequence[tuple[str, str]]  # words with their labels
Scores = dict[str, float]


def read(path: Path) -> list[Sentence]:
    """The sentences of a file whose lines begin with a word and end with its label."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    rows = [[line.split() for line in block.splitlines() if line.strip()] for block in blocks]
    return [[(row[0], row[-1]) for row in sentence] for sentence in rows if sentence]


def trained(name: str, rows: Sequence[Sequence[Sequence[Any]]]) -> TrainedModel:
    """The model of a template on rows of cells."""
    template = load_template(FOLDER / f"{name}.dcrf")
    return fit(template, corpus_from_rows(rows, template.require().data))


def score(model: TrainedModel, test: Sequence[Sentence], cells: Callable[[str, str], Sequence[Any]]) -> float:
    """F1 of segments in per cent.   cells: those of a word with its label, as the template has them."""
    rows = [[cells(word, label) for word, label in sentence] for sentence in test]
    found = model.evaluate(corpus_from_rows(rows, model.spec.data))
    return 100.0 * found["segments(ner).f1"]


def two_sources(train: Sequence[Sentence], test: Sequence[Sentence]) -> Scores:
    """Half of the sentences mark LOC and PER, half ORG and MISC."""

    def cells(word: str, label: str) -> Sequence[Any]:
        return word, "gold", label

    gold = [[cells(*token) for token in sentence] for sentence in train]
    partly = []
    for n, sentence in enumerate(train):
        source = ("one", "two")[n % 2]
        partly.append([(word, source, label if label[2:] in TYPES[source] else "O") for word, label in sentence])
    return {
        "each `O` at its word": score(trained("plain", partly), test, cells),
        "`source` and `covers`": score(trained("sources", partly), test, cells),
        "all types marked": score(trained("plain", gold), test, cells),
    }


def soft_labels(train: Sequence[Sentence], other: Sequence[Sentence], test: Sequence[Sentence]) -> Scores:
    """A few gold sentences, and what a model that saw `other` sentences and few features says of the rest."""
    weak = trained("weak", other)
    few = max(1, round(GOLD * len(train)))
    rest = corpus_from_rows([[(word, "O") for word, _ in sentence] for sentence in train[few:]], weak.spec.data)
    probabilities, _ = weak.marginals(rest)
    tables = np.split(probabilities["ner"], rest.sentence_off[1:-1])
    nothing = [1.0 / len(STATES)] * len(STATES)  # the label is known there

    def cells(word: str, label: str) -> Sequence[Any]:
        return word, nothing, label

    gold = [[cells(*token) for token in sentence] for sentence in train[:few]]
    soft = [
        [(word, table[t].tolist(), "_") for t, (word, _) in enumerate(sentence)]
        for sentence, table in zip(train[few:], tables, strict=True)
    ]
    best = weak.predict(rest).texts("ner")
    ends = rest.sentence_off.tolist()
    hard = [
        [cells(word, label) for (word, _), label in zip(sentence, best[first:last], strict=True)]
        for sentence, first, last in zip(train[few:], ends, ends[1:], strict=False)
    ]
    return {
        "the weaker model": score(weak, test, lambda word, label: (word, label)),
        "gold alone": score(trained("student", gold), test, cells),
        "gold and hard labels": score(trained("student", gold + hard), test, cells),
        "gold and soft labels": score(trained("student", gold + soft), test, cells),
        "all gold": score(trained("student", [[cells(*token) for token in one] for one in train]), test, cells),
    }


COMPARED = {"sources": "each `O` at its word", "soft": "gold and hard labels"}  # what the others are compared with


def tell(title: str, runs: Sequence[Scores], beside: str) -> dict[str, Any]:
    """Prints means and deviations, and the p of paired t-tests against one way."""
    table, result = empty_table(title, "F1", "±", "p"), {}
    for way in runs[0]:
        values, others = [run[way] for run in runs], [run[beside] for run in runs]
        p = float(ttest_rel(values, others).pvalue) if way != beside and len(runs) > 1 else None
        mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1)) if len(runs) > 1 else 0.0
        table.add_row(way, f"{mean:.2f}", f"{deviation:.2f}", chance(p))
        result[way] = {"f1": values, "mean": mean, "sd": deviation, "p": p}
    print_table(table)
    say("")
    return result


def run(train: Sequence[Sentence], test: Sequence[Sentence], sentences: int, seeds: int) -> Mapping[str, Any]:
    """The scores of all seeds."""
    found: dict[str, list[Scores]] = {"sources": [], "soft": []}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(train)).tolist()
        drawn = [train[n] for n in order[: 2 * sentences]]
        own, other = drawn[:sentences], drawn[sentences:]
        sources, first = timed(partial(two_sources, own, test))
        soft, second = timed(partial(soft_labels, own, other, test))
        found["sources"].append(sources)
        found["soft"].append(soft)
        say(f"seed {seed}: {first.seconds + second.seconds:.0f} s")
    titles = {"sources": "two sources", "soft": f"{GOLD:.0%} gold"}
    tables = {name: tell(titles[name], runs, COMPARED[name]) for name, runs in found.items()}
    return {"complete": True, "sentences": sentences, "test": len(test), "tables": tables}


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--train", type=Path, required=True, help="lines with a word first and its IOB2 label last")
    parser.add_argument("--test", type=Path, required=True, help="the same")
    parser.add_argument("--sentences", type=int, help=f"of each training; default: {SENTENCES:,}")
    parser.add_argument("--seeds", type=int, help=f"default: {SEEDS}")
    add_options(parser, quick="60 sentences and two seeds")
    arguments = parser.parse_args()
    with refusals():
        sizes = QUICK if arguments.quick else {"sentences": SENTENCES, "seeds": SEEDS}
        given = {name: getattr(arguments, name) for name in sizes if getattr(arguments, name) is not None}
        result = run(read(arguments.train), read(arguments.test), **{**sizes, **given})
    write(dict(result), arguments.out)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
