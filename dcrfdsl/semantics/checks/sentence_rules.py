"""Rules on labels of whole sentences: they have no positions, and what goes along a sequence does not go along them.

Not here: sentences with several values in the data (`data.sentence_states`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ...foundation import DcrfError, Diagnostic
from ..conditions import memory_sites, sentence_labels
from ..schema import Path, Reference, Scheme, Site, place_offset, place_text
from ..settings import inference_settings
from .context import Context, Rule, listed
from .optimizer_rules import stage_views
from .walk import constraint_nodes

SLUG = "sentence-label"
CRITERIA = ("likelihood", "perceptron")
OPTIMIZERS = ("auto", "lbfgs", "owlqn", "cg", "quickprop", "sgd")  # of the likelihood


def declarations(context: Context) -> Iterator[Diagnostic]:
    """A label of a sentence has one state: it marks no segments, and is no variable of a chain."""
    spec = context.spec
    for n, label in enumerate(spec.labels):
        if label.per != "sentence":
            continue
        others = _declared(context, label.name)
        if isinstance(label.domain, Scheme):
            message = f"`{label.domain.name}` marks tokens, and `{label.name}` has one state for the whole sentence"
            remedy = f"list its states: `label {label.name} in {{A, B}} for sentence`"
            yield context.complaint(SLUG, message, ("labels", n, "domain"), "of tokens", help=remedy)
        for k, once in enumerate(spec.onces):
            if once.label == label.name:
                message = f"`{once.label}` comes once in a sentence as it is"
                yield context.complaint(SLUG, message, ("onces", k), "of tokens", help="leave it out", others=others)
    whole = sentence_labels(spec)
    for n, memory in enumerate(spec.memories):
        with suppress(DcrfError):  # `hidden_rules` reports it
            for name, _ in memory_sites(spec, memory):
                if name in whole:
                    message = f"a memory looks back along the tokens, and `{name}` is of the sentence"
                    remedy, others = "write a `require` or a clique over both", _declared(context, name)
                    yield context.complaint(SLUG, message, ("memories", n), "of tokens", help=remedy, others=others)


def places(context: Context) -> Iterator[Diagnostic]:
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
                yield context.complaint(SLUG, message, ("cliques", n), "of tokens", others=others)
            elif clique.edges == "pad":
                message = f"`edges = pad` is for the ends of a sequence, and `{site.variable}` has none"
                at = ("cliques", n, "edges")
                yield context.complaint(SLUG, message, at, "no ends", help="leave it out", others=others)
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
            yield context.complaint(SLUG, message, ("pieces", n), "at tokens", help="leave it out", others=others)
    for n, constraint in enumerate(spec.constraints):
        for path, node in constraint_nodes(constraint, ("constraints", n)):
            if isinstance(node, Reference) and node.name in whole:
                yield from _placed(context, Site(variable=node.name, place=node.place), path)


def _placed(context: Context, site: Site, path: Path) -> Iterator[Diagnostic]:
    if place_offset(site.place) != 0:
        text, others = place_text(site.place), _declared(context, site.variable)
        message = f"`{site.variable}` is of the whole sentence, and `{text}` is a place in it"
        yield context.complaint(SLUG, message, path, "no place", help=f"write `{site.variable}`", others=others)


def training(context: Context) -> Iterator[Diagnostic]:
    """Criteria that are sums over labellings of sentences, and decoding of whole labellings or by marginals."""
    spec = context.spec
    name = next((label.name for label in spec.labels if label.per == "sentence"), None)
    if name is None:
        return
    others = _declared(context, name)
    with suppress(DcrfError):  # `setting_rules` reports it
        if inference_settings(spec).method == "pruned":
            message = f"`pruned` goes along one chain, and `{name}` is of the sentence"
            yield context.complaint(SLUG, message, ("infer", "name"), help="write `infer exact`", others=others)
    if spec.decode is not None and spec.decode.name == "local":
        message = f"`local` decodes by pieces of tokens, and `{name}` is of the sentence"
        yield context.complaint(SLUG, message, ("decode", "name"), help="write `decode joint`", others=others)
    for stage in stage_views(context):
        if stage.criterion not in CRITERIA:
            message = f"`{stage.criterion}` looks at tokens one by one, and `{name}` is of the sentence"
            remedy = f"train by {listed(CRITERIA, 'or')}"
            yield context.complaint(SLUG, message, (*stage.path, "name"), "of tokens", help=remedy, others=others)
        elif stage.criterion == "likelihood" and stage.optimizer not in OPTIMIZERS:
            message = f"`{stage.optimizer}` counts features by tokens, and `{name}` is of the sentence"
            remedy = f"possible are {listed(OPTIMIZERS, 'or')}"
            yield context.complaint(SLUG, message, stage.place("optimizer"), "by tokens", help=remedy, others=others)
        if stage.settings.infer is not None and stage.settings.infer.method == "pruned":
            message = f"`pruned` goes along one chain, and `{name}` is of the sentence"
            yield context.complaint(SLUG, message, stage.place("infer"), help="write `infer = exact`", others=others)
        if stage.settings.decode == "local":
            message = f"`local` decodes by pieces of tokens, and `{name}` is of the sentence"
            yield context.complaint(SLUG, message, stage.place("decode"), help="write `decode = joint`", others=others)


def _declared(context: Context, name: str) -> list[tuple[Path, str]]:
    """The declaration of a label of the sentence."""
    numbers = [n for n, label in enumerate(context.spec.labels) if label.name == name and label.per == "sentence"]
    return [(("labels", numbers[0], "per"), "of the sentence")] if numbers else []


RULES: tuple[Rule, ...] = (declarations, places, training)
