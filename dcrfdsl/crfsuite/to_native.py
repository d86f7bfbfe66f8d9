"""A CRFsuite model as a model of our own, with a template that can be edited and trained again.

The template is a chain over attributes in the data format `crfsuite`. Which features it has, data decides, as in
training: the data made here shows each attribute with each label for which the model has a weight, and each move. Then
the weights are put in their places. Not here: the file (`model_file`), the way back (`from_native`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ..data import BagColumn, Corpus, InternedColumn, NumericColumn
from ..foundation import Diagnostic, Floats, Ints
from ..model import TrainedModel, TrainingRecord
from ..semantics import Enumerated, ModelSpec, load_text, resolved_from_spec
from ..training import UntrainedModel, assemble
from .model_file import CrfsuiteModel, ModelFileError

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
    resolved = resolved_from_spec(_spec(tuple(str(label) for label in model.labels)), name)
    spec = resolved.require()
    corpus = _showing(model)
    problem = assemble(spec, corpus, resolved.directories, {})
    parameters, _ = problem.learn_parameters()
    clique, feature, assignment = parameters.origins()
    weights = np.zeros(parameters.num_weights)
    states, moves = clique == 0, clique == 1
    weights[states] = _state_weights(model, problem, feature[states], assignment[states])
    weights[moves] = _transition_table(model).ravel()[assignment[moves]]
    record = TrainingRecord(notes=(f"the weights are those of the CRFsuite model `{Path(name).name}`",))
    return TrainedModel(spec, problem.states, problem.extractor, {}, problem.graph, parameters, weights, record)


def _spec(labels: tuple[str, ...]) -> ModelSpec:
    spec = load_text(_TEMPLATE).require()
    label = spec.labels[0].model_copy(update={"domain": Enumerated(states=labels)})
    return spec.model_copy(update={"labels": (label,)})


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


def _transition_table(model: CrfsuiteModel) -> Floats:
    """The weights [L, L] of moves from a label to the next."""
    table = np.zeros((len(model.labels), len(model.labels)))
    table[model.transition_from, model.transition_to] = model.transition_weights
    return table
