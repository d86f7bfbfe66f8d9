"""Rules on `segment` statements: one a model, trained by sums or maxima over segments.

Not here: segments of the data that are too long (`training.gold_segments`), names of columns and lexicons
(`segment_terms`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from ...foundation import DcrfError, Diagnostic
from ..conditions import CHAIN_CRITERIA, segments_in_graph
from ..schema import SCHEMES, CliqueSpec, Path, Scheme, longest_segment
from ..settings import AutoSettings, ExactSettings, HmsvmSettings, inference_settings
from .context import Context, Rule, listed
from .optimizer_rules import StageView, stage_views

LONGEST = 1000  # tokens of a segment; candidates of more would fill the memory
CRITERIA = (*CHAIN_CRITERIA, "mce", "marginal", "exponential", "adaboost")
OPTIMIZERS = ("auto", "lbfgs", "owlqn", "proximal", "cg", "quickprop", "sgd")  # of the likelihood
SLUG = "cannot-segment"


def _segments(context: Context) -> list[tuple[int, CliqueSpec]]:
    return [(n, clique) for n, clique in enumerate(context.spec.cliques) if clique.segmental]


def statements(context: Context) -> Iterator[Diagnostic]:
    """One statement, over a label, with a limit."""
    spec, found = context.spec, _segments(context)
    for n, clique in found:
        name, path = clique.sites[0].variable, ("cliques", n)
        label = spec.labels_by_name.get(name)
        if label is None and context.named(name, "latent variable", "memory", "view") is not None:
            message = f"`{name}` is no label, and segments are those of a label"
            yield context.complaint(SLUG, message, (*path, "sites", 0, "variable"), "no label")
        if label is not None and isinstance(label.domain, Scheme) and SCHEMES[label.domain.name].apart:
            message = f"in `{label.domain.name}` a segment may begin with two marks, and `segment` needs one"
            remedy = "declare `bio(…)`, and mark the data anew: `dcrfdsl convert DATA --scheme LABEL=bio`"
            at = ("labels", spec.labels.index(label), "domain")
            yield context.complaint(SLUG, message, at, "two marks", help=remedy, others=[(path, "over segments")])
        if label is not None and isinstance(label.domain, Scheme) and not label.constrain:
            message = f"label `{name}` may make illegal moves, and then nothing says what its segments are"
            at = ("labels", spec.labels.index(label), "constrain")
            yield context.complaint(SLUG, message, at, "illegal moves", help="leave out `constrain = no`")
        limit = longest_segment(spec, clique)
        if not 2 <= limit <= LONGEST:
            message = f"`up to {limit}`: segments have up to 2 to {LONGEST} tokens"
            remedy = "a token has a `clique`" if limit < 2 else "write `with longer = together`"
            yield context.complaint("bad-setting", message, (*path, "up_to"), "tokens", help=remedy)
    for n, _ in found[1:]:
        message = "a model has one `segment` statement, and this is another"
        others = [(("cliques", found[0][0], "keyword"), "the first one")]
        yield context.complaint(SLUG, message, ("cliques", n, "keyword"), help="join their lists", others=others)


def training(context: Context) -> Iterator[Diagnostic]:
    """The criterion sees whole labellings, decoding is not that of pieces, and chains are summed exactly."""
    found = _segments(context)
    if not found:
        return
    others, in_graph = [(("cliques", found[0][0], "keyword"), "over segments")], segments_in_graph(context.spec)
    with suppress(DcrfError):  # `setting_rules` reports it
        asked = inference_settings(context.spec)
        if not in_graph and not isinstance(asked, ExactSettings | AutoSettings):
            message = f"segments are summed out exactly, not by `{asked.method}`"
            yield context.complaint(
                SLUG, message, ("infer", "name"), "not over segments", help="write `infer exact`", others=others
            )
    if context.spec.decode is not None and context.spec.decode.name == "local":
        message = "`local` decodes by pieces, which have no segments"
        yield context.complaint(SLUG, message, ("decode", "name"), help="write `decode joint`", others=others)
    for stage in stage_views(context):
        if stage.criterion not in CRITERIA:
            message = (
                f"a model with a `segment` statement is trained by {listed(CRITERIA, 'or')}, not by `{stage.criterion}`"
            )
            place, words = (*stage.path, "name"), "not over segments"
            yield context.complaint(SLUG, message, place, words, help="write `train likelihood`", others=others)
            continue
        yield from _kernels(stage, others)
        if stage.criterion == "likelihood" and stage.optimizer not in OPTIMIZERS:
            message = f"`{stage.optimizer}` counts features by tokens, and those of segments belong to several"
            remedy = f"possible are {listed(OPTIMIZERS, 'or')}"
            yield context.complaint(SLUG, message, stage.place("optimizer"), help=remedy, others=others)
        own = stage.settings.infer
        if not in_graph and own is not None and not isinstance(own, ExactSettings | AutoSettings):
            message = f"segments are summed out exactly, not by `{own.method}`"
            yield context.complaint(SLUG, message, stage.place("infer"), help="write `infer = exact`", others=others)
        if stage.settings.decode == "local":
            message = "`local` decodes by pieces, which have no segments"
            yield context.complaint(SLUG, message, stage.place("decode"), help="write `decode = joint`", others=others)


def _kernels(stage: StageView, others: Sequence[tuple[Path, str]]) -> Iterator[Diagnostic]:
    """An observation kernel compares the features of two positions."""
    if isinstance(stage.settings.criterion, HmsvmSettings) and stage.settings.clique_kernels:
        message = "a kernel compares single positions, and segments have several"
        place = stage.place("kernel", next(iter(stage.settings.clique_kernels)))
        yield stage.context.complaint(SLUG, message, place, "not over segments", help="leave it out", others=others)


RULES: tuple[Rule, ...] = (statements, training)
