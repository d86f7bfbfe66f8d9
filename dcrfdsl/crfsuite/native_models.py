"""CRFsuite's models and our own, each made of the other.

A trained model is written as CRFsuite stores models: its features become attributes. CRFsuite has one label, weights of
attributes for labels, and weights of moves from a label to the next. A clique over a label and one over two neighbours
give exactly that. What else a model has is refused in words, all of it at once. The scores are the model's
log-probabilities up to a constant, so a calibrated temperature is in the weights.

A CRFsuite model becomes a model with a template that can be edited and trained again: a chain over attributes in the
data format `crfsuite`. Which features it has, data decides, as in training: the data made here shows each attribute
with each label for which the model has a weight, and each move. Then the weights are put in their places. Not here: the
file (`model_file`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..data import BagColumn, Corpus, InternedColumn, NumericColumn
from ..foundation import Diagnostic, Floats, Ints
from ..graph import CliqueTemplate
from ..model import TrainedModel, TrainingRecord
from ..semantics import load_text, resolved_from_spec
from ..syntax import Enumerated, Reference
from ..training import UntrainedModel, assemble
from .model_file import CrfsuiteModel, ModelFileError, write_crfsuite_file

# a trained model for CRFsuite -----------------------------------------------------------------------------------------


_BIAS = "bias"
_BAGS = ("bag", "weighted_bag")


def write_crfsuite_model(model: TrainedModel, path: str | Path) -> tuple[Diagnostic, ...]:
    """Writes the model for CRFsuite; the file is replaced whole or not at all.

    Returns remarks: what whoever uses the file must know. Raises DcrfError with everything in the model that CRFsuite
    does not have, or if the file cannot be written. The items to tag are those of `crfsuite_items`; if the features are
    one bag, they are what is in the bag.
    """
    write_crfsuite_file(crfsuite_model_of(model, os.fspath(path)), path)
    return tuple(_remarks(model))


def crfsuite_model_of(model: TrainedModel, name: str = "<model>") -> CrfsuiteModel:
    """The model as CRFsuite's; `name` is that of the file in messages. DcrfError as `write_crfsuite_model`."""
    if problems := list(_obstacles(model, name)):
        raise ModelFileError(problems)
    labels = next(iter(model.states.values()))
    numbers: dict[str, int] = {}
    states, moves = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))], np.zeros((len(labels), len(labels)))
    clique, feature, assignment = model.parameters.origins()
    weights = model.temperature * model.weights
    for number, template in enumerate(_cliques(model)):
        own = clique == number
        if len(template.offsets) == 1:
            names = [*_names(model, template), _BIAS]
            number_of = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
            states += _state_weights_of(template, number_of, (feature[own], assignment[own], weights[own]))
        else:
            moves += _moves(template, assignment[own], weights[own])
    found, label, weight = _summed(states, len(labels))
    used, attribute = np.unique(found, return_inverse=True)
    names, (left, right) = list(numbers), np.nonzero(moves)
    return CrfsuiteModel(
        labels,
        [names[number] for number in used],
        attribute.astype(np.int32),
        label.astype(np.int32),
        weight,
        left.astype(np.int32),
        right.astype(np.int32),
        moves[left, right],
    )


def crfsuite_items(model: TrainedModel, corpus: Corpus) -> list[list[dict[str, float]]]:
    """The sentences of a corpus as CRFsuite takes them: at each token the model's features there, with their values.

    A tagger that has opened what `write_crfsuite_model` wrote gives them the model's labels and probabilities.
    """
    rows = model.extractor.extract(corpus)
    items: list[dict[str, float]] = [{} for _ in range(corpus.num_tokens)]
    for number, template in enumerate(_cliques(model)):
        if len(template.offsets) != 1:
            continue
        if len(model.parameters.cliques[number].bias):
            for item in items:
                item[_BIAS] = 1.0
        if template.feature_set < 0:
            continue
        names, found = _names(model, template), rows[template.feature_set]
        values = found.value.tolist() if len(found.value) else [1.0] * len(found.feature)
        features, off = found.feature.tolist(), found.row_off.tolist()
        for item, start, end in zip(items, off, off[1:], strict=False):
            item.update((names[features[place]], values[place]) for place in range(start, end))
    off = corpus.sentence_off.tolist()
    return [items[start:end] for start, end in pairwise(off)]


# weights ----------------------------------------------------------------------------------------------------------


def _cliques(model: TrainedModel) -> Sequence[CliqueTemplate]:
    return model.graph.templates[: len(model.spec.cliques)]


def _names(model: TrainedModel, template: CliqueTemplate) -> list[str]:
    """The attribute of each feature of a clique's set; that of its bias is not among them.

    Names of a bag are attributes as they are, if the model has no other features.
    """
    if template.feature_set < 0:
        return []
    info = model.extractor.sets[template.feature_set]
    names = [model.extractor.describe(template.feature_set, number) for number in range(info.num_features)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelFileError(Diagnostic("not-for-crfsuite", f"two features are called `{twice}`", help=_LEAVE_OUT))
    column = _only_bag(model)
    return names if column is None else [name.removeprefix(f"{column}=") for name in names]


def _only_bag(model: TrainedModel) -> str | None:
    """The name of the bag that all features are the names of, if there is one."""
    columns = model.spec.data.columns if model.spec.data is not None else ()
    bags = {column.name for column in columns if column.type.name in _BAGS}
    if any(len(weights.bias) for weights in model.parameters.cliques if len(weights.run_off) > 1):
        return None
    read = set()
    for template in _cliques(model):
        if template.feature_set >= 0:
            for feature in model.extractor.listed(template.feature_set)[0]:
                first = feature.factors[0]
                is_plain = len(feature.factors) == 1 and isinstance(first.condition, Reference) and first.offset == 0
                read.add(first.condition.name if is_plain and isinstance(first.condition, Reference) else "")
    return read.pop() if len(read) == 1 and read <= bags else None


_Weights = tuple[Ints, Ints, Floats]  # attribute, label and value of each weight


def _state_weights_of(template: CliqueTemplate, number_of: Ints, own: _Weights) -> Iterator[_Weights]:
    """Of a clique over one label, label by label.   own: feature (−1: its bias), assignment, value of each weight."""
    feature, assignment, weight = own
    for label, state in enumerate(_view(template, 0).tolist()):
        chosen = assignment == state
        yield number_of[feature[chosen]], np.full(int(chosen.sum()), label), weight[chosen]


def _summed(parts: Sequence[_Weights], num_labels: int) -> _Weights:
    """One weight a pair of attribute and label, and none of 0."""
    attribute, label, weight = (np.concatenate(some) for some in zip(*parts, strict=True))
    pairs, which = np.unique(attribute * num_labels + label, return_inverse=True)
    weight = np.bincount(which, weight, len(pairs)).astype(np.float64)
    pairs, weight = pairs[weight != 0], weight[weight != 0]
    return pairs // num_labels, pairs % num_labels, weight


def _moves(template: CliqueTemplate, assignment: Ints, weight: Floats) -> Floats:
    """The weights [L, L] of a clique over two neighbours, the left label first."""
    table = np.zeros(template.num_assignments)
    table[assignment] = weight
    by_site = table.reshape(template.full_cards)
    of_labels = by_site[np.ix_(_view(template, 0), _view(template, 1))]
    return of_labels if template.offsets[0] < template.offsets[1] else of_labels.T


def _view(template: CliqueTemplate, site: int) -> Ints:
    """The state of a site for each label [L]: the label itself, or that of the site's view."""
    view = template.views[site] if template.views else None
    return np.arange(template.cards[site]) if view is None else view.of


# what CRFsuite does not have ----------------------------------------------------------------------------------------


def _obstacles(model: TrainedModel, name: str) -> Iterator[Diagnostic]:

    def complaint(message: str, remedy: str) -> Diagnostic:
        return Diagnostic("not-for-crfsuite", message, location=name, help=remedy)

    if len(model.labels) > 1:
        listed = ", ".join(f"`{label}`" for label in model.labels)
        yield complaint(f"CRFsuite has one label, and this model has {listed}", "train a model with one of them")
    for label in model.spec.labels:
        if label.per == "sentence":
            yield complaint(f"CRFsuite labels tokens, and `{label.name}` is of the whole sentence", _LEAVE_OUT)
            return
    for once in model.spec.onces:
        yield complaint(f"CRFsuite has no rules such as `once {once.label}`", _LEAVE_OUT)
    for hidden in list(model.states)[len(model.labels) :] if not model.spec.onces else ():
        yield complaint(f"CRFsuite has no latent variables or memories such as `{hidden}`", _LEAVE_OUT)
    if len(model.states) > 1:
        return  # what follows is about one label
    for template in model.graph.templates:
        if (words := _obstacle(template)) is not None:
            yield complaint(words, _LEAVE_OUT)
    if model.extractor.observation_kernels:
        yield complaint("CRFsuite has no kernels of observations", _LEAVE_OUT)
    if model.voters is not None:
        yield complaint("CRFsuite does not vote, and this model elects labels by vote", "train it with `average`")
    if not np.isfinite(model.weights).all():
        yield complaint("a weight is −∞, which CRFsuite cannot read", "train it by another criterion")


_LEAVE_OUT = "leave it out, and train again"


def _obstacle(template: CliqueTemplate) -> str | None:
    """Why CRFsuite does not have a clique; None if it does."""
    if template.segments is not None:
        return f"CRFsuite has no segments, and `{template.name}` weighs them"
    if template.given is not None:
        return f"CRFsuite has no scores from data, as `offset` adds them in `{template.name.removeprefix('given ')}`"
    if template.clique < 0 or template.num_codes:
        return f"CRFsuite has no constraints such as `{template.name}`"
    clique = f"clique `{template.name}`"
    if template.allowed is not None and not template.allowed.all():
        return f"CRFsuite cannot forbid labels, and {clique} has impossible ones"
    if template.relational:
        return f"CRFsuite joins neighbours only, and {clique} joins positions that the data names"
    if template.pad or template.position is not None:
        return f"CRFsuite has no weights of the start or end, and {clique} has some"
    if len(template.offsets) == 1:
        return None if template.offsets[0] == 0 else f"{clique} is about another position"
    if len(template.offsets) > 2 or abs(template.offsets[0] - template.offsets[1]) != 1:
        return f"CRFsuite has cliques of one label and of two neighbours, and {clique} is neither"
    return f"CRFsuite has no features of two labels, and {clique} has some" if template.feature_set >= 0 else None


def _remarks(model: TrainedModel) -> Iterator[Diagnostic]:
    """What whoever uses the file must know."""
    words = []
    cliques = zip(_cliques(model), model.parameters.cliques, strict=True)
    if any(len(weights.bias) and len(template.offsets) == 1 for template, weights in cliques):
        words.append(f"the label's bias is the weight of an attribute `{_BIAS}`, which every item must have")
    if _only_bag(model) is None:
        words.append("attributes are the model's features by name, as `dcrfdsl.crfsuite.crfsuite_items` lists them")
    if model.decode != "joint":
        words.append(f"labels are decoded by `{model.decode}` here, and CRFsuite finds the best labelling")
    return (Diagnostic("crfsuite-differs", message, severity="note") for message in words)


# a CRFsuite model as a model of our own -------------------------------------------------------------------------------


_LABEL, _ATTRIBUTES = "y", "attributes"
# The prior is CRFsuite's own: c2 = 1, if it is trained again.
_TEMPLATE = f"""dcrf 1
data crfsuite({_LABEL}, {_ATTRIBUTES}: weighted_bag)
label {_LABEL}

clique {_LABEL}: {_ATTRIBUTES}
clique {_LABEL}[-1], {_LABEL} with states = seen

train likelihood: prior = gaussian(variance = 0.5)
"""


def native_model(model: CrfsuiteModel, name: str = "<crfsuite>") -> TrainedModel:
    """The model with the same labels and probabilities, to tag data of the format `crfsuite`, rows and dicts.

    `name` is that of its file in messages and in the training record. Attributes that are no UTF-8 are left out, since
    no text has them. DcrfError if a label cannot be a state of a template.
    """
    for label in model.labels:
        if isinstance(label, bytes):
            message = f"the label {label!r} of `{name}` is not UTF-8"
            raise ModelFileError(Diagnostic("not-utf8", message, location=name, help="train it on data in UTF-8"))
    model = _with_text_only(model)
    template = load_text(_TEMPLATE).require()
    declared = template.labels[0].model_copy(update={"domain": Enumerated(states=tuple(map(str, model.labels)))})
    resolved = resolved_from_spec(template.model_copy(update={"labels": (declared,)}), name)
    spec = resolved.require()
    corpus = _showing(model)
    problem = assemble(spec, corpus, resolved.directories, {})
    parameters, _ = problem.learn_parameters()
    clique, feature, assignment = parameters.origins()
    weights = np.zeros(parameters.num_weights)
    states, moves = clique == 0, clique == 1
    table = np.zeros((len(model.labels), len(model.labels)))
    table[model.transition_from, model.transition_to] = model.transition_weights
    weights[states] = _state_weights(model, problem, feature[states], assignment[states])
    weights[moves] = table.ravel()[assignment[moves]]
    record = TrainingRecord(notes=(f"the weights are those of the CRFsuite model `{Path(name).name}`",))
    return TrainedModel(spec, problem.states, problem.extractor, {}, problem.graph, parameters, weights, record)


def _with_text_only(model: CrfsuiteModel) -> CrfsuiteModel:
    """The model without the attributes that are no text."""
    is_text = np.array([isinstance(name, str) for name in model.attributes], np.bool_)
    if is_text.all():
        return model
    number = np.cumsum(is_text) - 1
    kept = is_text[model.state_attributes]
    return replace(
        model,
        attributes=[name for name in model.attributes if isinstance(name, str)],
        state_attributes=number[model.state_attributes[kept]].astype(np.int32),
        state_labels=model.state_labels[kept],
        state_weights=model.state_weights[kept],
    )


def _showing(model: CrfsuiteModel) -> Corpus:
    """Data that shows what the model has weights of: a sentence a label with all its attributes, one a move.

    The weight of attribute a in a bag is a + 1, by which `_state_weights` knows it again.
    """
    num_labels, num_moves = len(model.labels), len(model.transition_from)
    order = np.lexsort((model.state_attributes, model.state_labels))
    codes, labels = model.state_attributes[order], model.state_labels[order]
    distinct = np.ones(len(order), np.bool_)
    distinct[1:] = (codes[1:] != codes[:-1]) | (labels[1:] != labels[:-1])
    codes, labels = codes[distinct], labels[distinct]
    off = np.full(num_labels + 2 * num_moves + 1, len(codes))
    off[: num_labels + 1] = np.searchsorted(labels, np.arange(num_labels + 1))
    moves = np.stack([model.transition_from, model.transition_to], axis=1).ravel()
    states = np.concatenate([np.arange(num_labels), moves]).astype(np.int32)
    sentence_off = np.concatenate([np.arange(num_labels + 1), num_labels + 2 * np.arange(1, num_moves + 1)])
    names = [str(name) for name in model.attributes]
    columns: dict[str, InternedColumn | NumericColumn | BagColumn] = {
        _LABEL: InternedColumn(states, [str(label) for label in model.labels]),
        _ATTRIBUTES: BagColumn(off, codes, (codes + 1).astype(np.float64), names),
    }
    return Corpus("<crfsuite>", sentence_off, columns, np.arange(1, len(states) + 1))


def _state_weights(model: CrfsuiteModel, problem: UntrainedModel, feature: Ints, assignment: Ints) -> Floats:
    """The weight of each (feature, label)."""
    num_labels = len(model.labels)
    rows = problem.rows[problem.graph.templates[0].feature_set]
    attribute_of = np.zeros(int(rows.feature.max(initial=-1)) + 1, np.int64)
    attribute_of[rows.feature] = np.rint(rows.value).astype(np.int64) - 1 if len(rows.value) else 0
    pairs = model.state_attributes.astype(np.int64) * num_labels + model.state_labels
    keys, which = np.unique(pairs, return_inverse=True)
    summed = np.bincount(which, model.state_weights, len(keys))
    return np.asarray(summed[np.searchsorted(keys, attribute_of[feature] * num_labels + assignment)], np.float64)
