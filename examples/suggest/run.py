"""What to label next: how many labels each rule of `suggest` needs for 95 % of the F1 that the whole pool gives.

    python examples/suggest/run.py --train esp.train --test esp.testa --out result.json

For each seed a pool is drawn, and the sentences that are labelled first. Then a model is trained, chooses the next
sentences, is trained on these too, and so on. Not here: the model (`entities.dcrf`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
from rich.table import Table
from running import add_options, empty_table, exit_status, parser_of, refusals, say, write

from dcrfdsl import fit, load_template, read_corpus
from dcrfdsl.cli.report import print_table
from dcrfdsl.data import Corpus
from dcrfdsl.foundation import Ints
from dcrfdsl.model import TrainedModel

SPEC = load_template(Path(__file__).with_name("entities.dcrf")).require()
POOL, STEP, SEEDS, GOAL = 2000, 100, 5, 0.95
QUICK = {"pool": 120, "step": 40, "seeds": 2}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "at random": {},
    "entropy": {"by": "entropy"},
    "confidence": {"by": "confidence"},
    "margin": {"by": "margin"},
    "entropy, alike or not": {"by": "entropy", "diversity": 0.0},
}


def f1(model: TrainedModel, test: Corpus, threads: int | None) -> float:
    """In per cent."""
    return 100.0 * model.evaluate(test, threads=threads)["segments(ner).f1"]


def labelled(pool: Corpus, order: Ints, way: str, test: Corpus, goal: float, step: int, threads: int | None) -> Ints:
    """The sentences that have labels once a model trained on them reaches the goal.   order: a random one."""
    known = order[:step]
    while True:
        model = fit(SPEC, pool.take(known), threads=threads)
        rest = np.setdiff1d(order, known) if WAYS[way] else order[len(known) :]
        if not len(rest) or f1(model, test, threads) >= goal:
            return known
        chosen = rest[:step]
        if WAYS[way]:
            found = model.suggest(pool.take(rest), step, threads=threads, **WAYS[way])
            chosen = rest[[one.sentence for one in found]]
        known = np.concatenate([known, chosen])


def experiment(
    train: Corpus, test: Corpus, *, pool: int, step: int, seeds: int, threads: int | None, out: Path
) -> dict[str, Any]:
    """How many sentences and tokens each way needs, for each seed."""
    result: dict[str, Any] = {"complete": False, "pool": pool, "full": [], "runs": {way: [] for way in WAYS}}
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        sentences = train.take(np.sort(random.permutation(train.num_sentences)[:pool]))
        order, lengths = random.permutation(sentences.num_sentences), sentences.lengths()
        full = f1(fit(SPEC, sentences, threads=threads), test, threads)
        result["full"].append({"f1": full, "tokens": sentences.num_tokens})
        for way in WAYS:
            known = labelled(sentences, order, way, test, GOAL * full, step, threads)
            result["runs"][way].append({"sentences": len(known), "tokens": int(lengths[known].sum())})
            needed = f"{len(known):,} sentences, {lengths[known].sum():,} tokens"
            say(f"seed {seed}, {way}: {needed} for F1 {GOAL * full:.2f}")
        write(result, out)
    return {**result, "complete": True}


def table(result: Mapping[str, Any]) -> Table:
    """Means over the seeds with their standard deviations, and tokens beside those of the random choice."""
    shown = empty_table("chosen by", "sentences", "±", "tokens", "±", "of random")
    random = np.mean([run["tokens"] for run in result["runs"]["at random"]])
    for way, runs in result["runs"].items():
        cells = []
        for unit in ("sentences", "tokens"):
            needed = [run[unit] for run in runs]
            cells += [f"{np.mean(needed):,.0f}", f"{np.std(needed, ddof=1):,.0f}" if len(needed) > 1 else ""]
        shown.add_row(way, *cells, f"{100 * np.mean([run['tokens'] for run in runs]) / random:.0f} %")
    return shown


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    for name in ("train", "test"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE", help="lines `word pos ner`, in IOB2")
    for name, default, meaning in (("pool", POOL, "sentences of a pool"), ("step", STEP, "labelled at a time")):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{meaning} (default: {default})")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="pools (default: %(default)s)")
    add_options(parser, quick=", ".join(f"{value} for --{name}" for name, value in QUICK.items()))
    options = parser.parse_args(argv)
    if options.quick:
        vars(options).update(QUICK)
    with refusals():
        assert SPEC.data is not None
        train, test = (read_corpus(path, SPEC.data) for path in (options.train, options.test))
        result = experiment(
            train, test, pool=options.pool, step=options.step, seeds=options.seeds, threads=options.threads,
            out=options.out,
        )  # fmt: skip
    write(result, options.out)
    full = np.mean([one["f1"] for one in result["full"]]), np.mean([one["tokens"] for one in result["full"]])
    say(f"{result['pool']:,} sentences, {full[1]:,.0f} tokens: F1 {full[0]:.1f}; {100 * GOAL:.0f} % of it take")
    print_table(table(result))
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
