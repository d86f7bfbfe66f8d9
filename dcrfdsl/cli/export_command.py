"""`dcrfdsl export`: a model as a program of its own or a page, as a smaller model file, or as the file of another tool.

Not here: what is written (`export`), how a lighter model is scored (`metrics`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import click

from .. import crfsuite, export as export_room, model as models
from ..foundation import DcrfError, Table, dataclass, json_text, np, render
from .command_files import Output, load_model, read_features, read_gold, refuse_clash
from .console import Talk, refuse
from .options import DASH, Argument, Features, Json, Option, Quiet, Rounds, with_options
from .report import NUMBER, TEXT, bytes_text, file_size, print_table, table


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    model: Annotated[str, Argument("MODEL")]
    output: Annotated[str, Option("FILE", short="-o")]
    format: Annotated[str | None, Option("FORMAT")] = None
    bits: Annotated[int, Option("N")] = 64
    prune: Annotated[str | None, Option("LIMIT")] = None
    dev: Annotated[str | None, Option("DATA")] = None
    marginals: bool = False
    features: Features = None
    rounds: Rounds = None
    as_json: Json = False
    quiet: Quiet = False


@with_options(ExportOptions)
def export(options: ExportOptions) -> None:
    """Write a model as a program of its own, or as a smaller model."""
    by_suffix = SUFFIXES.get(Path(options.output).suffix, "python")
    name = options.format or by_suffix
    if name not in FORMATS:
        raise click.BadParameter(f"`{name}` is no format to write; the formats are {', '.join(FORMATS)}")
    if name in PROGRAMS and name != by_suffix:
        wanted = next((suffix for suffix, one in SUFFIXES.items() if one == name), ".py")
        raise click.BadParameter(f"`--format {name}` writes a file whose name ends in `{wanted}`")
    _refuse_clashes(options, name)
    if options.marginals and name != "onnx":
        refuse("idle-option", "`--marginals` is for `--format onnx`: what else is written gives probabilities as it is")
    FORMATS[name](options, Talk(options.quiet))


SUFFIXES = {".mjs": "javascript", ".html": "page", ".onnx": "onnx"}
PROGRAMS = ("python", "javascript", "page")


def _refuse_clashes(options: ExportOptions, name: str) -> None:
    """Raises `DcrfError` for outputs that are inputs. A model may be written again in its own place."""
    if options.output == "-":
        raise click.BadParameter(DASH, param_hint="-o")
    inputs = [options.dev, *(options.features or ())]
    if name != "model":
        inputs.append(options.model)
    outputs = [Output("-o", options.output)]
    if name == "javascript":
        outputs.append(Output("-o", Path(options.output).with_suffix(".d.mts"), beside=True))
    if name == "python":
        target = Path(options.output)  # of a folder, `export_tagger` writes `tagger.py` in it
        program = target / "tagger.py" if target.is_dir() or not target.suffix else target
        outputs = [Output("-o", program), Output("-o", program.with_suffix(".npz"), beside=True)]
    refuse_clash(outputs, inputs)


def _loaded(options: ExportOptions) -> models.TrainedModel:

    try:
        return load_model(options.model, read_features(options.features), options.rounds)
    except DcrfError as error:
        slugs = {diagnostic.slug for diagnostic in error.diagnostics}
        if options.format != "model" and "missing-feature-function" in slugs:
            message = f"the model cannot be exported: {error.diagnostics[0].message.replace(LOADED, OWN)}"
            refuse("cannot-export", message, "train without them, or tag with `dcrfdsl tag --features FILE.py`")
        raise


LOADED = "the model was trained with feature functions that are not loaded"
OWN = "its features call functions of yours"


# a program of its own -----------------------------------------------------------------------------------------------


def _tagger(options: ExportOptions, talk: Talk) -> None:
    threshold, share = _limits(options)
    model = _loaded(options)
    scored = _scored(options, model, talk)
    written = export_room.export_tagger(model, options.output, bits=options.bits, threshold=threshold, share=share)
    for pattern in written.slow:
        talk(f"note: `/{pattern}/` repeats a repetition: on long words the program may take long to match it")
    if not options.as_json:
        kind = model.spec.data.format if model.spec.data is not None else None
        if kind not in (None, *export_room.FORMATS) and written.program.suffix != ".html":
            read = " and ".join(f"`{name}`" for name in export_room.FORMATS)
            talk(f"note: from a shell the program reads {read}, not `{kind}`: give it JSON lines and `--jsonl`")
        sizes = [f"{path} ({file_size(path)})" for path in written.files]
        talk(f"wrote {' and '.join(sizes)}")
    _tell_costs(options, model, scored(written.model), written.num_weights, [*written.files, written.arrays])


# a smaller model file -----------------------------------------------------------------------------------------------


def _model(options: ExportOptions, talk: Talk) -> None:
    threshold, share = _limits(options)
    model = _loaded(options)
    scored = _scored(options, model, talk)
    made = export_room.lighter(model, bits=options.bits, threshold=threshold, share=share)
    made.model.save(options.output)
    if not options.as_json:
        talk(f"wrote {options.output} ({file_size(Path(options.output))})")
    _tell_costs(options, model, scored(made.model), _feature_weights(made.model), [Path(options.output)])


# what is smaller, and what it costs ---------------------------------------------------------------------------------

Scores = dict[str, tuple[float, float]]


def _scored(options: ExportOptions, model: models.TrainedModel, talk: Talk) -> Callable[[models.TrainedModel], Scores]:
    """A function that scores a lighter model beside `model` on the data of `--dev`, which is read now."""
    gold = None if options.dev is None else read_gold(options.dev, model.spec, talk)

    def scores(light: models.TrainedModel) -> Scores:
        if gold is None:
            return {}
        first, second = model.evaluate(gold), light.evaluate(gold)
        return {
            name: (value, float(second[name]))
            for name, value in first.items()
            if isinstance(value, float) and (name.endswith(".f1") or "." not in name)
        }

    return scores


def _feature_weights(model: models.TrainedModel) -> int:
    return int(np.count_nonzero(model.weights[model.parameters.num_bias :]))


def _tell_costs(
    options: ExportOptions, model: models.TrainedModel, scores: Scores, kept: int, files: list[Path]
) -> None:
    """Prints sizes and scores before and after.

    kept: weights of features that are not 0.   files: written, the last with weights.
    """
    sizes = Path(options.model).stat().st_size, files[-1].stat().st_size
    if options.as_json:
        record = {
            "files": list(dict.fromkeys(map(str, files))), "bytes": {"before": sizes[0], "after": sizes[1]},
            "weights": {
                when: count + model.parameters.num_bias
                for when, count in (("before", _feature_weights(model)), ("after", kept))
            },
            "scores": {name: {"before": one, "after": other} for name, (one, other) in scores.items()},
        }  # fmt: skip
        print(json_text(record))
    elif scores or options.bits != 64 or options.prune is not None:
        rows = [[name, _score(name, one), _score(name, other)] for name, (one, other) in scores.items()]
        rows.append(["weights of features", f"{_feature_weights(model):,}", f"{kept:,}"])
        rows.append(["size of the model", *map(bytes_text, sizes)])
        print_table(table([(TEXT, [""]), (NUMBER, ["before", "after"])], rows))


def _limits(options: ExportOptions) -> tuple[float, float]:
    """A threshold and a share, of which one is 0. Refuses `--bits` that no weight can have."""
    if options.bits not in export_room.WIDTHS:
        raise click.BadParameter(f"a weight cannot have {options.bits} bits; it can have 64, 32 or 16")
    prune = options.prune
    if prune is None:
        return 0.0, 0.0
    number, percent = prune.removesuffix("%"), prune.endswith("%")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf") or (percent and value > 100.0):
        raise click.BadParameter(f"`--prune {prune}`: expected a number such as 0.01, or a share such as 30%")
    return (0.0, value / 100.0) if percent else (value, 0.0)


def _score(name: str, value: float) -> str:
    """A share in percent; a log-likelihood or a risk as it is."""
    return f"{value:.4f}" if name in ("log_likelihood", "rank_risk") else f"{100 * value:.2f}"


# an ONNX graph, a model of CRFsuite ---------------------------------------------------------------------------------


def _onnx(options: ExportOptions, talk: Talk) -> None:
    if options.bits == 16:
        raise click.BadParameter("the numbers of an ONNX graph have 64 or 32 bits")
    _refuse_idle(options, ("--prune", "--dev"), "a graph has no weights of features, and labels as the model does")
    path = export_room.export_onnx(_loaded(options), options.output, bits=options.bits, marginals=options.marginals)
    talk(f"wrote {path} ({file_size(path)})")


def _crfsuite(options: ExportOptions, talk: Talk) -> None:
    reason = "CRFsuite's file has one kind of weights, and scores as the model does"
    _refuse_idle(options, ("--bits", "--prune", "--dev"), reason)
    for remark in crfsuite.write_crfsuite_model(_loaded(options), options.output):
        talk(render(remark))
    talk(f"wrote {options.output}")


def _refuse_idle(options: ExportOptions, names: tuple[str, ...], reason: str) -> None:
    given = {"--bits": options.bits != 64, "--prune": options.prune is not None, "--dev": options.dev is not None}
    for name in filter(given.__getitem__, names):
        refuse("idle-option", f"`{name}` is for programs and `--format model`: {reason}")
    if options.as_json:
        refuse("idle-option", "`--json` is for programs and `--format model`: there are no figures to print")


FORMATS: Table[Callable[[ExportOptions, Talk], None]] = Table(
    "format to export to",
    {**dict.fromkeys(PROGRAMS, _tagger), "onnx": _onnx, "model": _model, "crfsuite": _crfsuite},
)
