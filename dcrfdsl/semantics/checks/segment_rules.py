"""Rules on `segment` statements and labels of whole sentences, which do not belong to single tokens.

A model has one `segment` statement, trained by sums or maxima over segments. Labels of sentences have no positions, and
what goes along a sequence does not go along them. Not here: segments of the data that are too long
(`training.untrained_model`), sentences with several values in the data (`data.sentence_states`), names of columns and
lexicons (`term_reader`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from ...foundation import DcrfError, Diagnostic
from ...syntax import CliqueSpec, Reference, Scheme, Site
from ..conditions import memory_sites, sentence_labels
from ..schema import SCHEMES, Path, longest_segment, place_offset, place_text
from ..settings import HmsvmSettings, inference_settings
from .checked_stages import StageView, stage_views
from .context import Context, Rule, constraint_nodes, listed

LONGEST = 1000  # tokens of a segment; candidates of more would fill the memory
SEGMENT_CRITERIA = ("likelihood", "perceptron", "hmsvm", "mce", "marginal", "exponential", "adaboost")
SEGMENT_OPTIMIZERS = ("auto", "lbfgs", "owlqn", "proximal", "cg", "quickprop", "sgd")  # of the likelihood
SEGMENT = "cannot-segment"


def _segments(context: Context) -> list[tuple[int, CliqueSpec]]:
    return [(n, clique) for n, clique in enumerate(context.spec.cliques) if clique.segmental]


def segment_statements(context: Context) -> Iterator[Diagnostic]:
    """One statement, over a label, with a limit."""
    spec, found = context.spec, _segments(context)
    for n, clique in found:
        name, path = clique.sites[0].variable, ("cliques", n)
        label = spec.labels_by_name.get(name)
        if label is None and context.named(name, "latent variable", "memory", "view") is not None:
            message = f"`{name}` is no label, and segments are those of a label"
            yield context.complaint(SEGMENT, message, (*path, "sites", 0, "variable"), "no label")
        if label is not None and isinstance(label.domain, Scheme) and SCHEMES[label.domain.name].apart:
            message = f"in `{label.domain.name}` a segment may begin with two marks, and `segment` needs one"
            remedy = "declare `bio(…)`, and mark the data anew: `dcrfdsl convert DATA --scheme LABEL=bio`"
            at = ("labels", spec.labels.index(label), "domain")
            yield context.complaint(SEGMENT, message, at, "two marks", remedy, [(path, "over segments")])
        if label is not None and isinstance(label.domain, Scheme) and not label.constrain:
            message = f"label `{name}` may make illegal moves, and then nothing says what its segments are"
            at = ("labels", spec.labels.index(label), "constrain")
            yield context.complaint(SEGMENT, message, at, "illegal moves", "leave out `constrain = no`")
        limit = longest_segment(spec, clique)
        if not 2 <= limit <= LONGEST:
            message = f"`up to {limit}`: segments have up to 2 to {LONGEST} tokens"
            remedy = "a token has a `clique`" if limit < 2 else "write `with longer = together`"
            yield context.complaint("bad-setting", message, (*path, "up_to"), "tokens", remedy)
    for n, _ in found[1:]:
        message = "a model has one `segment` statement, and this is another"
        others = [(("cliques", found[0][0], "keyword"), "the first one")]
        yield context.complaint(SEGMENT, message, ("cliques", n, "keyword"), help="join their lists", others=others)


def segment_training(context: Context) -> Iterator[Diagnostic]:
    """The criterion sees whole labellings, and decoding is not that of pieces."""
    found = _segments(context)
    if not found:
        return
    others = [(("cliques", found[0][0], "keyword"), "over segments")]
    if context.spec.decode is not None and context.spec.decode.name == "local":
        message = "`local` decodes by pieces, which have no segments"
        yield context.complaint(SEGMENT, message, ("decode", "name"), help="write `decode joint`", others=others)
    for stage in stage_views(context):
        if stage.criterion not in SEGMENT_CRITERIA:
            able = listed(SEGMENT_CRITERIA, "or")
            message = f"a model with a `segment` statement is trained by {able}, not by `{stage.criterion}`"
            place, words = (*stage.path, "name"), "not over segments"
            yield context.complaint(SEGMENT, message, place, words, "write `train likelihood`", others)
            continue
        yield from _kernels(stage, others)
        if stage.criterion == "likelihood" and stage.optimizer not in SEGMENT_OPTIMIZERS:
            message = f"`{stage.optimizer}` counts features by tokens, and those of segments belong to several"
            remedy = f"possible are {listed(SEGMENT_OPTIMIZERS, 'or')}"
            yield context.complaint(SEGMENT, message, stage.place("optimizer"), help=remedy, others=others)
        if stage.settings.decode == "local":
            message = "`local` decodes by pieces, which have no segments"
            yield context.complaint(
                SEGMENT, message, stage.place("decode"), help="write `decode = joint`", others=others
            )


def _kernels(stage: StageView, others: Sequence[tuple[Path, str]]) -> Iterator[Diagnostic]:
    """An observation kernel compares the features of two positions."""
    if isinstance(stage.settings.criterion, HmsvmSettings) and stage.settings.clique_kernels:
        message = "a kernel compares single positions, and segments have several"
        place = stage.place("kernel", next(iter(stage.settings.clique_kernels)))
        yield stage.context.complaint(SEGMENT, message, place, "not over segments", "leave it out", others)


# labels of whole sentences --------------------------------------------------------------------------------------------


SENTENCE = "sentence-label"
SENTENCE_CRITERIA = ("likelihood", "perceptron")
SENTENCE_OPTIMIZERS = ("auto", "lbfgs", "owlqn", "cg", "quickprop", "sgd")  # of the likelihood


def sentence_declarations(context: Context) -> Iterator[Diagnostic]:
    """A label of a sentence has one state: it marks no segments, and is no variable of a chain."""
    spec = context.spec
    for n, label in enumerate(spec.labels):
        if label.per != "sentence":
            continue
        others = _declared(context, label.name)
        if isinstance(label.domain, Scheme):
            message = f"`{label.domain.name}` marks tokens, and `{label.name}` has one state for the whole sentence"
            remedy = f"list its states: `label {label.name} in {{A, B}} for sentence`"
            yield context.complaint(SENTENCE, message, ("labels", n, "domain"), "of tokens", remedy)
        for k, once in enumerate(spec.onces):
            if once.label == label.name:
                message = f"`{once.label}` comes once in a sentence as it is"
                yield context.complaint(SENTENCE, message, ("onces", k), "of tokens", "leave it out", others)
    whole = sentence_labels(spec)
    for n, memory in enumerate(spec.memories):
        with suppress(DcrfError):  # `variable_rules` reports it
            for name, _ in memory_sites(spec, memory):
                if name in whole:
                    message = f"a memory looks back along the tokens, and `{name}` is of the sentence"
                    remedy, others = "write a `require` or a clique over both", _declared(context, name)
                    yield context.complaint(SENTENCE, message, ("memories", n), "of tokens", remedy, others)


def sentence_places(context: Context) -> Iterator[Diagnostic]:
    """Cliques, pieces, segments and constraints name it without a place."""
    spec, whole = context.spec, sentence_labels(context.spec)
    for n, clique in enumerate(spec.cliques):
        of_sentence = [(k, site) for k, site in enumerate(clique.sites) if site.variable in whole]
        for k, site in of_sentence:
            yield from _placed(context, site, ("cliques", n, "sites", k))
        for _, site in of_sentence[:1]:
            others = _declared(context, site.variable)
            if clique.segmental:
                message = f"segments are of tokens, and `{site.variable}` is of the sentence"
                yield context.complaint(SENTENCE, message, ("cliques", n), "of tokens", others=others)
            elif clique.edges == "pad":
                message = f"`edges = pad` is for the ends of a sequence, and `{site.variable}` has none"
                at = ("cliques", n, "edges")
                yield context.complaint(SENTENCE, message, at, "no ends", "leave it out", others)
    held = {clique.label: clique for clique in spec.cliques}
    for n, piece in enumerate(spec.pieces):
        names = [site.variable for site in piece.over]
        names += [
            site.variable for member in piece.members if member.clique in held for site in held[member.clique].sites
        ]
        name = next((name for name in names if name in whole), None)
        if name is not None:
            message = f"pieces are placed at tokens, and `{name}` is of the sentence"
            others = _declared(context, name)
            yield context.complaint(SENTENCE, message, ("pieces", n), "at tokens", "leave it out", others)
    for n, constraint in enumerate(spec.constraints):
        for path, node in constraint_nodes(constraint, ("constraints", n)):
            if isinstance(node, Reference) and node.name in whole:
                yield from _placed(context, Site(variable=node.name, place=node.place), path)


def _placed(context: Context, site: Site, path: Path) -> Iterator[Diagnostic]:
    if place_offset(site.place) != 0:
        text, others = place_text(site.place), _declared(context, site.variable)
        message = f"`{site.variable}` is of the whole sentence, and `{text}` is a place in it"
        yield context.complaint(SENTENCE, message, path, "no place", f"write `{site.variable}`", others)


def sentence_training(context: Context) -> Iterator[Diagnostic]:
    """Criteria that are sums over labellings of sentences, and decoding of whole labellings or by marginals."""
    spec = context.spec
    name = next((label.name for label in spec.labels if label.per == "sentence"), None)
    if name is None:
        return
    others = _declared(context, name)
    with suppress(DcrfError):  # `setting_rules` reports it
        if inference_settings(spec).method == "pruned":
            message = f"`pruned` goes along one chain, and `{name}` is of the sentence"
            yield context.complaint(SENTENCE, message, ("infer", "name"), help="write `infer exact`", others=others)
    if spec.decode is not None and spec.decode.name == "local":
        message = f"`local` decodes by pieces of tokens, and `{name}` is of the sentence"
        yield context.complaint(SENTENCE, message, ("decode", "name"), help="write `decode joint`", others=others)
    for stage in stage_views(context):
        if stage.criterion not in SENTENCE_CRITERIA:
            message = f"`{stage.criterion}` looks at tokens one by one, and `{name}` is of the sentence"
            remedy = f"train by {listed(SENTENCE_CRITERIA, 'or')}"
            yield context.complaint(SENTENCE, message, (*stage.path, "name"), "of tokens", remedy, others)
        elif stage.criterion == "likelihood" and stage.optimizer not in SENTENCE_OPTIMIZERS:
            message = f"`{stage.optimizer}` counts features by tokens, and `{name}` is of the sentence"
            remedy = f"possible are {listed(SENTENCE_OPTIMIZERS, 'or')}"
            yield context.complaint(SENTENCE, message, stage.place("optimizer"), "by tokens", remedy, others)
        if stage.settings.infer is not None and stage.settings.infer.method == "pruned":
            message = f"`pruned` goes along one chain, and `{name}` is of the sentence"
            yield context.complaint(
                SENTENCE, message, stage.place("infer"), help="write `infer = exact`", others=others
            )
        if stage.settings.decode == "local":
            message = f"`local` decodes by pieces of tokens, and `{name}` is of the sentence"
            yield context.complaint(
                SENTENCE, message, stage.place("decode"), help="write `decode = joint`", others=others
            )


def _declared(context: Context, name: str) -> list[tuple[Path, str]]:
    """The declaration of a label of the sentence."""
    numbers = [n for n, label in enumerate(context.spec.labels) if label.name == name and label.per == "sentence"]
    return [(("labels", numbers[0], "per"), "of the sentence")] if numbers else []


RULES: tuple[Rule, ...] = (
    segment_statements, segment_training, sentence_declarations, sentence_places, sentence_training,
)  # fmt: skip
