"""`dcrfdsl calibrate`: makes a model's probabilities fit held-out data, and shows how far they do.

A reliability diagram shows the share that is right beside the probability, as bars of text and as an SVG:

    0.7 - 0.8    1,204   0.752   0.731   ############################.|
                 count   says    is      a bar as long as the share; | stands at the mean probability

Not here: calibration (`model.calibration`), bins and errors (`metrics.reliability`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from ..foundation import DcrfError, dataclass, ensure_writable, figure, json_text, write_whole
from .command_files import STDIN, Output, load_model, read_features, read_gold, refuse_clash
from .console import Talk, refuse
from .options import Argument, Features, Json, Option, Quiet, Threads, with_options

if TYPE_CHECKING:
    from ..data import Corpus
    from ..metrics import Reliability
    from ..model import TrainedModel


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    model: Annotated[str, Argument("MODEL")]
    data: Annotated[str, Argument("DATA")]
    output: Annotated[Path | None, Option("MODEL", short="-o")] = None
    method: Annotated[str, Option("METHOD")] = "temperature"
    cover: Annotated[float | None, Option("SHARE")] = None
    by_type: bool = False
    recall: Annotated[list[str] | None, Option("TYPE=SHARE")] = None
    precision: Annotated[list[str] | None, Option("TYPE=SHARE")] = None
    test: Annotated[str | None, Option("DATA")] = None
    of: Annotated[str | None, Option("KIND")] = None
    bins: Annotated[int, Option("N", min=1)] = 10
    diagram: Annotated[Path | None, Option("FILE.svg")] = None
    threads: Threads = None
    features: Features = None
    as_json: Json = False
    quiet: Quiet = False


Reliabilities = Mapping[str, "Reliability"]


@with_options(CalibrateOptions)
def calibrate(options: CalibrateOptions) -> None:
    """Make probabilities fit held-out data, and show how far they do."""
    from ..model import CALIBRATIONS, KINDS, charts_file, reliability_chart
    from ..semantics import has_segments
    from .inference_notes import PRUNED_LIKELIHOOD

    if options.method not in CALIBRATIONS:
        raise click.BadParameter(f"`{options.method}` is no way to calibrate; the ways are {', '.join(CALIBRATIONS)}")
    if options.of is not None and options.of not in KINDS:
        raise click.BadParameter(f"`{options.of}` is no kind of prediction; the kinds are {', '.join(KINDS)}")
    _check_outputs(options)
    decides = options.cover is not None or bool(options.recall or options.precision)
    idle = {
        "--method": decides and options.method != CALIBRATIONS[0], "--diagram": decides and options.diagram,
        "--test": decides and options.test, "--by-type": options.cover is None and options.by_type,
    }  # fmt: skip
    for name in (name for name, is_given in idle.items() if is_given):
        refuse("idle-option", f"`{name}` has no effect on what is asked for", "leave it out, or see `calibrate --help`")
    talk = Talk(options.quiet)
    model = load_model(options.model, read_features(options.features))
    corpus = read_gold(options.data, model.spec, talk)
    test = None if options.test is None else read_gold(options.test, model.spec, talk)
    if decides:
        of = "segments" if any(has_segments(model.states[label]) for label in model.labels) else "tokens"
        _decide(options, model, corpus, options.of or of, talk)
        return
    if model.record.thresholds:
        talk("note: sets and operating points belong to the probabilities as they were, so the new model has none")
    calibrated = model.calibration.calibrated(corpus, method=options.method, threads=options.threads)
    before, after = _judged(model, calibrated, corpus, test, options)
    kinds = [kind for kind in KINDS if before[kind].total and not (kind == "layers" and len(model.labels) == 1)]
    drawn = options.of or ("segments" if "segments" in kinds else "tokens")
    if options.output is not None:
        calibrated.save(options.output)
    if options.diagram is not None:
        charts = [
            (f"{drawn}, {when}: ECE {judged.error:.4f}, {judged.total:,} judged", reliability_chart(when, judged))
            for when, judged in (("before", before[drawn]), ("after", after[drawn]))
        ]
        write_whole(options.diagram, (charts_file(charts).encode(),))
    if options.method == "temperature" and not model.structure.sums_fit:
        talk(PRUNED_LIKELIHOOD)
    worse = [kind for kind in kinds if _is_worse(before[kind], after[kind])]
    if worse:
        talk(f"warning: the probabilities of {' and '.join(worse)} fit worse after calibration; more data may help")
    if options.as_json:
        print(json_text(_as_json(options, calibrated, {kind: (before[kind], after[kind]) for kind in kinds})))
        return
    for line in _report(options, calibrated, before, after, kinds, drawn):
        print(line)
    sys.stdout.flush()  # before what goes to the other stream
    for path in (options.output, options.diagram):
        if path is not None:
            talk(f"wrote {path}")


def _check_outputs(options: CalibrateOptions) -> None:
    """Raises `DcrfError` for outputs that cannot be written or are inputs, before anything is read."""
    inputs = (options.data, options.test, *(options.features or ()))
    if (options.data, options.test).count(STDIN) > 1:
        raise click.BadParameter("`-` (stdin) can be given once only")
    written, drawn = Output("-o", options.output), Output("--diagram", options.diagram)
    refuse_clash((written, drawn), inputs)
    refuse_clash((drawn,), (options.model,))  # which the calibrated model may replace
    for output in (options.output, options.diagram):
        if output is not None:
            ensure_writable(output)


def _judged(
    model: TrainedModel, calibrated: TrainedModel, corpus: Corpus, test: Corpus | None, options: CalibrateOptions
) -> tuple[Reliabilities, Reliabilities]:
    """The reliability of each kind before and after, on data that the calibration has not seen."""

    def on(judge: TrainedModel, data: Corpus) -> Reliabilities:
        return judge.calibration.reliabilities(data, bins=options.bins, threads=options.threads)

    if test is not None:
        return on(model, test), on(calibrated, test)
    half = corpus.num_sentences // 2
    if not half:
        refuse("cannot-calibrate", f"`{options.data}` has one sentence, and none is left to judge by", "give more data")
    halves = corpus.slice(0, half), corpus.slice(half, corpus.num_sentences)
    try:
        fitted = [model.calibration.calibrated(one, method=options.method, threads=options.threads) for one in halves]
    except DcrfError as error:
        problem = error.diagnostics[0]
        message = f"half of the data is too little to judge the calibration by the other half: {problem.message}"
        refuse(problem.slug, message, "give more data, or other data to judge by: `--test DATA`")
    after = [on(judge, own) for judge, own in zip(fitted, halves[::-1], strict=True)]
    return on(model, corpus), {kind: after[0][kind] + after[1][kind] for kind in after[0]}


def _decide(options: CalibrateOptions, model: TrainedModel, corpus: Corpus, kind: str, talk: Talk) -> None:
    """Finds sets with a promise and operating points, and says what they are."""
    from ..model import ASSUMED
    from .inference_notes import threshold_lines

    decisions, shares = model.decisions, {"recall": _shares(options.recall), "precision": _shares(options.precision)}
    if options.cover is not None:
        model = decisions.with_sets(corpus, options.cover, of=kind, by_type=options.by_type, threads=options.threads)
    if any(shares.values()):
        model = model.decisions.with_points(corpus, **shares, threads=options.threads)
    if options.output is not None:
        model.save(options.output)
    if options.as_json:
        found = [asdict(one) for one in model.record.thresholds]
        print(json_text({"assumes": ASSUMED, "thresholds": found}))
        return
    for line in threshold_lines(model.record.thresholds):
        print(line)
    if options.cover is not None:
        print(f"promised if {ASSUMED}")
    sys.stdout.flush()
    if options.output is not None:
        talk(f"wrote {options.output}")


def _shares(texts: Sequence[str] | None) -> dict[str, float]:
    """Types and shares of `TYPE=SHARE`."""
    try:
        return {name: float(share) for name, _, share in (text.rpartition("=") for text in texts or ())}
    except ValueError:
        raise click.BadParameter(f"`{', '.join(texts or ())}`: expected types and shares, as ORG=0.95") from None


# what is printed --------------------------------------------------------------------------------------------------


def _report(
    options: CalibrateOptions, calibrated: TrainedModel, before: Reliabilities, after: Reliabilities,
    kinds: list[str], drawn: str,
) -> Iterator[str]:  # fmt: skip
    fit = calibrated.record.calibration
    assert fit is not None
    if options.method == "temperature":
        yield (
            f"temperature {fit.temperature:.4g}: all scores are multiplied by it; log-likelihood of "
            f"{fit.sentences:,} held-out sentences {figure(fit.after)}, before {figure(fit.before)}"
        )
    else:
        yield f"isotonic: {sum(len(one.corners) for one in fit.maps):,} corners of {len(fit.maps)} rising functions"
    how = f"on `{options.test}`" if options.test else "on each half of the data, calibrated on the other half"
    yield f"expected calibration error, {options.bins} bins of equal width, {how}:"
    yield ""
    yield f"{'':<10} {'count':>9} {'before':>9} {'after':>9}   Brier: {'before':>9} {'after':>9}"
    for kind in kinds:
        one, other = before[kind], after[kind]
        yield (
            f"{kind:<10} {one.total:>9,} {one.error:>9.4f} {other.error:>9.4f}          {one.brier:>9.4f} "
            f"{other.brier:>9.4f}"
        )
    for name, judged in (("before", before[drawn]), ("after", after[drawn])):
        yield ""
        yield f"{drawn}, {name}:"
        yield from _bars(judged)


def _is_worse(before: Reliability, after: Reliability) -> bool:
    """Whether a figure that is printed is worse after calibration."""
    return round(after.error, 4) > round(before.error, 4) or round(after.brier, 4) > round(before.brier, 4)


def _as_json(
    options: CalibrateOptions, calibrated: TrainedModel, kinds: Mapping[str, tuple[Reliability, Reliability]]
) -> dict[str, Any]:
    return {
        "method": options.method,
        "temperature": calibrated.temperature,
        "judged": {"bins": options.bins, "on": options.test or "halves"},
        "kinds": {
            kind: {name: _judged_json(judged) for name, judged in zip(("before", "after"), both, strict=True)}
            for kind, both in kinds.items()
        },
    }


def _judged_json(judged: Reliability) -> dict[str, Any]:
    keys = ("from", "to", "count", "confidence", "accuracy")
    return {
        "count": judged.total,
        "error": judged.error,
        "largest_error": judged.largest_error,
        "brier": judged.brier,
        "bins": [dict(zip(keys, one, strict=True)) for one in _bins(judged)],
    }


# reliability diagrams ------------------------------------------------------------------------------------------------


WIDTH = 40  # characters of a bar that is 1 long


def _bins(judged: Reliability) -> Iterator[tuple[float, float, int, float, float]]:
    """Of each bin: its edges, how many predictions lie in it, their mean probability, and the share that is right."""
    columns = (column.tolist() for column in (judged.counts, judged.confidence, judged.accuracy))
    edges = judged.edges.tolist()
    yield from zip(edges[:-1], edges[1:], *columns, strict=True)


def _bars(judged: Reliability) -> Iterator[str]:
    """A line for each bin that is not empty, under a heading."""
    digits = 1 if len(judged.counts) in (1, 2, 5, 10) else 2
    wide = max(len("count"), len(f"{int(judged.counts.max(initial=0)):,}"))
    yield f"{'probability':<{2 * digits + 9}} {'count':>{wide}}   says    is"
    for low, high, count, says, right in _bins(judged):
        if not count:
            continue
        line = list("#" * round(right * WIDTH) + "." * (WIDTH - round(right * WIDTH)))
        line.insert(round(says * WIDTH), "|")
        span = f"{low:.{digits}f} - {high:.{digits}f}"
        yield f"{span:<{2 * digits + 9}} {count:>{wide},}   {says:.3f}   {right:.3f}   {''.join(line)}"
