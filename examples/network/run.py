"""Trains one network three times, with a softmax, with pytorch-crf and with a template on top of it.

    python examples/network/run.py --train train.txt --test test.txt --out result.json

The weights that the network starts with, the batches and what dropout drops are the same for all heads; they take
their steps in turn. Not here: the network (`net`), the heads (`heads`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
import torch
from heads import HEADS, TEMPLATE
from net import LABELS, Batch, Net, Sentence, batch_of, read
from rich.table import Table
from running import add_options, empty_table, exit_status, parser_of, refusals, say, timed, write
from torch import Tensor

from dcrfdsl.cli.report import print_table
from dcrfdsl.foundation import Floats
from dcrfdsl.metrics import compared_segments, reliability_of
from dcrfdsl.semantics import legal_moves, violations
from dcrfdsl.torch import Layer

EPOCHS, SEEDS, BATCH = 6, 1, 16
NET_RATE, MOVES_RATE = 0.005, 0.05
QUICK = {"sentences": 100, "epochs": 2, "seeds": 1}
States = Mapping[str, Sequence[str]]
MEASURES: Mapping[str, str] = {
    "legal": "legal",
    "f1": "chunks, F1",
    "pos": "parts of speech",
    "both": "both right",
    "error": "ECE",
}


class Trainee:
    """A head, and its own copy of the network, with Adam for both."""

    def __init__(self, head: str, sentences: Sequence[Sentence], states: States, seed: int):
        torch.manual_seed(seed)
        self.net = Net(sentences, {label: len(states[label]) for label in LABELS})  # before the head: the same weights
        self.head = HEADS[head](states)
        groups = [{"params": list(self.net.parameters()), "lr": NET_RATE}]
        if own := list(self.head.parameters()):
            groups.append({"params": own, "lr": MOVES_RATE})
        self.optimizer = torch.optim.Adam(groups)

    def step(self, batch: Batch, seed: int) -> None:
        torch.manual_seed(seed)  # of dropout
        self.optimizer.zero_grad()
        self.head.loss(self.net(batch), batch).backward()
        self.optimizer.step()


def train(trainees: Sequence[Trainee], sentences: Sequence[Sentence], states: States, epochs: int, seed: int) -> Floats:
    """Trains all side by side, batch by batch. Returns the processor's seconds of each step, [steps, heads]."""
    random, seconds = np.random.default_rng(seed), []
    for one in trainees:
        one.net.train()
    for _ in range(epochs):
        shuffled = random.permutation(len(sentences))
        for first in range(0, len(sentences), BATCH):
            batch = batch_of([sentences[number] for number in shuffled[first : first + BATCH]], states)
            of_step = int(random.integers(2**31))
            took = [timed(partial(one.step, batch, of_step))[1] for one in trainees]
            seconds.append([one.cpu_seconds for one in took])
    return np.array(seconds)


@torch.no_grad()
def measure(trained: Trainee, sentences: Sequence[Sentence], states: States) -> dict[str, float]:
    """Sentences whose chunks are a legal labelling, F1 of chunks, parts of speech and tokens with both labels that are
    right, and the expected calibration error of the probability of a token's chunk, in 10 bins; all from 0 to 1.
    """
    trained.net.eval()
    found: dict[str, list[Tensor]] = {name: [] for name in (*LABELS, "gold_pos", "gold_chunk", "probability")}
    for first in range(0, len(sentences), BATCH):
        batch = batch_of(sentences[first : first + BATCH], states)
        codes, probability = trained.head.decode(trained.net(batch), batch)
        found["probability"].append(probability[batch.kept])
        for label in LABELS:
            found[label].append(codes[label][batch.kept])
            found[f"gold_{label}"].append(batch.tags[label][batch.kept])
    flat = {name: torch.cat(parts).numpy() for name, parts in found.items()}
    right = {label: flat[label] == flat[f"gold_{label}"] for label in LABELS}
    off = np.concatenate([[0], np.cumsum([len(one.words) for one in sentences])])
    broken = violations(legal_moves("bio", states["chunk"]), flat["chunk"], off)
    illegal = np.unique(np.searchsorted(off, broken, side="right"))
    return {
        "legal": 1.0 - len(illegal) / len(sentences),
        "f1": compared_segments(flat["gold_chunk"], flat["chunk"], states["chunk"], off).counts.f1,
        "pos": float(right["pos"].mean()),
        "both": float((right["pos"] & right["chunk"]).mean()),
        "error": reliability_of(flat["probability"].astype(np.float64), right["chunk"]).error,
    }


def compare(
    train_set: Sequence[Sentence], test_set: Sequence[Sentence], *, heads: Sequence[str], epochs: int, seeds: int
) -> dict[str, Any]:
    """The measures of each head for each seed, and the median of its steps' seconds."""
    states = Layer(TEMPLATE).states
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in heads}
    for seed in range(seeds):
        trainees = [Trainee(name, train_set, states, seed) for name in heads]
        seconds, took = timed(partial(train, trainees, train_set, states, epochs, seed))
        say(f"seed {seed}: {len(seconds)} steps of {len(heads)} heads in {took.seconds:.0f} s")
        for name, trained, own in zip(heads, trainees, np.median(seconds, axis=0).tolist(), strict=True):
            runs[name].append({**measure(trained, test_set, states), "seconds": own})
    sizes = {"sentences": len(train_set), "test_sentences": len(test_set), "epochs": epochs, "seeds": seeds}
    return {"complete": True, **sizes, "runs": runs}


def table(result: Mapping[str, Any]) -> Table:
    """Means over the seeds in percent, deviations, and milliseconds a step."""
    shown = empty_table("head", *(part for name in MEASURES.values() for part in (name, "±")), "CPU ms a step")
    for name, runs in result["runs"].items():
        cells = []
        for measured in MEASURES:
            values = [100 * run[measured] for run in runs]
            cells += [f"{np.mean(values):.1f}", f"{np.std(values, ddof=1):.1f}" if len(values) > 1 else ""]
        shown.add_row(name, *cells, f"{1000 * np.median([run['seconds'] for run in runs]):.0f}")
    return shown


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    for name in ("train", "test"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE", help="lines `word pos chunk`")
    parser.add_argument("--heads", default=",".join(HEADS), metavar="NAMES", help="default: %(default)s")
    parser.add_argument("--sentences", type=int, metavar="N", help="of the training file, the first (default: all)")
    parser.add_argument("--epochs", type=int, default=EPOCHS, metavar="N", help=f"default: {EPOCHS}")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=f"runs of each head (default: {SEEDS})")
    add_options(parser, quick=f"{QUICK['sentences']} sentences, {QUICK['epochs']} epochs, one seed")
    options = parser.parse_args(argv)
    if options.quick:
        vars(options).update(QUICK)
    heads = options.heads.split(",")
    if not {*heads} <= HEADS.keys() or min(options.epochs, options.seeds) < 1:
        parser.error(f"the heads are {', '.join(HEADS)}, and epochs and seeds at least 1")
    if options.threads:
        torch.set_num_threads(options.threads)
    with refusals(ValueError, ImportError):
        test_set = read(options.test, options.sentences if options.quick else None)
        train_set = read(options.train, options.sentences)
        result = compare(train_set, test_set, heads=heads, epochs=options.epochs, seeds=options.seeds)
    write(result, options.out)
    sizes = f"{result['sentences']:,} sentences, {result['epochs']} epochs, seeds: {result['seeds']}"
    say(f"{sizes}; test: {result['test_sentences']:,} sentences")
    print_table(table(result))
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
