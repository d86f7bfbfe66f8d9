"""Reruns the experiments of Lafferty, McCallum and Pereira (2001), "Conditional random fields", Section 5.

    python run.py --pos wsj.txt --quick --out quick.json

Not here: the trainings (`experiments`), the arithmetic of the tables (`tables`), the plots (`figure`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from experiments import SPELLINGS, BiasPlan, MixedPlan, PosPlan, label_bias, mixed_order, pos_corpus, pos_tagging
from figure import PAIRS, scatter
from rich.table import Table
from running import add_options, exit_status, parser_of, refusals, say, say_differences, write
from tables import (
    bias_rows,
    bias_table,
    mixed_rows,
    mixed_table,
    mixed_test_table,
    mixed_tests,
    pair_rows,
    pair_table,
    pos_rows,
    pos_table,
    spelling_rows,
    spelling_table,
)  # fmt: skip

from dcrfdsl.cli.report import print_table

Record = dict[str, Any]


class Plan(NamedTuple):
    bias: BiasPlan
    mixed: MixedPlan
    pos: PosPlan


TENTHS = tuple(n / 10 for n in range(11))
ENDS = (0.0, 0.5, 1.0)
SOURCES = 5
FULL = Plan(
    BiasPlan(shares=(0.5, 0.58), draws=20, train=2000, test=500),
    MixedPlan(
        sweeps=(
            ("edges", "separate", TENTHS, SOURCES),
            ("edges", "shared", ENDS, SOURCES),
            ("states", "separate", ENDS, SOURCES),
        ),
        train=1000,
        test=1000,
    ),
    PosPlan(splits=5, alone=tuple(SPELLINGS)),
)
QUICK = Plan(
    BiasPlan(shares=(0.5, 0.58), draws=2, train=500, test=500),
    MixedPlan(
        sweeps=(("edges", "separate", ENDS, 1), ("edges", "shared", ENDS, 1), ("states", "separate", ENDS, 1)),
        train=100,
        test=100,
    ),
    PosPlan(splits=2, sentences=400, alone=tuple(SPELLINGS)[:2]),
)


Rows = Callable[[Sequence[Mapping[str, Any]]], list[Record]]


class Section(NamedTuple):
    """title: of its table.   counted: what its errors are of.   rows, table: of `tables`.   more: further tables, by
    title.
    """

    title: str
    counted: str
    rows: Rows
    table: Callable[[Sequence[Record]], Table]
    differences: tuple[str, ...]
    more: Mapping[str, tuple[Rows, Callable[[Sequence[Record]], Table]]] = {}


SECTIONS: Mapping[str, Section] = {
    "bias": Section(
        "5.1 Label bias",
        "mean ± 95% interval over draws; a word is wrong if any of its three states is; the best tagger "
        "knows the automaton, and `expected` is its error by arithmetic",
        bias_rows,
        bias_table,
        (
            "Label bias: the paper does not say whether its error is of words or of states, nor how often each word "
            "occurs. Words are compared with it here. An MEMM with these moves chooses by the first symbol alone, so "
            "that it errs about as often as the rarer word occurs: 42 % where `rib` has 0.58. That share is inferred "
            "from the paper's figure, which is therefore no test of it.",
        ),
    ),
    "mixed": Section(
        "5.2 Mixed-order sources",
        "wrong labels in percent, mean over sources",
        mixed_rows,
        mixed_table,
        (
            "Mixed order: that rows of p_α have at most two moves (three symbols) not zero at every α leaves "
            "them to the label alone (`shared`). Where p₁ and p₂ each keep to it (`separate`) "
            "a mixture has up to twice as many. The paper does not say how it chose. Numbers in "
            "a row are uniform on the simplex.",
            "Mixed order: CRFs are trained by algorithm S for 500 iterations, as in the paper; MEMMs by L-BFGS for at "
            "most 100 instead of iterative scaling, which trains likelihoods alone here. HMMs are counts plus 0.01.",
        ),
        {
            "Mixed order, means over α above 0: points by which the CRF errs less, over sources": (
                mixed_tests,
                mixed_test_table,
            )
        },
    ),
    "pos": Section(
        "5.3 Parts of speech",
        "wrong tags in percent, mean ± 95% interval over splits, which are of the same sentences",
        pos_rows,
        pos_table,
        (
            "Parts of speech: half of the sentences of a sample of the Penn Treebank are for training, the others for "
            "test. Weights have a Gaussian prior of variance 10 and are trained by L-BFGS to convergence. The text of "
            "the paper at hand has no table of errors, only that spelling takes off about 25 % of all and 50 % of "
            "unknown words.",
            "Parts of speech: the HMM adds 1 to counts of moves and 0.01 to those of words; with `rare words`, "
            "unknown words are emitted as often as all words that training has once.",
        ),
        {
            "Pairs of models: points, over splits": (pair_rows, pair_table),
            "Spelling by spelling: the CRF with one of them alone, points": (spelling_rows, spelling_table),
        },
    ),
}


def reproduce(
    plan: Plan, out: Path, pos: Path | None, seed: int, threads: int | None = None, talk: bool = True
) -> dict[str, Any]:
    """Runs the sections and writes everything to `out` and the plots beside it; Ctrl-C keeps what is complete."""
    runs: dict[str, Iterator[Record]] = {
        "bias": label_bias(plan.bias, seed, threads),
        "mixed": mixed_order(plan.mixed, seed, threads),
    }
    if pos is not None:
        runs["pos"] = pos_tagging(pos_corpus(pos, plan.pos), plan.pos, seed, threads)  # read before anything is trained
    result: dict[str, Any] = {"complete": True, "date": f"{date.today()}", "seed": seed, "sections": {}}
    try:
        for name, records in runs.items():
            own: dict[str, Any] = {"records": []}
            for record in records:
                own["records"].append(record)
                if talk:
                    say(_line(name, record))
            own["rows"] = SECTIONS[name].rows(own["records"])
            own["more"] = {title: rows(own["records"]) for title, (rows, _) in SECTIONS[name].more.items()}
            own["differences"] = SECTIONS[name].differences
            result["sections"][name] = own
            write(result, out)
    except KeyboardInterrupt:
        result["complete"] = False
    write(result, out)
    if "mixed" in result["sections"]:
        # the paper's figure is of the models with λ_y'yx
        points = [record for record in result["sections"]["mixed"]["records"] if record["form"] == "edges"]
        for across, up in PAIRS:
            out.with_name(f"{out.stem}-{across}-{up}.svg").write_text(scatter(points, across, up), encoding="utf-8")
    return json.loads(json.dumps(result))  # type: ignore[no-any-return]


def _line(name: str, record: Mapping[str, Any]) -> str:
    about = ", ".join(f"{key} {_short(value)}" for key, value in record.items() if key != "models")
    first = {"bias": "words"}.get(name, "error")
    errors = ", ".join(f"{model} {own[first]:.2f}" for model, own in record["models"].items())
    seconds = sum(own.get("cpu_seconds", 0.0) for own in record["models"].values())
    return f"{name}: {about}: {errors} ({seconds:.1f} s)"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def show(result: Mapping[str, Any]) -> None:
    """The tables as text, and what differs from the paper."""
    for name, own in result["sections"].items():
        section = SECTIONS[name]
        say(f"\n{section.title}, {result['date']}: {section.counted}\n")
        print_table(section.table(own["rows"]))
        for title, (_, table) in section.more.items():
            if own["more"][title]:
                say(f"\n{title}\n")
                print_table(table(own["more"][title]))
    say_differences(text for own in result["sections"].values() for text in own["differences"])


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--pos", type=Path, metavar="FILE", help="lines `word tag`, an empty line after a sentence")
    add_options(
        parser, quick="few and small data sets", beside="FILE-crf-memm.svg …", seed="of all data that are drawn"
    )
    options = parser.parse_args(argv)
    with refusals():
        plan = QUICK if options.quick else FULL
        result = reproduce(plan, options.out, options.pos, options.seed, options.threads)
    show(result)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
