"""Rules on `segment` statements: one for a chain of one label, trained by sums or maxima over segments.

Not here: segments of the data that are too long (`training.gold_segments`), names of columns and lexicons
(`segment_terms`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from ...foundation import DcrfError, Diagnostic
from ..schema import (
    CliqueSpec,
    Path,
    Reference,
    Scheme,
    longest_segment,
    place_offset,
    shift_of_site,
)
from ..settings import AutoSettings, ExactSettings, HmsvmSettings, SegmentsLoss, inference_settings
from .context import Context, Rule, listed
from .optimizer_rules import StageView, stage_views
from .walk import constraint_nodes

__all__ = ["RULES"]

LONGEST = 1000  # tokens of a segment; candidates of more would fill the memory
CRITERIA = ("likelihood", "perceptron", "hmsvm")
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


def chain(context: Context) -> Iterator[Diagnostic]:
    """The rest of the model is a chain of that label, whose cliques join neighbours at most."""
    found, spec = _segments(context), context.spec
    if not found:
        return
    others = [(("cliques", found[0][0], "keyword"), "over segments")]
    variables = [(part, n) for part in ("labels", "latents", "memories") for n in range(len(getattr(spec, part)))]
    own = found[0][1].sites[0].variable
    for part, n in variables:
        if (name := getattr(spec, part)[n].name) != own:
            message = f"a `segment` statement needs a chain of one label, and `{name}` is another variable"
            remedy = "train a model of its own for it, or leave out `segment`"
            yield context.complaint(SLUG, message, (part, n), "another variable", help=remedy, others=others)
    for n, clique in enumerate(spec.cliques):
        shifts = [] if clique.relational else [shift_of_site(site.place) for site in clique.sites]
        if clique.relational or max(shifts) - min(shifts) > 1 or len(shifts) > 2:
            message = f"a `segment` statement needs cliques of neighbours, and `{clique.label}` reaches further"
            yield context.complaint(SLUG, message, ("cliques", n), "further than neighbours", others=others)
    for n, constraint in enumerate(spec.constraints):
        read = [node for _, node in constraint_nodes(constraint) if isinstance(node, Reference)]
        offsets = [
            place_offset(node.place) or 0 for node in read if node.name in spec.hidden_names | {*spec.views_by_name}
        ]
        if offsets and max(offsets) - min(offsets) > 1:
            message = (
                f"a `segment` statement needs constraints on neighbours, and this `{constraint.action}` reaches further"
            )
            yield context.complaint(SLUG, message, ("constraints", n), "further than neighbours", others=others)


def training(context: Context) -> Iterator[Diagnostic]:
    """Inference is exact, the criterion sees whole labellings, and the rule of decoding is not that of pieces."""
    found = _segments(context)
    if not found:
        return
    others = [(("cliques", found[0][0], "keyword"), "over segments")]
    with suppress(DcrfError):  # `setting_rules` reports it
        asked = inference_settings(context.spec)
        if not isinstance(asked, ExactSettings | AutoSettings):
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
        if isinstance(stage.settings.criterion, HmsvmSettings):
            yield from _margins(stage, stage.settings.criterion, others)
        if stage.criterion == "likelihood" and stage.optimizer not in OPTIMIZERS:
            message = f"`{stage.optimizer}` counts features by tokens, and those of segments belong to several"
            remedy = f"possible are {listed(OPTIMIZERS, 'or')}"
            yield context.complaint(SLUG, message, stage.place("optimizer"), help=remedy, others=others)
        if stage.settings.infer is not None and not isinstance(stage.settings.infer, ExactSettings | AutoSettings):
            message = f"segments are summed out exactly, not by `{stage.settings.infer.method}`"
            yield context.complaint(SLUG, message, stage.place("infer"), help="write `infer = exact`", others=others)
        if stage.settings.decode == "local":
            message = "`local` decodes by pieces, which have no segments"
            yield context.complaint(SLUG, message, stage.place("decode"), help="write `decode = joint`", others=others)


def _margins(stage: StageView, margins: HmsvmSettings, others: Sequence[tuple[Path, str]]) -> Iterator[Diagnostic]:
    """Segments are decoded by one recursion, which has room for costs of tokens and no list of all violations."""
    for key, asked, message, remedy in (
        ("loss", isinstance(margins.loss, SegmentsLoss),
         "`loss = segments` adds a variable, and a `segment` statement needs a chain of one label",
         "write `loss = hamming`"),
        ("slack", margins.slack == "labelling",
         "`slack = labelling` lists labellings by tables of cliques, which do not have the weights of segments",
         "write `slack = sequence`"),
        ("kernel", bool(stage.settings.clique_kernels),
         "a kernel compares single positions, and segments have several", "leave it out"),
    ):  # fmt: skip
        if asked:
            at = stage.place(key, *list(stage.settings.clique_kernels)[: key == "kernel"])
            yield stage.context.complaint(SLUG, message, at, "not over segments", help=remedy, others=others)


RULES: tuple[Rule, ...] = (statements, chain, training)
