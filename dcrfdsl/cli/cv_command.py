"""`dcrfdsl cv`: cross-validation of a template, of one training stage or of several side by side."""

from __future__ import annotations

import math
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..foundation import dataclass, json_text, printable
from . import command_files
from .console import Talk, print_diagnostics, refuse
from .options import MOST_JOBS, Argument, Features, Json, Option, Quiet, SetPaths, TableOptions, Threads, with_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.table import Table

    from ..data import Corpus
    from ..semantics import ModelSpec, Resolved
    from ..syntax import DataSpec
    from ..training import CrossValidation, Fold
    from .table_formats import Part

BESIDE_F1 = ("precision", "recall")  # where stages are compared, F1 stands for them
TABLES = ("by_state", "by_type", "confusion")


@dataclass(frozen=True, kw_only=True)
class CvOptions(TableOptions):
    template: Annotated[str, Argument("TEMPLATE")]
    data: Annotated[list[str], Argument("DATA...")]
    folds: Annotated[int, Option("K", min=2)] = 5
    seed: Annotated[int, Option("N", min=0)] = 0
    group: Annotated[str | None, Option("COLUMN")] = None
    stage: Annotated[list[str] | None, Option("NAME")] = None
    stages: bool = False
    set_: SetPaths = None
    output: Annotated[Path | None, Option("FILE", short="-o")] = None
    jobs: Annotated[int, Option("N", min=1, max=MOST_JOBS)] = 1
    threads: Threads = None
    features: Features = None
    as_json: Json = False
    quiet: Quiet = False


@with_options(CvOptions)
def cv(options: CvOptions) -> None:
    """Score a template by cross-validation. Sentences are shuffled into folds; a model of the others scores each."""
    _refuse_unusable(options)
    from ..semantics import check_or_raise
    from .inference_notes import announce_compiling

    talk, registered = Talk(options.quiet), command_files.read_features(options.features)
    templates = _templates(options)
    for stage, resolved in templates.items():
        check_or_raise(resolved, stage=stage, registered=registered)
    announce_compiling(talk)
    from ..training import CrossValidation, FoldPlan, FoldTraining, fold_numbers
    from .table_formats import print_parts
    from .training_progress import TrialStatus

    corpus = _gold(options, next(iter(templates.values())).spec, talk)
    seen = set[str]()
    for stage, resolved in templates.items():
        remarks = check_or_raise(resolved, stage=stage, registered=registered, corpus=corpus)
        new = [remark for remark in remarks if remark.message not in seen]
        seen.update(remark.message for remark in new)
        if new and not options.quiet:
            print_diagnostics(new)
            talk()
    plan = FoldPlan(options.folds, options.seed, options.group, options.jobs)
    fold_of, found = fold_numbers(corpus, plan), list[CrossValidation]()
    for stage, resolved in templates.items():
        with TrialStatus(shown=not options.quiet and not options.as_json) as progress:
            training = FoldTraining(resolved, corpus, fold_of, stage, options.threads, registered, progress)
            found.append(training.run(plan, _said(options, stage, talk)))
    try:
        if options.output is not None:
            _write(options, command_files.data_statement(next(iter(templates.values())).spec), found[0])
            talk(f"{options.output} written")
    finally:  # scores took all trainings, and a full disk is no reason to lose them
        if options.as_json:
            print(json_text(_as_json(options, corpus, found)))
        else:
            print_parts(_parts(options, corpus, found), options.format)


def _gold(options: CvOptions, spec: ModelSpec, talk: Talk) -> Corpus:
    files = command_files.data_files(options.data)
    return command_files.joined([command_files.read_gold(file, spec, talk, trains=True) for file in files])


def _refuse_unusable(options: CvOptions) -> None:
    """Raises `DcrfError` for options that do not go together, and for an output that cannot be written."""
    from ..foundation import ensure_writable
    from .table_formats import refuse_idle

    refuse_idle(options.format, {"--json": options.as_json})
    if options.stages and options.stage:
        refuse("idle-option", "`--stages` runs all stages, so `--stage` chooses nothing", "leave one of them out")
    if options.template == command_files.STDIN:
        refuse("idle-option", "`cv` reads the template once for each stage, and stdin can be read once", "give a file")
    if options.output is None:
        return
    if options.stages or len(options.stage or ()) > 1:
        message = "`-o` writes the predictions of one stage, and there are several"
        refuse("idle-option", message, "name one by `--stage`")
    if command_files.STDIN in options.data:
        refuse("idle-option", "`-o` reads the data twice, and stdin can be read once", "give the data as a file")
    command_files.refuse_clash(
        [command_files.Output("-o", options.output)], (options.template, *options.data, *(options.features or ()))
    )
    ensure_writable(options.output)


def _templates(options: CvOptions) -> dict[str | None, Resolved]:
    """The stages to run, None for the last one, each with the template: in `--set` `train` is the stage that runs."""
    asked: list[str | None] = list(options.stage) if options.stage else [None]
    first = command_files.resolved_template(options.template, options.set_, asked[0], options.data[0])
    command_files.refuse_clash([command_files.Output("-o", options.output)], command_files.files_of_template(first))
    if options.stages:
        asked = list(first.spec.stage_numbers) or [None]
    if len(asked) == 1:
        return {asked[0]: first}
    return {
        stage: command_files.resolved_template(options.template, options.set_, stage, options.data[0])
        for stage in asked
    }


def _said(options: CvOptions, stage: str | None, talk: Talk) -> Callable[[Fold], None]:
    from .report import duration, score_text

    several, noted = options.stages or len(options.stage or ()) > 1, set[str]()

    def say(fold: Fold) -> None:
        for note in fold.notes:
            if note not in noted:  # one that all folds have is said once
                talk(f"warning: {note}")
        noted.update(fold.notes)
        name, value = next(iter(fold.scores.items()))
        of_stage = f"{stage}, " if several and stage else ""
        how = "" if fold.converged else ", not converged"
        done = f"{of_stage}fold {fold.number} of {options.folds}"
        talk(f"{done}: {name} {score_text(value)}, {duration(fold.seconds)}{how}")

    return say


def _write(options: CvOptions, data: DataSpec, found: CrossValidation) -> None:
    """The data with the predictions of all folds. It is read again, as the corpus does not have its bytes."""
    from ..data import TaggedOutput, stream_corpus, with_gold_kept
    from ..foundation import write_whole

    data = with_gold_kept(data)
    output, done, pieces = TaggedOutput(data), 0, []
    labels, files = list(found.predictions), command_files.data_files(options.data)
    for chunk in chain.from_iterable(stream_corpus(file, data, required=labels, flush=False) for file in files):
        last = done + chunk.corpus.num_tokens
        pieces.append(output.write(chunk, {label: texts[done:last] for label, texts in found.predictions.items()}))
        done = last
    assert options.output is not None
    write_whole(options.output, [*pieces, output.close()])


def _as_json(options: CvOptions, corpus: Corpus, found: Sequence[CrossValidation]) -> dict[str, Any]:
    from .label_report import tables_json

    wants_tables = options.by_label or options.confusion
    return {
        "folds": options.folds,
        "seed": options.seed,
        "sentences": corpus.num_sentences,
        "tokens": corpus.num_tokens,
        "stages": [
            {
                "stage": one.stage,
                "mean": one.mean,
                "deviation": one.deviation,
                "scores": one.scores,
                "folds": [
                    {**vars(each), "sentences": len(each.sentences), "scores": each.scores} for each in one.folds
                ],
                **({"tables": tables_json(one.tables)} if wants_tables else {}),
            }
            for one in found
        ],
    }


# in words -------------------------------------------------------------------------------------------------------------


def _parts(options: CvOptions, corpus: Corpus, found: Sequence[CrossValidation]) -> Iterator[Part]:
    from .label_report import confusion_parts, state_parts, type_parts

    yield _of_one(found[0]) if len(found) == 1 else of_stages(found)
    size = f"{corpus.num_sentences:,} sentences, {corpus.num_tokens:,} tokens"
    unseen = max(one.scores["unseen_labels"] for one in found)
    strange = f"\nlabels that only their fold has: {unseen:,}, counted as wrong" if unseen else ""
    yield f"{options.folds} folds of {size}; seed {options.seed}{strange}"
    for one in found:
        if len(found) > 1 and (options.by_label or options.confusion):
            yield f"stage {printable(one.stage)}"
        if options.by_label:
            yield from chain(state_parts(one.tables), type_parts(one.tables))
        if options.confusion:
            yield from confusion_parts(one.tables)


def _of_one(found: CrossValidation) -> Table:
    """A row for each score: mean, deviation, all predictions together, folds."""
    from .report import TEXT, WHOLE, table

    mean, deviation = found.mean, found.deviation
    rows = []
    for name in _shown_scores(mean):
        together, *folds = (scores.get(name, math.nan) for scores in (found.scores, *(f.scores for f in found.folds)))
        figures = (_figure(value, mean[name]) for value in (mean[name], deviation[name], together, *folds))
        rows.append([name, *figures])
    headings = ["mean", "sd", "together", *(f"fold {fold.number}" for fold in found.folds)]
    return table([(TEXT, ["score"]), (WHOLE, headings)], rows)


def of_stages(found: Sequence[CrossValidation], head: str = "stage") -> Table:
    """A row for each stage: mean ± deviation of each score."""
    from .report import NUMBER, TEXT, WHOLE, duration, table

    shown = _shown_scores({name: 0.0 for one in found for name in one.mean})
    names = [name for name in shown if name.rpartition(".")[2] not in BESIDE_F1]
    rows = []
    for one in found:
        mean, deviation = one.mean, one.deviation
        cells = [
            f"{_figure(mean[name], mean[name])} ± {_figure(deviation[name], mean[name])}" if name in mean else ""
            for name in names
        ]
        rows.append([one.stage, *cells, duration(sum(fold.seconds for fold in one.folds))])
    headings = [name.removesuffix(".f1") for name in names]
    return table([(TEXT, [head]), (NUMBER, headings), (WHOLE, ["time"])], rows)


def _shown_scores(scores: Mapping[str, float]) -> list[str]:
    """Their names without those of tables, of which the mean over classes stays."""
    return [name for name in scores if name.partition("(")[0] not in TABLES or name.endswith((").macro_f1", ").right"))]


def _figure(value: float, like: float) -> str:
    """A rate in percent, a log-likelihood in nats; `like` says which it is. Empty for what is not there."""
    if math.isnan(value):
        return ""
    return f"{100 * value:.2f}" if like >= 0.0 else f"{value:.2f}"
