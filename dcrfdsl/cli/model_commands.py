"""What there is to say of a model: `dcrfdsl show` for its weights, `dcrfdsl report` for one page with labelled data.

Not here: the page (`model.reporting`).
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from .. import model as model_room, semantics
from ..foundation import data_error, ensure_writable, json_text
from .command_files import Output, load_model, read_features, refuse_clash, refuse_sentence
from .console import Talk, refuse
from .inference_notes import threshold_lines, training_notes
from .options import Argument, Draws, Features, Json, Level, Option, Quiet, Threads


def show(
    model: Annotated[str, Argument("MODEL")],
    clique: Annotated[str | None, Option("NAME")] = None,
    containing: Annotated[str | None, Option("TEXT")] = None,
    top: Annotated[int, Option("N", min=1)] = 20,
    path: bool = False,
    templates: bool = False,
    template: bool = False,
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what a model has learned: its weights and its record."""
    from .report import print_table, weights_table

    instead = {"--template": template, "--path": path, "--templates": templates}
    asked = [option for option, is_given in instead.items() if is_given]
    if template and as_json:
        asked.append("--json")
    if len(asked) > 1:
        refuse("idle-option", f"`{asked[0]}` has no place for `{asked[1]}`", "leave out one of them")
    trained = load_model(model, read_features(features))
    if template:
        print(semantics.to_text(trained.spec), end="")
        return
    if path or templates:
        (_path if path else _templates)(trained, as_json)
        return
    rows = trained.explanations.strongest_weights(top, clique, containing)
    if as_json:
        for name, text, states, weight in rows:
            print(json_text({"clique": name, "feature": text, "states": list(states), "weight": weight}))
        return
    talk = Talk(quiet)
    _describe(trained, talk)
    if not rows and containing is not None:
        talk(f"no feature of a weight contains `{containing}`")
        return
    if trained.num_weights:
        print_table(weights_table(rows))
        return
    print(semantics.to_text(trained.spec))
    for name in trained.labels:
        print(f"# states of `{name}`: {', '.join(trained.states[name])}")


def _templates(trained: model_room.TrainedModel, as_json: bool) -> None:
    """Prints a line for each feature template, with its number of weights and of those that are not 0."""
    from .report import print_table, templates_table

    found = trained.explanations.weights_by_template()
    if not as_json:
        print_table(templates_table(found))
        return
    for row in found:
        print(json_text(row._asdict()))


def _path(trained: model_room.TrainedModel, as_json: bool) -> None:
    """Prints each round of boosting: the bound on the risk, the risk after the round, and the weight that it moved."""
    from .report import path_table, print_table

    rounds = [
        {"round": number, **done._asdict(), "clique": clique, "feature": text, "states": list(states)}
        for number, (done, clique, text, states) in enumerate(trained.explanations.boosting_path(), 1)
    ]
    if not rounds:
        raise data_error("no-such-round", "the model has no rounds of boosting", help="train it by `adaboost`")
    if not as_json:
        print_table(path_table(rounds))
        return
    for row in rounds:
        print(json_text(row))


def _describe(trained: model_room.TrainedModel, talk: Talk) -> None:
    """Says in a few lines on stderr how the model was trained."""
    for line in trained.spec.doc:
        talk(line)
    record = trained.record
    how = (
        f"stage `{record.stage}`: {record.end} after {record.iterations} iterations, "
        f"{'converged' if record.converged else 'not converged'}"
        if record.stage
        else "; ".join(record.notes) or record.reason or "not trained"  # without a stage: converted, or of a layer
    )
    talk(f"{trained.num_weights:,} weights; {how}")
    if record.start is not None:
        talk(record.start.description)
    for note in (*training_notes(trained), *threshold_lines(record.thresholds)):
        talk(note)
    for name, found in trained.extractor.learned.items():
        if not name.startswith("bin("):
            talk(f"{name} is (the number {-found[0]:+.6g}) / {found[1]:.6g}")
    talk()


# report --------------------------------------------------------------------------------------------------------------


def report(
    model: Annotated[str, Argument("MODEL")],
    data: Annotated[str, Argument("DATA")],
    output: Annotated[Path, Option("FILE.html", short="-o")],
    sentence: Annotated[list[int] | None, Option("N", short="-n", min=1)] = None,
    errors: Annotated[int, Option("N", min=0)] = 20_000,
    beside: Annotated[list[str] | None, Option("MODEL")] = None,
    explained: Annotated[int, Option("N", name="--explain", min=0)] = 100,
    level: Level = 0.95,
    draws: Draws = 1000,
    seed: Annotated[int, Option("N", min=0)] = 0,
    threads: Threads = None,
    features: Features = None,
    quiet: Quiet = False,
) -> None:
    """Report on a model as a page: scores, errors, weights, graphs."""
    from .compare_command import models_on
    from .report import bytes_text

    inputs = (model, data, *(beside or ()), *(features or ()))
    for page in (Output("-o", output), *_further_pages(output)):
        refuse_clash([page], inputs)
    ensure_writable(output)
    talk = Talk(quiet)
    paths = [model, *(beside or ())]
    models, corpora = models_on(paths, data, read_features(features), talk)
    trained, corpus = next(iter(models.values())), next(iter(corpora.values()))
    if not corpus.num_tokens:
        refuse("empty-file", f"there is nothing to report: `{data}` has no token")
    for number in sentence or ():
        if number > corpus.num_sentences:
            refuse_sentence(data, corpus.num_sentences, number)
    found = (
        model_room.compare(models, corpora, level=level, draws=draws, seed=seed, threads=threads) if beside else None
    )
    pages = trained.report(
        corpus, output, title=f"{Path(model).name} on {Path(data).name}", errors=errors, explained=explained,
        sentences=[n - 1 for n in sentence or ()],
        level=level, draws=draws, seed=seed, threads=threads, comparison=found,
    )  # fmt: skip
    size = sum(page.stat().st_size for page in pages)
    more = f" and {len(pages) - 1:,} further page{'s' * (len(pages) > 2)}" if len(pages) > 1 else ""
    talk(f"{output}{more} written ({bytes_text(size)}); open it in a browser")


def _further_pages(output: Path) -> list[Output]:
    """The files that are there under names of further pages; how many pages there will be is not known yet."""
    name, found = re.compile(rf"{re.escape(output.stem)}-\d+{re.escape(output.suffix)}"), []
    with suppress(OSError), os.scandir(output.parent) as entries:  # a folder that is missing is said when writing
        found = [
            Output("-o", output.with_name(entry.name), beside=True) for entry in entries if name.fullmatch(entry.name)
        ]
    return found
