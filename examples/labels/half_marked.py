"""Entities of which half are not marked: what is learned if the rest counts as O, as unknown, or by its share.

    python examples/labels/half_marked.py --train esp.train --test esp.testa --out result.json

For each seed another subset of sentences, and another half of its entities, is drawn. Each way of training sees
the same ones. Not here: the model (`half_marked.dcrf`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
from rich.table import Table
from running import add_options, chance, empty_table, exit_status, parser_of, refusals, say, timed, write

from dcrfdsl import ModelSpec, fit, load_text, read_corpus
from dcrfdsl.cli.report import print_table
from dcrfdsl.data import Corpus, InternedColumn

TEMPLATE = Path(__file__).with_name("half_marked.dcrf")
UNKNOWN = "?"
SENTENCES, SEEDS, MARKED, AROUND = 1000, 5, 0.5, 0.2
QUICK = {"sentences": 60, "seeds": 2}
WAYS: Mapping[str, str] = {
    "all": "all entities marked",
    "O": "half marked, the rest is O",
    "unknown": "half marked, the rest is not known",
    "bounds": f"… and the share of entity tokens is within {100 * AROUND:.0f} %",
    "share": "… and the share of entity tokens is known",
}


def entities(tags: Sequence[str], sentence_off: Any) -> Iterator[tuple[int, int]]:
    """First and last token (excluded) of each segment, by marks that begin with `B` or `I`."""
    begin = -1
    starts = {int(token) for token in sentence_off}
    for token, tag in enumerate([*tags, "O"]):
        if begin >= 0 and (token in starts or not tag.startswith("I")):
            yield begin, token
            begin = -1
        if tag.startswith("B"):
            begin = token


def with_tags(corpus: Corpus, label: str, tags: Sequence[str]) -> Corpus:
    """The corpus with other values of a label."""
    values = tuple(dict.fromkeys(tags))
    codes = np.array([values.index(tag) for tag in tags], np.int32)
    columns = {**corpus.columns, label: InternedColumn(codes, values)}
    return Corpus(corpus.file, corpus.sentence_off, columns, corpus.token_line)


def versions(corpus: Corpus, label: str, random: np.random.Generator) -> tuple[dict[str, Corpus], float]:
    """The corpus with all entities, with half of them and `O` or unknown labels elsewhere; their tokens' share."""
    column = corpus.text_column(label)
    tags = [column.values[code] for code in column.codes.tolist()]
    half = {rest: [rest] * len(tags) for rest in ("O", UNKNOWN)}
    for first, last in entities(tags, corpus.sentence_off):
        if random.random() < MARKED:
            for marked in half.values():
                marked[first:last] = tags[first:last]
    found = {"all": corpus, "O": with_tags(corpus, label, half["O"]), UNKNOWN: with_tags(corpus, label, half[UNKNOWN])}
    return found, float(np.mean([tag != "O" for tag in tags]))


def trainings(share: float, label: str) -> dict[str, tuple[str, str]]:
    """Of each way, the version of the data that it sees, and what it expects."""
    expect = f"expect {label} is not O with"
    least, most = share * (1.0 - AROUND), share * (1.0 + AROUND)
    return {
        "all": ("all", ""),
        "O": ("O", ""),
        "unknown": (UNKNOWN, ""),
        "bounds": (UNKNOWN, f"{expect} least = {least:.6f}, most = {most:.6f}"),
        "share": (UNKNOWN, f"{expect} share = {share:.6f}"),
    }


def template_with(statement: str) -> ModelSpec:
    return load_text(f"{TEMPLATE.read_text(encoding='utf-8')}{statement}\n").require()


def experiment(
    train: Corpus, test: Corpus, *, sentences: int, seeds: int, threads: int | None, out: Path
) -> dict[str, Any]:
    """F1, precision and recall of each way for each seed."""
    label = template_with("").labels[0].name
    result: dict[str, Any] = {"complete": False, "sentences": sentences, "runs": {way: [] for way in WAYS}}
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        subset = train.take(random.permutation(train.num_sentences)[:sentences])
        data, share = versions(subset, label, random)
        for way, (version, statement) in trainings(share, label).items():
            spec = template_with(statement)
            model, took = timed(partial(fit, spec, data[version], threads=threads))
            scores = model.evaluate(test, threads=threads)
            measured = {name: scores[f"segments({label}).{name}"] for name in ("f1", "precision", "recall")}
            result["runs"][way].append({**measured, "share": share, "seconds": took.cpu_seconds})
            say(f"seed {seed}, {way}: F1 {100 * measured['f1']:.2f} in {took.seconds:.0f} s")
        write(result, out)
    return {**result, "complete": True}


def paired_p(differences: Sequence[float]) -> float | None:
    """Two-sided p of a paired t-test; None for fewer than two pairs, or where all differ by as much."""
    from scipy.stats import ttest_1samp

    return float(ttest_1samp(differences, 0.0).pvalue) if len({*differences}) > 1 else None


def table(result: Mapping[str, Any]) -> Table:
    """Means over the seeds in percent, the standard deviation of F1, and how F1 differs from that of the rest as O."""
    shown = empty_table("training data", "F1", "±", "precision", "recall", "to O", "p", "seconds")
    naive = [run["f1"] for run in result["runs"]["O"]]
    for way, runs in result["runs"].items():
        f1 = np.array([run["f1"] for run in runs])
        differences = f1 - naive
        cells = [f"{100 * np.mean([run[name] for run in runs]):.1f}" for name in ("precision", "recall")]
        spread = f"{100 * f1.std(ddof=1):.1f}" if len(f1) > 1 else ""
        beside = ["", ""] if way == "O" else [f"{100 * differences.mean():+.1f}", chance(paired_p(differences))]
        seconds = f"{np.mean([run['seconds'] for run in runs]):.0f}"
        shown.add_row(WAYS[way], f"{100 * f1.mean():.1f}", spread, *cells, *beside, seconds)
    return shown


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    for name in ("train", "test"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE", help="lines `word pos ner`, in IOB2")
    parser.add_argument(
        "--sentences", type=int, default=SENTENCES, metavar="N", help="of a subset (default: %(default)s)"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="subsets (default: %(default)s)")
    add_options(parser, quick=f"{QUICK['sentences']} sentences, {QUICK['seeds']} seeds")
    options = parser.parse_args(argv)
    if options.quick:
        vars(options).update(QUICK)
    with refusals():
        data = template_with("").data
        assert data is not None
        train, test = (read_corpus(path, data) for path in (options.train, options.test))
        result = experiment(
            train, test, sentences=options.sentences, seeds=options.seeds, threads=options.threads, out=options.out
        )
    write(result, options.out)
    say(f"{result['sentences']:,} sentences a seed; test: {test.num_sentences:,} sentences")
    print_table(table(result))
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
