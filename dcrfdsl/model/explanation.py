"""Why a model gives a position its label: the terms by which the label's best labelling beats the runner-up's.

    margin = s(y) − s(y′),    y the best labelling with the chosen label there, y′ the best one with the runner-up

It is a sum over features, cliques and neighbours that differ, and so are the contributions. Not here: the terms
(`inference.score_terms`), how they are printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..data import Corpus
from ..features import FeatureExtractor
from ..foundation import Floats, Ints, data_error, dataclass, did_you_mean, quoted_names, require_whole, spelling_remedy
from ..graph import FactorGraph, ModelGraph, assignment_states, best_order, order_cost
from ..inference import (
    BIAS,
    BoundData,
    RunStatus,
    ScoreTerm,
    differing_terms,
    graph_without,
    infer_graph,
    largest_table,
    sequence_graph,
)
from ..semantics import ExactSettings, MethodSettings, TrpSettings, inference_settings, is_implied
from .predicting_model import PredictingModel
from .prediction import require_possible
from .predictor import Predictor
from .sentence_tagging import Sentence

CLOSE = 1e-9  # of scores that tie, relative


class Contribution(NamedTuple):
    """What one feature of one clique instance adds to the margin.

    clique: its name.
    sites: the (variable, position from 0) of the instance that lie in the sentence.
    feature: its text, `bias` for the clique's bias, `given COLUMN` for scores that data gives, `constraint` for
        a rule with a cost.
    value: of the feature.
    states: of the clique's sites in the chosen labelling and in the runner-up's.
    weights: of the feature with either states; of what has no weight, the scores.
    score: value × (first weight − second weight), in nats.
    """

    clique: str
    sites: tuple[tuple[str, int], ...]
    feature: str
    value: float
    states: tuple[tuple[str, ...], tuple[str, ...]]
    weights: tuple[float, float]
    score: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a position has its label. Made by `TrainedModel.explain`.

    label, position: what was asked about; positions count from 0.
    chosen, runner_up: the label that the model gives, and the one it is compared with.
    probabilities: p(y_t | x) of these two.
    labellings: by variable, the best labelling with either.
    margin: score of the first labelling less that of the second, in nats; below 0 where `decode marginal` prefers a
        label whose best labelling is not the best of all.
    contributions: they sum to the margin; largest magnitude first.
    decisive: the fewest features without which the second labelling scores higher; empty if no features do that.
    without: the best label at this position without the decisive features.
    exact: whether both labellings were found by exact inference; else better ones may exist, but sums still hold.
    status: how inference ended.
    of_sentence: the labels of the whole sentence.
    """

    label: str
    position: int
    chosen: str
    runner_up: str
    probabilities: tuple[float, float]
    labellings: tuple[Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]
    margin: float
    contributions: tuple[Contribution, ...]
    decisive: tuple[Contribution, ...]
    without: str
    exact: bool
    status: RunStatus
    of_sentence: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[tuple[str, int], ...]:
        """The (variable, position) where the two labellings differ, without the memories of `once` and `segment`.

        A label of the whole sentence is there once: at the position that was asked about, if it is that label.
        """
        first, second = self.labellings
        only = dict.fromkeys(self.of_sentence, 0) | (
            {self.label: self.position} if self.label in self.of_sentence else {}
        )
        return tuple(
            (name, t)
            for name, states in first.items()
            for t, (one, other) in enumerate(zip(states, second[name], strict=True))
            if one != other and not is_implied(name) and only.get(name, t) == t
        )


def explain_position(
    model: PredictingModel, sentence: Sentence | Corpus, position: int, label: str | None, against: str | None
) -> Explanation:
    """Why a position of a sentence, from 0, has its label and not `against`; see `TrainedModel.explain`."""
    if isinstance(sentence, Corpus) and sentence.num_sentences != 1:
        message = f"`explain` takes one sentence, and the corpus has {sentence.num_sentences:,}"
        raise data_error("no-such-sentence", message, help="give it `corpus.slice(n, n + 1)`")
    name, predictor = label_asked(model.labels, label), model.prepare(sentence)
    require_whole(position, "position", least=0)
    length = 0 if predictor is None else predictor.corpus.num_tokens
    if predictor is None or position >= length:
        message = f"there is no position {position}: the sentence has {length} token{'s' * (length != 1)}"
        raise data_error("no-such-position", message, help="positions count from 0")
    prediction = require_possible(model.predict(predictor, threads=1), predictor.corpus)
    chosen = int(prediction.codes[name][position])
    probabilities = model.marginals(predictor, threads=1)[0][name][position]
    return explain_label(predictor, model.weights, name, position, chosen, probabilities, against)


def label_asked(labels: Sequence[str], label: str | None) -> str:
    """The label of this name, or the only one. DcrfError if there is none, or several and no name."""
    if label in labels or (label is None and len(labels) == 1):
        return label or labels[0]
    listed = ", ".join(quoted_names(tuple(labels)))
    if label is None:
        raise data_error("no-such-label", "the model has several labels", help=f"say which: {listed}")
    remedy = spelling_remedy(did_you_mean(label, labels), f"its labels are {listed}")
    raise data_error("no-such-label", f"`{label}` is no label of the model", help=remedy)


def explain_label(
    predictor: Predictor, weights: Floats, label: str, place: int, chosen: int, probabilities: Floats,
    against: str | None,
) -> Explanation:  # fmt: skip
    """Explains why a label of the only sentence of a corpus has the state `chosen` at position `place`, from 0, and not
    `against`, by default the likeliest other one, at `weights` [W].

    probabilities: of all states there. Inference is exact wherever that fits, else what the template asks for.
    DcrfError where there is no such other state, or one of the two is impossible there.
    """
    structure, data = predictor.structure, predictor.bind()
    of_label = structure.states[label]
    other = _other_state(label, of_label, place, chosen, probabilities, against)
    states, extractor, names = structure.states, structure.extractor, tuple(structure.states)
    potentials, width = data.potentials(weights), len(names)
    number = names.index(label)
    position = 0 if number in data.graph.of_sentence else place
    graph, variable = sequence_graph(data, potentials, 0), position * width + number
    method = _method(graph, inference_settings(structure.spec))
    first, status = _best(graph.with_evidence({variable: chosen}), method)
    second, of_other = _best(graph.with_evidence({variable: other}), method)
    for found, state in ((first, chosen), (second, other)):
        if found is None:
            message = f"no possible labelling has `{label}` = `{of_label[state]}` at position {place + 1}"
            raise data_error("no-other-state", message, help="compare with another state")
    assert first is not None and second is not None
    terms = [term for term in differing_terms(data, potentials, 0, first, second) if term.difference]
    terms.sort(key=lambda term: -abs(term.difference))
    margin = sum(term.difference for term in terms)
    decisive = _decisive(data, terms, margin)
    best = _best(graph_without(data, potentials, 0, decisive), method)[0] if decisive else first
    return Explanation(
        label,
        place,
        of_label[chosen],
        of_label[other],
        (float(probabilities[chosen]), float(probabilities[other])),
        (_labelling(data, first, states), _labelling(data, second, states)),
        margin,
        tuple(_named(term, data, states, extractor) for term in terms),
        tuple(_named(term, data, states, extractor) for term in decisive),
        of_label[int((first if best is None else best)[variable])],
        isinstance(method, ExactSettings),
        status + of_other,
        tuple(names[variable] for variable in sorted(data.graph.of_sentence)),
    )


def _other_state(
    label: str, states: tuple[str, ...], position: int, chosen: int, probabilities: Floats, against: str | None
) -> int:
    """The number of the state to compare with. DcrfError if there is none."""
    if against is not None:
        if against not in states:
            remedy = spelling_remedy(did_you_mean(against, states), f"its states are {', '.join(quoted_names(states))}")
            raise data_error("no-such-state", f"`{against}` is no state of `{label}`", help=remedy)
        if states.index(against) == chosen:
            message = f"`{against}` is what the model chooses there"
            raise data_error("no-other-state", message, help="compare with another state")
        return states.index(against)
    others = np.where(np.arange(len(states)) == chosen, -1.0, probabilities)
    if others.max() <= 0.0:
        message = f"`{states[chosen]}` is the only possible state of `{label}` at position {position + 1}"
        raise data_error("no-other-state", message, help="ask about another position")
    return int(others.argmax())


def _method(graph: FactorGraph, settings: MethodSettings) -> MethodSettings:
    """Exact inference if its tables fit, else the method of the template, or TRP where that is for sequences only."""
    limit = largest_table(settings)
    if order_cost(graph.scopes, graph.cards, best_order(graph.scopes, graph.cards)).largest <= limit:
        return ExactSettings(max_table=limit)
    return settings if settings.method in ("trp", "bp") else TrpSettings()


def _best(graph: FactorGraph, method: MethodSettings) -> tuple[Ints | None, RunStatus]:
    """The best labelling; None if none is possible."""
    found = infer_graph(graph, "map", method)
    return (None if found.status.impossible else found.assignment), found.status


def _decisive(data: BoundData, terms: Sequence[ScoreTerm], margin: float) -> list[ScoreTerm]:
    """The fewest features whose terms sum to more than the margin. Each adds what it adds, so the largest go first."""
    of_features = [  # not of a bias or a constraint
        term
        for term in terms
        if term.feature != BIAS and data.graph.kinds[term.kind].template.clique >= 0 and term.difference > 0
    ]
    sums = np.cumsum([term.difference for term in of_features])
    enough = np.flatnonzero(sums > margin + CLOSE * max(1.0, abs(margin)))
    return of_features[: int(enough[0]) + 1] if margin > 0 and len(enough) else []


def _labelling(data: BoundData, codes: Ints, states: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    table = data.spread(codes.astype(np.int32)).reshape(-1, len(states))
    return {name: tuple(texts[c] for c in table[:, m].tolist()) for m, (name, texts) in enumerate(states.items())}


def _named(
    term: ScoreTerm, data: BoundData, states: Mapping[str, tuple[str, ...]], extractor: FeatureExtractor
) -> Contribution:
    template = data.graph.kinds[term.kind].template
    if template.given is not None:
        feature = f"given {', '.join(dict.fromkeys(one.column for one in template.given.terms))}"
    elif template.clique < 0:
        feature = "constraint"
    else:
        feature = "bias" if term.feature == BIAS else extractor.describe(template.naming_set, term.feature)
    first, second = (assignment_states(template, one, list(states.values())) for one in term.assignments)
    return Contribution(
        template.name.removeprefix("given ") if template.given is not None else template.name,
        _sites(term.scope, term.kind, data.graph),
        feature,
        term.value,
        (first, second),
        term.weights,
        term.difference,
    )


def _sites(scope: Sequence[int], number: int, graph: ModelGraph) -> tuple[tuple[str, int], ...]:
    """The (variable, position) of a factor of this kind: all tokens of a segment, and labels for their memory.

    Of segments longer than the limit, of which only the end is known, these are the last tokens.
    """
    template, names, width = graph.kinds[number].template, graph.variables, len(graph.variables)
    if template.segment_length:
        label, last = graph.templates[template.clique].variables[0], scope[0] // width
        return tuple((names[label], t) for t in range(max(0, last - template.segment_length + 1), last + 1))
    seen_as = {} if template.plain is None else dict(zip(template.variables, template.plain.variables, strict=True))
    return tuple((names[seen_as.get(v % width, v % width)], v // width) for v in scope)


def contribution_words(one: Contribution) -> tuple[str, str, str, str]:
    """Clique, positions from 1, the states of either labelling, and the feature with its value."""
    places = " ".join(dict.fromkeys(str(position + 1) for _, position in one.sites))
    states = " / ".join(" ".join(of) for of in one.states)
    value = "" if one.value == 1.0 else f" × {one.value:.4g}"
    return one.clique, places, states, one.feature + value


def explanation_remarks(explanation: Explanation) -> list[str]:
    """What else changes with the other label, and whether both labellings are the best for sure."""
    first, second = explanation.labellings
    asked = explanation.label, explanation.position
    others = [
        f"{name}{'' if name in explanation.of_sentence else f' {t + 1}'} {first[name][t]} to {second[name][t]}"
        for name, t in explanation.changes
        if (name, t) != asked
    ]
    remarks = (
        [f"with {explanation.runner_up} there, the best labelling also changes {', '.join(others)}"] if others else []
    )
    if not explanation.exact:
        remarks.append("the two labellings come from approximate inference: better ones may exist")
    return remarks


def explanation_verdict(explanation: Explanation) -> list[str]:
    """Which features decide, in words."""
    if explanation.margin < 0:
        return [
            f"the best labelling with {explanation.runner_up} scores higher; {explanation.chosen} is likelier over all "
            "labellings together, which `decode marginal` goes by"
        ]
    if not explanation.decisive:
        return ["no features decide this alone: the other labelling stays behind without any of them"]
    names = ", ".join(f"`{one.feature}` ({one.clique} at {one.sites[0][1] + 1})" for one in explanation.decisive)
    many = "this feature" if len(explanation.decisive) == 1 else f"these {len(explanation.decisive)} features"
    if explanation.without == explanation.chosen:
        behind = f"without {many} this labelling falls behind that with {explanation.runner_up}"
        return [f"{behind}, but another one with {explanation.without} is ahead of both: {names}"]
    return [f"without {many} the label would be {explanation.without}: {names}"]
