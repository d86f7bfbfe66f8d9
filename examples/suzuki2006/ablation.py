"""What brings the gain of MCE-F over MAP: one change of the set-up at a time, and how much error MAP leaves.

    python ablation.py --chunk CONLL2000 --out ablation.json

Everything is trained without the last 2,000 training sentences, and scored on them and on the test set. Each row is a
MAP and the MCE-F that starts from it; pairs are of neighbours, which takes half the time of all pairs within five. Not
here: a training (`experiment`), the tables of the paper (`run`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from experiment import HELD_OUT, Experiment, Job
from rich.table import Table
from running import Log, add_options, chance, empty_table, exit_status, parser_of, refusals, say, write
from tables import mcnemar_p

from dcrfdsl.cli.report import duration, print_table


class Setup(NamedTuple):
    """what: the change, in words.   n: None where `change` has the prior.   features: of the template."""

    what: str
    map_n: int = 0
    n: int | None = 6
    optimizer: str = ""
    change: tuple[str, ...] = ()
    features: str = "neighbours"

    def job(self) -> Job:
        return Job("chunk", "mce_f_map", self.n, self.map_n, self.optimizer, "dev", 0, self.change, self.features)


def smoothing(alpha: float, beta: float = 0.0) -> str:
    return f"mce_f.smoothing=sigmoid(alpha={alpha:g}, beta={beta:g})"


def near_map(variance: str) -> tuple[str, ...]:
    """A prior whose mean is the weights of MAP, in the place of 0."""
    return (f"mce_f.prior=gaussian(variance={variance}, mean=model)",)


SETUPS = (
    Setup("as in the paper: C of MAP 1, α = 1, ψ = ∞, C = 10⁵", n=5),
    Setup("C = 10⁶"),
    Setup("α = 0.2", change=(smoothing(0.2),)),
    Setup("α = 3", change=(smoothing(3),)),
    Setup("segments = literal", change=("mce_f.segments=literal",)),
    Setup("ψ = 1", change=("mce_f.psi=1",)),
    Setup("from MAP of C = 100", map_n=2),
    Setup("L-BFGS, 60 iterations", optimizer="lbfgs"),
    Setup("prior around the weights of MAP, C = 10⁵; L-BFGS", n=None, optimizer="lbfgs", change=near_map("1e5")),
    Setup("C = 10⁷", n=7),
    Setup("from MAP of C = 10", map_n=1),
    Setup("all pairs within five", features=""),
    Setup("weights of all labels", features="states"),
    Setup("moves read words and parts of speech", features="edges"),
)
LEFT = (0, 1, 2)  # n of MAP, whose errors on the training data are looked at
STEP = 0.1  # of β, for the slope of the smooth count
UNMOVED = "mce_f.optimizer=gpd(epochs=1, rate=1e-12)"  # gives the objective at the weights of the start


def setups(quick: bool) -> tuple[Setup, ...]:
    return SETUPS[:2] if quick else SETUPS


def train_setup(lab: Experiment, log: Log[Job], setup: Setup) -> dict[str, Any]:
    """The records of MAP and of MCE-F, and p of McNemar's tests on the test set."""
    job = setup.job()
    before = job.begins_at()
    assert before is not None
    first, own = (log.record(lab, one, line=_line) for one in (before, job))
    chances = {kind: mcnemar_p(own[f"wrong_{kind}"], first[f"wrong_{kind}"]) for kind in ("labels", "sentences")}
    return {"what": setup.what, "map": first, "own": own, "p": chances}


def errors_left(lab: Experiment, log: Log[Job], map_n: int) -> dict[str, Any]:
    """What MAP leaves on its training data: the ratio (FN + FP) / 2 TP by counts and by smooth counts, and by how much
    the smooth one changes with β. A small slope: ℓ(d) is near 0 or 1 nearly everywhere, and its gradient near 0.
    """
    found = []
    for beta in (-STEP, 0.0, STEP):
        change = ("mce_f.prior=none", UNMOVED, smoothing(1, beta))
        found.append(log.record(lab, Setup("", map_n, None, change=change).job(), line=_line))
    low, here, high = (own["objective"] for own in found)
    f1 = found[1]["train_scores"]["f1"]
    return {
        "map_n": map_n,
        "train_f1": f1,
        "scores": found[1]["scores"],
        "counted": (1 - f1) / f1,
        "smooth": here,
        "slope": (high - low) / (2 * STEP),
    }


def _line(record: Mapping[str, Any]) -> str:
    return f"{duration(record['seconds'])}, F1 {100 * record['scores']['f1']:.2f}"


def setup_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Scores of both in percent."""
    headings = ("held-out F1: MAP", "MCE-F", "more", "test F1: MAP", "MCE-F", "more", "p: labels", "sentences")
    table = empty_table("set-up", *headings, "train F1: MAP", "MCE-F", "CPU (s)")
    for row in rows:
        cells = []
        for scores in ("scores", "test_scores"):
            first, own = (100 * row[name][scores]["f1"] for name in ("map", "own"))
            cells += [f"{first:.2f}", f"{own:.2f}", f"{own - first:+.2f}"]
        trained = [f"{100 * row[name]['train_scores']['f1']:.2f}" for name in ("map", "own")]
        chances = [chance(row["p"][kind]) for kind in ("labels", "sentences")]
        table.add_row(row["what"], *cells, *chances, *trained, f"{row['own']['cpu_seconds']:.0f}")
    return table


def left_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Errors of MAP on the training data."""
    table = empty_table("C of MAP", "train F1", "held-out F1", "errors counted", "counted smoothly", "slope by β")
    for row in rows:
        shares = [f"{row[name]:.2e}" for name in ("counted", "smooth", "slope")]
        table.add_row(
            f"{10.0 ** row['map_n']:g}", f"{100 * row['train_f1']:.2f}", f"{100 * row['scores']['f1']:.2f}", *shares
        )
    return table


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--chunk", type=Path, metavar="DIR", required=True, help="CoNLL-2000: train.txt, test.txt")
    add_options(parser, quick="600 sentences, two set-ups", beside="FILE.jsonl")
    options = parser.parse_args(argv)
    result: dict[str, Any] = {"complete": True, "date": f"{date.today()}", "left": [], "setups": []}
    log = Log(options.out.with_suffix(".jsonl"), Job)
    limits = (600, 400, 200) if options.quick else (None, None, HELD_OUT)
    with refusals():
        lab = Experiment.of("chunk", options.chunk, *limits[:2], held_out=limits[2], threads=options.threads)
        try:
            for map_n in LEFT[:2] if options.quick else LEFT:
                result["left"].append(errors_left(lab, log, map_n))
            for setup in setups(options.quick):
                result["setups"].append(train_setup(lab, log, setup))
        except KeyboardInterrupt:
            result["complete"] = False
            log.say_stopped()
    say(f"\nWhat MAP leaves on its training data, {result['date']}\n")
    print_table(left_table(result["left"]))
    say("\nMAP and the MCE-F that starts from it; from C of MAP 1 to C = 10⁶ of MCE-F where a row says no other\n")
    print_table(setup_table(result["setups"]))
    write(result, options.out)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
