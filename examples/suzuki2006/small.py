"""MAP beside MCE-F from MAP on little data: random samples of the training sentences, in the place of all of them.

    python small.py --chunk CONLL2000 --out small.json

Where training data is short, MAP leaves errors on it, and a criterion that counts them has something to mend. Each
sample is trained on as in `run.py`: C by the last third of it, then everything on the whole sample. All are tested on
the same test set. Not here: a training (`experiment`), the tables of the paper (`run`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
from experiment import METHODS, Experiment, Job
from rich.table import Table
from run import TITLES, chosen
from running import Log, add_options, chance, empty_table, exit_status, parser_of, refusals, say, sentences_of, write
from scipy import stats
from tables import NAMES

from dcrfdsl.cli.report import print_table

COMPARED = ("map", "mce_f_map")
MEASURES = {"f1": "F1", "sentence": "sentences"}
SAMPLES, SENTENCES = 5, 600
QUICK_SAMPLES, QUICK_SENTENCES = 2, 90


class Difference(NamedTuple):
    """What the second method has more than the first, in percent: mean and sample deviation; p of a paired t-test."""

    mean: float
    deviation: float
    p: float | None


def sample(lab: Experiment, sentences: int, seed: int) -> Experiment:
    """The experiment with so many random sentences to train on, in the order of the corpus."""
    generator = np.random.default_rng([seed, sentences])
    numbers = np.sort(generator.choice(lab.train.num_sentences, sentences, replace=False))
    return replace(lab, train=sentences_of(lab.train, numbers), held_out=sentences // 3)


def train_sample(lab: Experiment, log: Log[Job]) -> list[dict[str, Any]]:
    """The records of `COMPARED` on the test set, each with the C that is best on the held-out sentences."""
    records: list[dict[str, Any]] = []
    for name in COMPARED:
        map_n = records[0]["n"] if METHODS[name].starts == "map" else None
        tried = [log.record(lab, Job(lab.task, name, n, map_n, "", "dev")) for n in METHODS[name].tried]
        records.append(log.record(lab, Job(lab.task, name, chosen(tried), map_n, "", "test")))
    return records


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Of scores of the same samples, shares of 1."""
    gains = 100 * (np.array(second) - np.array(first))
    if np.ptp(gains) < 1e-9:  # one sample, or the same gain in all
        return Difference(float(gains.mean()), 0.0, None)
    return Difference(float(gains.mean()), float(gains.std(ddof=1)), float(stats.ttest_rel(second, first).pvalue))


def _table(pairs: Sequence[Sequence[dict[str, Any]]]) -> Table:
    """A row a sample, then the means."""
    table = empty_table(
        "sample", *(f"{NAMES[name]}: {what}" for what in ("n", *MEASURES.values()) for name in COMPARED)
    )
    scores = {measure: [[own["scores"][measure] for own in pair] for pair in pairs] for measure in MEASURES}
    for number, pair in enumerate(pairs, 1):
        cells = [f"{100 * share:.2f}" for measure in MEASURES for share in scores[measure][number - 1]]
        table.add_row(str(number), *(str(own["n"]) for own in pair), *cells)
    means = [f"{mean:.2f}" for measure in MEASURES for mean in 100 * np.mean(scores[measure], axis=0)]
    table.add_row("mean", "", "", *means)
    return table


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--chunk", type=Path, metavar="DIR", help="CoNLL-2000: train.txt, test.txt")
    parser.add_argument("--ner", type=Path, metavar="DIR", help="CoNLL-2002 Spanish: esp.train, esp.testa")
    parser.add_argument(
        "--sentences", type=int, default=SENTENCES, metavar="N", help=f"of a sample; default {SENTENCES}"
    )
    parser.add_argument("--samples", type=int, default=SAMPLES, metavar="N", help=f"default {SAMPLES}")
    add_options(parser, quick=f"{QUICK_SAMPLES} samples of {QUICK_SENTENCES} sentences", beside="FILE.jsonl")
    options = parser.parse_args(argv)
    folders = {task: folder for task in TITLES if (folder := getattr(options, task)) is not None}
    if not folders:
        parser.error("give --chunk, --ner or both")
    samples, sentences = (QUICK_SAMPLES, QUICK_SENTENCES) if options.quick else (options.samples, options.sentences)
    result: dict[str, Any] = {"complete": True, "sentences": sentences, "tasks": {}}
    log = Log(options.out.with_suffix(".jsonl"), Job)
    with refusals():
        for task, folder in folders.items():
            lab = Experiment.of(task, folder, threads=options.threads)
            if not 3 <= sentences <= lab.train.num_sentences:
                parser.error(f"--sentences takes 3 to {lab.train.num_sentences:,}, the sentences of {TITLES[task]}")
            try:
                pairs = [train_sample(sample(lab, sentences, seed), log) for seed in range(samples)]
            except KeyboardInterrupt:
                result["complete"] = False
                log.say_stopped()
                break
            say(f"\n{TITLES[task]}: {samples} random samples of {sentences:,} training sentences\n")
            print_table(_table(pairs))
            say(f"\n{NAMES[COMPARED[1]]}, less {NAMES[COMPARED[0]]}: mean and deviation, p of a paired t-test")
            gains = {}
            for measure in MEASURES:
                found = difference(*([pair[side]["scores"][measure] for pair in pairs] for side in range(2)))
                gains[measure] = found._asdict()
                p = f", p {chance(found.p)}" if found.p is not None else ""
                say(f"{MEASURES[measure]}: {found.mean:+.2f} ± {found.deviation:.2f}{p}")
            result["tasks"][task] = {"records": pairs, "differences": gains}
    write(result, options.out)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
