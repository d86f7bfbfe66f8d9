"""Decodes scores of a network in four ways: token by token, legal, tuned for F1, and at an operating point.

    python examples/decoder/run.py --out result.json

Nothing is trained: two prices of `decoder.dcrf` are found on dev data. Not here: the scores (`simulate`).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
from rich.table import Table
from running import add_options, empty_table, exit_status, parser_of, refusals, write
from simulate import simulate_into

from dcrfdsl import TrainedModel, fit, load_template, read_corpus, tune
from dcrfdsl.cli.report import print_table
from dcrfdsl.data import Corpus
from dcrfdsl.semantics import legal_moves, violations

HERE = Path(__file__).parent
RECALL, TRIALS = 0.99, 169
QUICK_SENTENCES, QUICK_TRIALS = 200, 9
MEASURES = ("precision", "recall", "f1")


def measure(model: TrainedModel, corpus: Corpus) -> dict[str, float]:
    """The share of sentences whose labelling is legal, and precision, recall and F1 of segments, all from 0 to 1."""
    allowed = legal_moves("bioes", model.states["ner"])
    broken = violations(allowed, model.predict(corpus).codes["ner"], corpus.sentence_off)
    sentences = np.unique(np.searchsorted(corpus.sentence_off, broken, side="right"))
    scores = model.evaluate(corpus)
    found = {name: float(scores[f"segments(ner).{name}"]) for name in MEASURES}
    return {"legal": 1.0 - len(sentences) / corpus.num_sentences, **found}


def compare(dev: Path, test: Path, *, recall: float, trials: int, threads: int | None) -> dict[str, Any]:
    """The measures of each decoder on both files, and the prices that were found on dev data."""
    template = load_template(HERE / "decoder.dcrf")
    held_out, unseen = (read_corpus(path, template.require().data) for path in (dev, test))
    search = {"trials": trials, "threads": threads}
    bound = {"segments(ner).recall": recall}
    models = {
        "token by token": fit(load_template(HERE / "argmax.dcrf"), threads=threads),
        "legal": fit(template, threads=threads),
        "best F1": tune(template, None, held_out, **search),
        f"recall {recall:g}": tune(template, None, held_out, best="segments(ner).precision", at_least=bound, **search),
    }
    decoders = {
        name: {
            "prices": model.record.tuning["values"] if model.record.tuning else {},
            "dev": measure(model, held_out),
            "test": measure(model, unseen),
        }
        for name, model in models.items()
    }
    return {"complete": True, "decoders": decoders}


def table(result: Mapping[str, Any]) -> Table:
    """Percent on dev and on test data."""
    headings = [
        f"{data}: legal" if name == "legal" else name for data in ("dev", "test") for name in ("legal", "P", "R", "F1")
    ]
    shown = empty_table("decoder", *headings, "prices", left=["prices"])
    for name, found in result["decoders"].items():
        cells = [f"{100 * value:.1f}" for data in ("dev", "test") for value in found[data].values()]
        shown.add_row(name, *cells, ", ".join(f"{price} {value:g}" for price, value in found["prices"].items()))
    return shown


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    for name in ("dev", "test"):
        parser.add_argument(f"--{name}", type=Path, metavar="FILE.npz", help="logits and ner; default: simulated")
    parser.add_argument("--recall", type=float, default=RECALL, metavar="R", help=f"at least (default: {RECALL})")
    parser.add_argument("--trials", type=int, default=TRIALS, metavar="N", help=f"of each search (default: {TRIALS})")
    add_options(parser, quick=f"{QUICK_SENTENCES} sentences, {QUICK_TRIALS} trials")
    options = parser.parse_args(argv)
    if (options.dev is None) != (options.test is None):
        parser.error("give both --dev and --test, or neither")
    trials = QUICK_TRIALS if options.quick else options.trials
    with tempfile.TemporaryDirectory() as folder, refusals(ValueError):
        if options.dev is None:
            simulate_into(Path(folder), *[QUICK_SENTENCES] * options.quick)
        dev, test = options.dev or Path(folder, "dev.npz"), options.test or Path(folder, "test.npz")
        result = compare(dev, test, recall=options.recall, trials=trials, threads=options.threads)
    write(result, options.out)
    print_table(table(result))
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
