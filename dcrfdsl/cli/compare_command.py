"""`dcrfdsl compare`: models side by side on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..foundation import json_text, printable
from .command_files import load_model, read_features, read_gold
from .console import Talk, refuse
from .options import Argument, Draws, Features, Json, Level, Option, Quiet, Threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table
    from rich.text import Text

    from ..data import Corpus
    from ..model import Comparison

ANY_DIFFERENCE = 0.05  # p-values below it are marked


def compare(
    files: Annotated[list[str], Argument("MODEL MODEL... DATA", help="Two model files or more, and data with labels.")],
    level: Level = 0.95,
    draws: Draws = 1000,
    seed: Annotated[int, Option("--seed", min=0, metavar="N", help="Seed of samples and exchanges.")] = 0,
    differences: Annotated[
        int, Option("--differences", min=0, metavar="N", help="Show the first N sentences with other labels.")
    ] = 0,
    threads: Threads = None,
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare models on labelled data.

    Each score has its bootstrap interval, and a p-value: of a difference from the first model as large as this one, if
    both were equally good (paired randomisation of whole sentences). Segments have their F1, all together and by type.
    McNemar's test counts the tokens and sentences that only one of two models has right.

    \b
    Example:
      dcrfdsl compare chunk.model boosted.model gold.txt
      dcrfdsl compare chunk.model boosted.model gold.txt --differences 5
    """
    from ..model import compare as compared

    *paths, data = files
    if len(paths) < 2:
        message = "a comparison takes two models or more, and data behind them"
        refuse("nothing-to-compare", message, "name another model")
    talk, registered = Talk(quiet), read_features(features)
    names = _names(paths)
    models = {name: load_model(path, registered) for name, path in zip(names, paths, strict=True)}
    corpora: dict[str, Corpus] = {}
    by_statement: dict[str, Corpus] = {}
    for name, model in models.items():
        key = repr((model.spec.data, model.labels))
        by_statement[key] = corpora[name] = by_statement.get(key) or read_gold(data, model.spec, talk)
    comparison = compared(models, corpora, level=level, draws=draws, seed=seed, threads=threads)
    if as_json:
        print(json_text(_as_json(comparison)))
        return
    _print(comparison, level)
    _print_differences(comparison, next(iter(corpora.values())), differences)


def _names(paths: Sequence[str]) -> list[str]:
    """The names of the files, or their paths where two have one name; numbered where one path comes twice."""
    short = [Path(path).name for path in paths]
    names = short if len(set(short)) == len(short) else list(paths)
    return [f"{name} ({names[:n].count(name) + 1})" if name in names[:n] else name for n, name in enumerate(names)]


def _as_json(comparison: Comparison) -> dict[str, object]:
    return {
        "models": list(comparison.models),
        "labels": list(comparison.labels),
        "sentences": comparison.sentences,
        "tokens": comparison.tokens,
        "scores": [{**one._asdict(), "intervals": [list(i) for i in one.intervals]} for one in comparison.scores],
        "mcnemar": [one._asdict() for one in comparison.cases],
        "differing": [s + 1 for s in comparison.differing],
    }


# in words -------------------------------------------------------------------------------------------------------------


def _print(comparison: Comparison, level: float) -> None:
    from .report import print_table

    print_table(_scores(comparison))
    print()
    print_table(_cases(comparison))
    print()
    size = f"{comparison.sentences:,} sentences, {comparison.tokens:,} tokens"
    print(f"{size}; the models label {len(comparison.differing):,} sentences differently")
    print(f"[{100 * level:g} % intervals]; p: of the difference from {printable(comparison.models[0])}")


def _scores(comparison: Comparison) -> Table:
    from .report import TEXT, WHOLE, table

    first, *others = comparison.models
    rows = []
    for one in comparison.scores:
        cells: list[str | Text] = [one.name]
        for value, interval, p in zip(one.values, one.intervals, one.p_values, strict=True):
            cells.append(f"{100 * value:.2f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]")
            if p is not None:
                cells.append(_p_value(p))
        rows.append(cells)
    return table([(TEXT, ["score"]), (WHOLE, [first, *(heading for name in others for heading in (name, "p"))])], rows)


def _cases(comparison: Comparison) -> Table:
    from .report import NUMBER, TEXT, WHOLE, table

    columns = [
        (TEXT, ["right in one alone"]), (WHOLE, comparison.models[:1]), ({**NUMBER, **TEXT}, ["other"]), (TEXT, ["of"]),
        ({**NUMBER, **TEXT}, ["p (McNemar)"]),
    ]  # fmt: skip
    rows: Iterator[list[str | Text]] = (
        [one.unit, f"{one.only_first:,}", f"{one.only_other:,}", one.model, _p_value(one.p_value)]
        for one in comparison.cases
    )
    return table(columns, rows)


def _p_value(p: float) -> Text:
    from rich.text import Text

    return Text(f"{p:.3f}" if p >= 0.001 else f"{p:.0e}", style="bold" if p < ANY_DIFFERENCE else "")


def _print_differences(comparison: Comparison, corpus: Corpus, most: int) -> None:
    """The first sentences that two models label differently: words, gold labels, and those of each model."""
    from ..data import InternedColumn

    texts = {name: column for name, column in corpus.columns.items() if isinstance(column, InternedColumn)}
    word = next((column for name, column in texts.items() if name not in comparison.labels), None)
    for s in comparison.differing[:most]:
        print(f"\nsentence {s + 1}, {printable(corpus.file)}:{corpus.token_line[corpus.sentence_off[s]]}")
        for t in range(int(corpus.sentence_off[s]), int(corpus.sentence_off[s + 1])):
            for label in comparison.labels:
                found = [comparison.predictions[model][label][t] for model in comparison.models]
                if len(set(found)) > 1:
                    place = t - int(corpus.sentence_off[s]) + 1
                    shown = f" {word.text(t)}" if word is not None else ""
                    said = ", ".join(f"{name} {state}" for name, state in zip(comparison.models, found, strict=True))
                    print(printable(f"  {place}{shown}: {label} is {texts[label].text(t)}; {said}"))
