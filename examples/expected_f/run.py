"""F1 of segments by ways to decode one model: the best labelling, the likeliest labels, the highest expected F-score.

    python examples/expected_f/run.py --train train.txt --test test.txt --out result.json

The first sentences are for training; the next ones measure the F that `overall` takes. Not here: the model
(`segments.dcrf`), decoding (`dcrfdsl explain decode fscore`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
from rich.table import Table
from running import add_options, chance, empty_table, exit_status, parser_of, refusals, say, timed, write

from dcrfdsl import TrainedModel, fit, load_template, read_corpus
from dcrfdsl.cli.report import print_table
from dcrfdsl.data import Corpus
from dcrfdsl.metrics import SentenceCounts, bootstrap_interval, randomisation_test, sentence_counts

TEMPLATE = Path(__file__).with_name("segments.dcrf")
SENTENCES, HELD_OUT = 2000, 500
QUICK = {"sentences": 60, "held_out": 20}


def counts_of(model: TrainedModel, corpus: Corpus, rule: str, threads: int | None) -> SentenceCounts:
    """Right, predicted and gold segments of each sentence."""
    prediction = model.predict(corpus, decode=rule, threads=threads)
    return next(
        one
        for one in sentence_counts(model.scores.judged(corpus, prediction), ["segment"])
        if one.name == "segments(segment)"
    )


def experiment(
    train: Corpus, test: Corpus, *, sentences: int, held_out: int, threads: int | None, out: Path
) -> dict[str, Any]:
    """Scores of each rule on the test sentences, their intervals, and p of the difference from `joint`."""
    model = fit(load_template(TEMPLATE), train.take(np.arange(sentences)), threads=threads)
    rest = train.take(np.arange(sentences, min(sentences + held_out, train.num_sentences)))
    reached = round(counts_of(model, rest, "joint", threads).value, 2)
    rules = ("joint", "marginal", "fscore(segment)", f"fscore(segment, overall = {reached})")
    result: dict[str, Any] = {"complete": False, "sentences": sentences, "rules": {}}
    first: SentenceCounts | None = None
    for rule in rules:
        counts, took = timed(partial(counts_of, model, test, rule, threads))
        right, predicted, gold = counts.counts.sum(axis=0).tolist()
        p = None if first is None else randomisation_test(first.counts, counts.counts, counts.score)
        first = first or counts
        result["rules"][rule] = {
            "f1": counts.value, "precision": right / max(predicted, 1), "recall": right / max(gold, 1),
            "interval": list(bootstrap_interval(counts.counts, counts.score)), "p": p, "seconds": took.cpu_seconds,
        }  # fmt: skip
        say(f"{rule}: F1 {100 * counts.value:.2f} in {took.cpu_seconds:.1f} s of processors")
        write(result, out)
    return {**result, "complete": True}


def table(result: Mapping[str, Any]) -> Table:
    """All in percent, seconds of processors; p of a paired randomisation test of F1 against that of `joint`."""
    shown = empty_table("decode", "F1", "95 %", "precision", "recall", "p", "seconds")
    for rule, one in result["rules"].items():
        low, high = one["interval"]
        scores = (f"{100 * one[name]:.2f}" for name in ("precision", "recall"))
        interval, p = f"{100 * low:.2f} to {100 * high:.2f}", "" if one["p"] is None else chance(one["p"])
        shown.add_row(rule, f"{100 * one['f1']:.2f}", interval, *scores, p, f"{one['seconds']:.0f}")
    return shown


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    for name in ("train", "test"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE", help="lines `word pos label`, IOB2")
    for name, default in (("sentences", SENTENCES), ("held-out", HELD_OUT)):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help="default: %(default)s")
    add_options(parser, quick=f"{QUICK['sentences']} sentences, {QUICK['held_out']} held out")
    options = parser.parse_args(argv)
    if options.quick:
        vars(options).update(QUICK)
    with refusals():
        data = load_template(TEMPLATE).require().data
        assert data is not None
        train, test = (read_corpus(path, data) for path in (options.train, options.test))
        result = experiment(
            train, test, sentences=options.sentences, held_out=options.held_out, threads=options.threads,
            out=options.out,
        )  # fmt: skip
    write(result, options.out)
    print_table(table(result))
    return exit_status(result)


if __name__ == "__main__":
    sys.exit(main())
