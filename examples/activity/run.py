"""Six channels in raw units, with gaps: `standardize` in the template beside data that were prepared by hand.

    python examples/activity/run.py --out result.json

By hand each channel is filled by straight lines across its gaps, and standardized by mean and spread of all recordings
to train on. The third model reads the raw numbers without any scale. Not here: the recordings (`simulate`).
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
from rich.table import Table
from running import add_options, empty_table, exit_status, parser_of, refusals, write
from simulate import RECORDINGS, recording, write_recording

from dcrfdsl import fit, load_text, open_parts
from dcrfdsl.cli.report import print_table

HERE = Path(__file__).parent
SEEDS, QUICK_RECORDINGS = 5, 4
Recordings = Sequence[tuple[np.ndarray, list[str]]]


def templates() -> dict[str, str]:
    """Three templates of the same features: in units of the training data, prepared by hand, and in raw units."""
    ours = (HERE.parents[1] / "templates" / "activity.dcrf").read_text(encoding="utf-8")
    raw = re.sub(r"standardize\((\w+\(\S+?\]\)|\w+)\)", r"\1", ours)
    return {"standardize": ours, "by hand": (HERE / "by_hand.dcrf").read_text(encoding="utf-8"), "raw units": raw}


def by_hand(recordings: Recordings, known: Recordings) -> Recordings:
    """Filled by straight lines, and standardized as the recordings `known` are."""
    every = np.concatenate([filled(numbers) for numbers, _ in known])
    return [((filled(numbers) - every.mean(axis=0)) / every.std(axis=0), labels) for numbers, labels in recordings]


def filled(numbers: np.ndarray) -> np.ndarray:
    """Channels [T, 6] without gaps."""
    rows, out = np.arange(len(numbers)), numbers.copy()
    for channel in out.T:
        missing = np.isnan(channel)
        channel[missing] = np.interp(rows[missing], rows[~missing], channel[~missing])
    return out


def score(text: str, train: Recordings, test: Recordings, threads: int | None) -> float:
    """The accuracy of a template on recordings, which are written to files as they come."""
    with tempfile.TemporaryDirectory() as folder:
        for name, recordings in (("train", train), ("test", test)):
            Path(folder, name).mkdir()
            for n, one in enumerate(recordings):
                write_recording(Path(folder, name, f"{n:03}.csv"), *one, digits=6)
        template = load_text(text)
        model = fit(template, open_parts(Path(folder, "train"), template), threads=threads)
        found = model.evaluate(open_parts(Path(folder, "test"), template).corpus(0), threads=threads)
    return float(found["accuracy(activity)"])


def compare(seeds: int, recordings: int, threads: int | None) -> dict[str, Any]:
    """The scores of each template for each seed of the recordings."""
    found: dict[str, list[float]] = {name: [] for name in templates()}
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        train, test = ([recording(random) for _ in range(recordings)] for _ in range(2))
        for name, text in templates().items():
            data = (by_hand(train, train), by_hand(test, train)) if name == "by hand" else (train, test)
            found[name].append(score(text, *data, threads))
    return {"complete": True, "models": found}


def table(result: Mapping[str, Any]) -> Table:
    """Percent: the mean over the seeds, and the least and the largest."""
    shown = empty_table("template", "accuracy", "from", "to")
    for name, scores in result["models"].items():
        shown.add_row(name, *(f"{100 * value:.2f}" for value in (np.mean(scores), min(scores), max(scores))))
    return shown


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=f"default: {SEEDS}")
    add_options(parser, quick=f"{QUICK_RECORDINGS} recordings to train on, one seed")
    options = parser.parse_args(argv)
    with refusals(ValueError):
        seeds, recordings = (1, QUICK_RECORDINGS) if options.quick else (options.seeds, RECORDINGS)
        result = compare(seeds, recordings, options.threads)
    write(result, options.out)
    print_table(table(result))
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
