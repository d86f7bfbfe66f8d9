"""`dcrfdsl compare`: models side by side on labelled data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .. import data as data_room, features as feature_room, model as model_room
from ..foundation import json_text, printable
from .command_files import load_model, read_features, read_gold
from .console import Talk, refuse
from .options import Argument, Draws, Features, Json, Level, Option, Quiet, TableFormat, Threads

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ..foundation import TextTable
    from .table_formats import Part

ANY_DIFFERENCE = 0.05  # p-values below it are marked
P_VALUE = re.compile(r"0\.\d{3}|\de-\d+")  # as tables write one


def compare(
    files: Annotated[list[str], Argument("MODEL MODEL... DATA")],
    level: Level = 0.95,
    draws: Draws = 1000,
    seed: Annotated[int, Option("N", min=0)] = 0,
    differences: Annotated[int, Option("N", min=0)] = 0,
    format: TableFormat = "text",
    confidence: bool = False,
    threads: Threads = None,
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare models on labelled data."""
    from .table_formats import print_parts, refuse_idle

    refuse_idle(format, {"--json": as_json, "--differences": differences})
    *paths, data = files
    if len(paths) < 2:
        message = "a comparison takes two models or more, and data behind them"
        refuse("nothing-to-compare", message, "name another model")
    talk, registered = Talk(quiet), read_features(features)
    models, corpora = models_on(paths, data, registered, talk)
    comparison = model_room.compare(
        models, corpora, level=level, draws=draws, seed=seed, confidence=confidence, threads=threads
    )
    if as_json:
        print(json_text(_as_json(comparison)))
        return
    print_parts(_parts(comparison, level), format)
    _print_differences(comparison, next(iter(corpora.values())), differences)


def models_on(
    paths: Sequence[str], data: str, registered: Mapping[str, feature_room.RegisteredFeature], talk: Talk
) -> tuple[dict[str, model_room.TrainedModel], dict[str, data_room.Corpus]]:
    """Models by their names, and the data as each of them reads them."""
    models = {name: load_model(path, registered) for name, path in zip(_names(paths), paths, strict=True)}
    corpora: dict[str, data_room.Corpus] = {}
    by_statement: dict[str, data_room.Corpus] = {}
    for name, model in models.items():
        key = repr((model.spec.data, model.labels))
        by_statement[key] = corpora[name] = by_statement.get(key) or read_gold(data, model.spec, talk)
    return models, corpora


def _names(paths: Sequence[str]) -> list[str]:
    """The names of the files, or their paths where two have one name; numbered where one path comes twice."""
    short = [Path(path).name for path in paths]
    names = short if len(set(short)) == len(short) else list(paths)
    return [f"{name} ({names[:n].count(name) + 1})" if name in names[:n] else name for n, name in enumerate(names)]


def _as_json(comparison: model_room.Comparison) -> dict[str, object]:
    return {
        "models": list(comparison.models),
        "labels": list(comparison.labels),
        "sentences": comparison.sentences,
        "tokens": comparison.tokens,
        "scores": [{**one._asdict(), "intervals": [list(i) for i in one.intervals]} for one in comparison.scores],
        "mcnemar": [one._asdict() for one in comparison.cases],
        "errors": [one._asdict() for one in comparison.errors],
        "error_differences": [one._asdict() for one in comparison.error_differences],
        "differing": [s + 1 for s in comparison.differing],
        **({"areas": {name: list(areas) for name, areas in comparison.areas.items()}} if comparison.areas else {}),
    }


# in words -------------------------------------------------------------------------------------------------------------


def _parts(comparison: model_room.Comparison, level: float) -> Iterator[Part]:
    yield from map(_table, model_room.comparison_tables(comparison))
    size = f"{comparison.sentences:,} sentences, {comparison.tokens:,} tokens"
    yield (
        f"{size}; the models label {len(comparison.differing):,} sentences differently\n"
        f"[{100 * level:g} % intervals]; p: of the difference from {printable(comparison.models[0])}"
    )


def _table(found: TextTable) -> Table:
    """The table for a terminal, where small p-values stand out."""
    from rich.text import Text

    from .report import TEXT, WHOLE, table

    def shown(words: str) -> str | Text:
        is_small = P_VALUE.fullmatch(words) and float(words) < ANY_DIFFERENCE
        return Text(words, style="bold") if is_small else words

    columns = [(TEXT if n in found.words else WHOLE, [heading]) for n, heading in enumerate(found.head)]
    return table(columns, (map(shown, row) for row in found.rows))


def _print_differences(comparison: model_room.Comparison, corpus: data_room.Corpus, most: int) -> None:
    """The first sentences that two models label differently: words, gold labels, and those of each model."""
    texts = {name: column for name, column in corpus.columns.items() if isinstance(column, data_room.InternedColumn)}
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
