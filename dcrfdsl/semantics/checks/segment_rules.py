"""Rules on `segment` and labels of whole sentences, which do not belong to single tokens.

A model has one `segment` statement. What weighs or bounds segments is trained by sums or maxima over them. Labels of
sentences have no positions, and what goes along a sequence does not go along them. Not here: segments of the data that
are too long (`training.untrained_model`), what `runs` bounds (`run_rules`), sentences with several values in the data
(`data.sentence_states`), which lists are read (`name_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ...foundation import DcrfError, Diagnostic
from ...syntax import CliqueSpec, Label, Node, Place, Reference, Runs, Scheme, nodes as ex
from .. import schema
from ..conditions import memory_sites, sentence_labels
from ..settings import HmsvmSettings, inference_settings
from .checked_stages import StageView, stage_views
from .context import COLUMN, At, Context, Others, Rule, constraint_nodes, listed
from .term_reader import TermReader, TermType

LONGEST = 1000  # tokens of a segment; candidates of more would fill the memory
SEGMENT_CRITERIA = ("likelihood", "perceptron", "hmsvm", "mce", "marginal", "exponential", "adaboost")
SEGMENT_OPTIMIZERS = ("auto", "lbfgs", "owlqn", "proximal", "cg", "quickprop", "sgd")  # of the likelihood
SEGMENT = "cannot-segment"


class SegmentTermReader(TermReader):
    """Reads the list of a `segment` statement: `length`, and columns inside of `first`, `last`, `any` or `joined`."""

    def offset(self, feature: ex.Feature) -> None:
        """Another rule says that none stands there."""

    def reference(self, reference: ex.Reference, *, in_list: bool = False) -> TermType:
        name = reference.name
        if name == schema.LENGTH and schema.place_offset(reference.place) == 0:
            return "text"
        if name == "bias" and in_list:
            return "test"
        column = self.context.named(name, COLUMN) is not None or self.context.named(name, "feature group") is not None
        if column or name in ("first", "last", "index"):
            what = f"`{name}` is read at one token, and a segment has several"
            ways = "`joined(word)` for all of them, `any(word)`, `first(word)` and `last(word)` for one"
            at = reference.place_of("name")
            self.complain("token-in-segment", what, at, "at which token?", f"columns are read by {ways}")
            return "anything"
        return super().reference(reference, in_list=in_list)

    def apply(self, term: ex.Apply) -> TermType:
        counted = term.function == "bin" and len(term.arguments) == 2
        if counted or schema.gives_number(term):
            what = f"`{term.function}` is learned from tokens, or reads a window of them, and a segment has several"
            self.complain(
                SEGMENT, what, term.place_of("function"), "of a segment", "give edges, or compare: `length > 4`"
            )
            return "anything"
        if term.function not in schema.SEGMENT_FUNCTIONS:
            return super().apply(term)
        value = term.arguments[0].value if len(term.arguments) == 1 else None
        usage = f"write `{term.function}(COLUMN)`; functions go around it, as in `lower({term.function}(word))`"
        if not isinstance(value, ex.Reference):
            message = f"`{term.function}` takes a column of texts"
            self.complain("bad-argument", message, term.place_of("function"), "of a segment", usage)
            return "anything"
        inner = TermReader.reference(self, value)
        if inner not in ("text", "anything"):
            what = "a bag of texts" if inner == "texts" else f"a {inner}"
            message = f"`{term.function}` reads one text at each token, and this is {what}"
            self.complain("not-a-text", message, value, what, usage)
            return "anything"
        if term.function in ("any", "joined") and schema.place_offset(value.place) != 0:
            message = f"`{term.function}` reads the tokens of the segment, and not those beside it"
            remedy = "`first(word[-1])` is the token before the segment, `last(word[1])` the one after it"
            self.complain("bad-argument", message, value, "a place beside", remedy)
        return "texts" if term.function == "any" and inner == "text" else inner


def segment_statements(context: Context) -> Iterator[Diagnostic]:
    """One statement, over a label, with a limit."""
    spec = context.spec
    found = [clique for clique in spec.cliques if clique.segmental]
    for clique in found:
        name = clique.sites[0].variable
        label = spec.labels_by_name.get(name)
        if label is None and context.named(name, "latent variable", "memory", "view") is not None:
            message = f"`{name}` is no label, and segments are those of a label"
            yield context.complaint(SEGMENT, message, clique.sites[0].place_of("variable"), "no label")
        if label is not None:
            yield from ambiguous_segments(context, label, clique, SEGMENT)
        limit = schema.longest_segment(spec, clique)
        least, at_least = schema.shortest_segment(spec, clique), clique.place_of("least")
        if least > min(limit, LONGEST) >= 2:
            message = f"no segment has at least {least} and at most {limit} tokens"
            yield context.complaint("bad-setting", message, at_least, "tokens", f"write at most `from {limit}`")
        if not 2 <= limit <= LONGEST:
            message = f"`up to {limit}`: segments have up to 2 to {LONGEST} tokens"
            remedy = "a token has a `clique`" if limit < 2 else "write `with longer = together`"
            yield context.complaint("bad-setting", message, clique.place_of("up_to"), "tokens", remedy)
    for clique in found[1:]:
        message = "a model has one `segment` statement, and this is another"
        others = [(found[0].place_of("keyword"), "the first one")]
        yield context.complaint(SEGMENT, message, clique.place_of("keyword"), help="join their lists", others=others)


def ambiguous_segments(context: Context, label: Label, statement: CliqueSpec | Runs, slug: str) -> Iterator[Diagnostic]:
    """A label whose states do not tell its segments."""
    scheme = label.domain.name if isinstance(label.domain, Scheme) else None
    if scheme is not None and scheme in schema.SCHEMES and schema.SCHEMES[scheme].apart:
        message = f"in `{scheme}` a segment may begin with two marks, and `{statement.keyword}` needs one"
        remedy = "declare `bio(…)`, and mark the data anew: `dcrfdsl convert DATA --scheme LABEL=bio`"
        yield context.complaint(slug, message, label.domain, "two marks", remedy, [(statement, "over segments")])
    if scheme is not None and not label.constrain:
        message = f"label `{label.name}` may make illegal moves, and then nothing says what its segments are"
        at = label.place_of("constrain")
        yield context.complaint(slug, message, at, "illegal moves", "leave out `constrain = no`")


def segment_training(context: Context) -> Iterator[Diagnostic]:
    """The criterion sees whole labellings, and decoding is not that of pieces."""
    segments = next((clique for clique in context.spec.cliques if clique.segmental), None)
    first = segments or next(iter(context.spec.runs), None)
    if first is None:
        return
    slug = SEGMENT if segments else "cannot-bound-runs"
    others = [(first.place_of("keyword"), "over segments" if segments else "over runs")]
    yield from _not_local(context, slug, "`local` decodes by pieces, which have no segments", others)
    for stage in stage_views(context):
        if stage.criterion not in SEGMENT_CRITERIA:
            able = listed(SEGMENT_CRITERIA, "or")
            message = f"a model with a `{first.keyword}` statement is trained by {able}, not by `{stage.criterion}`"
            remedy = "write `train likelihood`"
            yield context.complaint(slug, message, stage.name, "not over segments", remedy, others)
            continue
        if segments is None:
            yield from _not_local(context, slug, "`local` decodes by pieces, which have no segments", others, stage)
            continue
        if isinstance(stage.settings.criterion, HmsvmSettings) and stage.settings.clique_kernels:
            message = "a kernel compares single positions, and segments have several"
            place = stage.place("kernel", next(iter(stage.settings.clique_kernels)))
            yield stage.context.complaint(SEGMENT, message, place, "not over segments", "leave it out", others)
        if stage.criterion == "likelihood" and stage.optimizer not in SEGMENT_OPTIMIZERS:
            message = f"`{stage.optimizer}` counts features by tokens, and those of segments belong to several"
            remedy = f"possible are {listed(SEGMENT_OPTIMIZERS, 'or')}"
            yield context.complaint(SEGMENT, message, stage.place("optimizer"), help=remedy, others=others)
        yield from _not_local(context, SEGMENT, "`local` decodes by pieces, which have no segments", others, stage)


def _not_local(
    context: Context, slug: str, message: str, others: Others, stage: StageView | None = None
) -> Iterator[Diagnostic]:
    """The `decode` of a stage, or of the template, must not be `local`."""
    rule = context.spec.decode
    if stage is not None and stage.settings.decode == "local":
        yield context.complaint(slug, message, stage.place("decode"), help="write `decode = joint`", others=others)
    elif stage is None and rule is not None and rule.name == "local":
        yield context.complaint(slug, message, rule.place_of("name"), help="write `decode joint`", others=others)


# labels of whole sentences --------------------------------------------------------------------------------------------


SENTENCE = "sentence-label"
SENTENCE_CRITERIA = ("likelihood", "perceptron")
SENTENCE_OPTIMIZERS = ("auto", "lbfgs", "owlqn", "cg", "quickprop", "sgd")  # of the likelihood


def sentence_declarations(context: Context) -> Iterator[Diagnostic]:
    """A label of a sentence has one state: it marks no segments, and is no variable of a chain."""
    spec = context.spec
    for label in spec.labels:
        if label.per != "sentence":
            continue
        others = _declared(context, label.name)
        if isinstance(label.domain, Scheme):
            message = f"`{label.domain.name}` marks tokens, and `{label.name}` has one state for the whole sentence"
            remedy = f"list its states: `label {label.name} in {{A, B}} for sentence`"
            yield context.complaint(SENTENCE, message, label.domain, "of tokens", remedy)
        for once in spec.onces:
            if once.label == label.name:
                message = f"`{once.label}` comes once in a sentence as it is"
                yield context.complaint(SENTENCE, message, once, "of tokens", "leave it out", others)
    whole = sentence_labels(spec)
    for memory in spec.memories:
        with suppress(DcrfError):  # `variable_rules` reports it
            for name, _ in memory_sites(spec, memory):
                if name in whole:
                    message = f"a memory looks back along the tokens, and `{name}` is of the sentence"
                    remedy, others = "write a `require` or a clique over both", _declared(context, name)
                    yield context.complaint(SENTENCE, message, memory, "of tokens", remedy, others)


def sentence_places(context: Context) -> Iterator[Diagnostic]:
    """Cliques, pieces, segments and constraints name it without a place."""
    spec, whole = context.spec, sentence_labels(context.spec)
    for clique in spec.cliques:
        of_sentence = [site for site in clique.sites if site.variable in whole]
        for site in of_sentence:
            yield from _placed(context, site.variable, site.place, site)
        for site in of_sentence[:1]:
            others = _declared(context, site.variable)
            if clique.segmental:
                message = f"segments are of tokens, and `{site.variable}` is of the sentence"
                yield context.complaint(SENTENCE, message, clique, "of tokens", others=others)
            elif clique.edges == "pad":
                message = f"`edges = pad` is for the ends of a sequence, and `{site.variable}` has none"
                at = clique.place_of("edges")
                yield context.complaint(SENTENCE, message, at, "no ends", "leave it out", others)
    held = {clique.label: clique for clique in spec.cliques}
    for piece in spec.pieces:
        names = [site.variable for site in piece.over]
        names += [
            site.variable for member in piece.members if member.clique in held for site in held[member.clique].sites
        ]
        name = next((name for name in names if name in whole), None)
        if name is not None:
            message = f"pieces are placed at tokens, and `{name}` is of the sentence"
            others = _declared(context, name)
            yield context.complaint(SENTENCE, message, piece, "at tokens", "leave it out", others)
    for node in (node for constraint in spec.constraints for node in constraint_nodes(constraint)):
        if isinstance(node, Reference) and node.name in whole:
            yield from _placed(context, node.name, node.place, node)


def _placed(context: Context, name: str, place: Place, at: Node) -> Iterator[Diagnostic]:
    if schema.place_offset(place) != 0:
        message = f"`{name}` is of the whole sentence, and `{schema.place_text(place)}` is a place in it"
        yield context.complaint(SENTENCE, message, at, "no place", f"write `{name}`", _declared(context, name))


def sentence_training(context: Context) -> Iterator[Diagnostic]:
    """Criteria that are sums over labellings of sentences, and decoding of whole labellings or by marginals."""
    spec = context.spec
    name = next((label.name for label in spec.labels if label.per == "sentence"), None)
    if name is None:
        return
    others = _declared(context, name)
    pruned = f"`pruned` goes along one chain, and `{name}` is of the sentence"
    local = f"`local` decodes by pieces of tokens, and `{name}` is of the sentence"
    with suppress(DcrfError):  # `setting_rules` reports it
        if inference_settings(spec).method == "pruned":
            at = spec.infer.place_of("name")
            yield context.complaint(SENTENCE, pruned, at, help="write `infer exact`", others=others)
    yield from _not_local(context, SENTENCE, local, others)
    for stage in stage_views(context):
        if stage.criterion not in SENTENCE_CRITERIA:
            message = f"`{stage.criterion}` looks at tokens one by one, and `{name}` is of the sentence"
            remedy = f"train by {listed(SENTENCE_CRITERIA, 'or')}"
            yield context.complaint(SENTENCE, message, stage.name, "of tokens", remedy, others)
        elif stage.criterion == "likelihood" and stage.optimizer not in SENTENCE_OPTIMIZERS:
            message = f"`{stage.optimizer}` counts features by tokens, and `{name}` is of the sentence"
            remedy = f"possible are {listed(SENTENCE_OPTIMIZERS, 'or')}"
            yield context.complaint(SENTENCE, message, stage.place("optimizer"), "by tokens", remedy, others)
        if stage.settings.infer is not None and stage.settings.infer.method == "pruned":
            remedy = "write `infer = exact`"
            yield context.complaint(SENTENCE, pruned, stage.place("infer"), help=remedy, others=others)
        yield from _not_local(context, SENTENCE, local, others, stage)


def _declared(context: Context, name: str) -> list[tuple[At, str]]:
    """The declaration of a label of the sentence."""
    labels = [label for label in context.spec.labels if label.name == name and label.per == "sentence"]
    return [(label.place_of("per"), "of the sentence") for label in labels[:1]]


RULES: tuple[Rule, ...] = (
    segment_statements, segment_training, sentence_declarations, sentence_places, sentence_training,
)  # fmt: skip
