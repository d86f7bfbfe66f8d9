"""Ways to decode, chosen by a table: from a corpus that is bound to a model, and weights, to labels and their scores.

    joint                  the labelling with the highest score; latent variables are summed out of it
    certified, optimal     the same, with a bound on the score of every labelling
    marginal               the likeliest state of each label by itself
    fscore                 the labelling of the highest expected F-score of segments; other labels are best beside it
    local                  the best labelling under the product of the pieces' local distributions
    votes                  the labelling that most weight vectors of a voted perceptron find best (`VotedDecoder`)

Not here: inference (`inference`), what users call (`trained_model`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..data import EncodedLabels
from ..foundation import Codes, Floats, data_error
from ..graph import scaled_weights
from ..inference import (
    Ballots,
    Decoded,
    NBest,
    RunStatus,
    SearchLimits,
    SegmentReading,
    SegmentSearch,
    Workers,
    best_labellings,
    bounded_decoding,
    latents_first_fits,
    nbest_summing_latents,
    parts_by_width,
    posterior_chain,
    refuse_fscore,
    run_decoding,
    score_sequences,
    sequence_graph,
)
from ..optimizers import Voters
from ..semantics import (
    BoundingDecoding,
    FscoreDecoding,
    MethodSettings,
    decoding,
    inference_settings,
    read_decoding,
)
from .prediction import Prediction
from .predictor import Predictor
from .proposed_labellings import best_proposed

# Takes weights [W], threads, and the temperature of probabilities, which has an effect where they are summed over other
# labels or over latent variables.
Decoder = Callable[[Floats, Workers, float], Prediction]


def decoder_of(predictor: Predictor, rule: str | None, stage: str | None = None) -> Decoder:
    """What decodes a corpus by a rule: a state for each label at each token, the first if no labelling is possible.

    rule: as `read_decoding` takes it; by default that of `stage`.   stage: the one that trained the weights; by default
    the last one.   DcrfError for an unknown rule, one that does not keep to `once` where decoding has to, or one that
    cannot give the bounds that it is for.
    """
    text = decoding(predictor.structure.spec, stage) if rule is None else rule
    settings = read_decoding(text)
    _refuse(predictor, settings, text)
    return partial(DECODERS[settings.method], predictor, settings, stage)


def _refuse(predictor: Predictor, settings: MethodSettings, rule: str) -> None:
    """DcrfError where a rule does not keep to `once`, or gives no bounds."""
    structure = predictor.structure
    graph, searches = structure.graph, structure.once_constraint
    if searches is not None and settings.method != "joint":
        message = f"`decode {rule}` does not keep to {searches.statement}, whose types are too many to be in the graph"
        raise data_error("once-not-exact", message, help="use `decode joint`, or bind fewer by `except`")
    if isinstance(settings, FscoreDecoding):
        refuse_fscore(settings.label, graph, structure.label_states)
    if not isinstance(settings, BoundingDecoding):
        return
    if graph.num_latents:
        latent = graph.variables[graph.latents[0]]
        message = f"`decode {rule}` bounds the score of a labelling, and `latent {latent}` is summed out of it"
        raise data_error("no-bound", message, help="use `decode joint` or `decode marginal`")
    if structure.method[0] == "pruned":
        message = f"`decode {rule}` needs the potentials of all labels, and `infer pruned` leaves most of them out"
        raise data_error("no-bound", message, help="use `decode joint`")


def _joint(
    predictor: Predictor, settings: MethodSettings, _: str | None, weights: Floats, workers: Workers, temperature: float
) -> Prediction:
    """The best labelling. One that has to keep to `once`, or gets a bound, is searched on from what inference finds."""
    if predictor.structure.graph.num_latents:
        nbest = nbest_labellings(predictor, weights, workers, 1, temperature)
        scores = np.array([one.score[0] if len(one) else np.nan for one in nbest.sentences], np.float64)
        return _prediction(predictor, nbest.first(predictor.labels, predictor.corpus.lengths()), nbest.status, scores)
    data, method = predictor.bound
    potentials, searches = data.potentials_at(weights, predictor.constant_weights), predictor.structure.once_constraint
    best = Decoded.empty(data, approximate=method.approximate)
    workers.map(partial(method.decode, potentials), data.runs, best)  # as `run_decoding`, one call nearer to the kernel
    labelling, status = data.spread(best.labelling), best.summary()
    if method.approximate and data.contexts is None:
        scores = score_sequences(data, labelling, potentials, workers)
    else:  # exact and pruned decoding know the score of what they found
        scores = _possible(best.score)
    if searches is not None:
        labelling, scores, status = searches.repairs(data, potentials, labelling, scores, status, workers)
    if not isinstance(settings, BoundingDecoding):
        return _prediction(predictor, _codes(predictor, labelling), status, scores)
    limits = SearchLimits(settings.iterations, settings.most_nodes)
    found = bounded_decoding(data, potentials, labelling, scores, status, limits, workers)
    return _prediction(predictor, _codes(predictor, found.labelling), found.status, found.scores, found.bounds)


def _marginal(
    predictor: Predictor, _: MethodSettings, __: str | None, weights: Floats, workers: Workers, temperature: float
) -> Prediction:
    marginals, status = predictor.marginals(_tempered(predictor, weights, temperature), workers)
    likeliest = [marginal.argmax(axis=1).astype(np.int32) for marginal in marginals[: len(predictor.labels)]]
    return _prediction(predictor, likeliest, status)


def _fscore(
    predictor: Predictor, settings: FscoreDecoding, _: str | None, weights: Floats, workers: Workers, temperature: float
) -> Prediction:
    """The labels of the highest expected F-score are known beforehand for a joint search of the others."""
    structure, known, off = predictor.structure, predictor.known, predictor.corpus.sentence_off.tolist()
    graph = structure.graph
    number = graph.variables.index(settings.label)
    reading = SegmentReading.of(graph.cards, number, structure.states[settings.label])
    data, free = predictor.bind(), np.full((len(predictor.labels), off[-1]), -1, np.int32)
    codes = free if known is None else known.codes.copy()
    potentials = data.potentials_at(_tempered(predictor, weights, temperature), predictor.constant_weights)

    def decode(first: int, last: int) -> None:
        for s in range(first, last):
            chain = posterior_chain(sequence_graph(data, potentials, s), len(graph.cards))
            if chain is not None:
                best = SegmentSearch.of(*chain, reading).best(settings.gamma, settings.overall)
                codes[number, off[s] : off[s + 1]] = best

    workers.map(decode, data.runs)
    given = EncodedLabels(codes, ({},) * len(codes), ((),) * len(codes) if known is None else known.sets)
    rest = replace(predictor, known=given, _local_decoders={})
    return _joint(rest, read_decoding("joint"), None, weights, workers, temperature)


def _local(
    predictor: Predictor, _: MethodSettings, stage: str | None, weights: Floats, workers: Workers, __: float
) -> Prediction:
    """The best labellings under the product of the pieces' local distributions."""
    decoder = predictor.local_decoder(stage)
    data = decoder.data
    best = run_decoding(data, decoder, data.potentials_at(weights, predictor.constant_weights), workers)
    codes = _codes(predictor, best.labelling)
    return _prediction(predictor, codes, best.summary(), _possible(best.score))


DECODERS: Mapping[str, Callable[..., Prediction]] = {
    "joint": _joint, "certified": _joint, "optimal": _joint, "marginal": _marginal, "local": _local, "fscore": _fscore,
}  # fmt: skip


def _prediction(
    predictor: Predictor, codes: Sequence[Codes], status: RunStatus, scores: Floats | None = None,
    bounds: Floats | None = None,
) -> Prediction:  # fmt: skip
    """A prediction with these states of each label, [N].   scores, bounds: None if the way to decode gives none."""
    corpus, states = predictor.corpus, predictor.structure.label_states
    if scores is None:
        scores = np.full(corpus.num_sentences, np.nan)
    return Prediction(dict(zip(states, codes, strict=True)), states, status, scores, corpus, bounds)


def _possible(scores: Floats) -> Floats:
    """The scores, [S], nan in place of -inf: no labelling is possible there."""
    if len(scores) == 1 and scores[0] > -np.inf:
        return scores
    return np.where(np.isneginf(scores), np.nan, scores)


def _codes(predictor: Predictor, labelling: Codes) -> list[Codes]:
    """A flat labelling as the states of each label, [N]; the first state for negative codes."""
    width = len(predictor.structure.graph.variables)
    if width == 1:
        return [np.maximum(labelling, 0)]
    table = np.maximum(labelling, 0).reshape(-1, width)
    return [np.ascontiguousarray(codes) for codes in table.T[: len(predictor.labels)]]


def _tempered(predictor: Predictor, weights: Floats, temperature: float) -> Floats:
    if temperature == 1.0:
        return weights
    constant = predictor.constant_weights
    return (
        constant[1]
        if constant and weights is constant[0]
        else scaled_weights(predictor.structure.graph, weights, temperature)
    )


# several labellings ---------------------------------------------------------------------------------------------------


def nbest_labellings(
    predictor: Predictor, weights: Floats, workers: Workers, count: int, temperature: float = 1.0
) -> NBest:
    """The `count` best labellings of each sentence at `weights` [W]; latent variables are summed out."""
    weights = _tempered(predictor, weights, temperature)
    return _nbest(predictor, weights, workers, int(count)).scaled(1.0 / temperature)


def _nbest(predictor: Predictor, weights: Floats, workers: Workers, count: int) -> NBest:
    structure = predictor.structure
    graph, settings = structure.graph, inference_settings(structure.spec)
    if structure.once_constraint is not None:
        data, _ = predictor.bound
        potentials = data.potentials_at(weights, predictor.constant_weights)
        return structure.once_constraint.best(data, potentials, count, workers)
    if graph.num_latents and latents_first_fits(graph, settings):
        data = predictor.bind(programs=True, latents_first=True)
        return nbest_summing_latents(data, data.potentials_at(weights, predictor.constant_weights), count, workers)
    parts = parts_by_width(lambda programs: predictor.bind(programs=programs), graph, settings)
    if not graph.num_latents:
        return best_labellings(parts, weights, settings, count, workers)
    return best_proposed(predictor, parts, weights, workers, count)


# votes ----------------------------------------------------------------------------------------------------------------


class VotedDecoder:
    """Decodes a corpus by the votes of all weight vectors of a perceptron, also while these become more.

    Each weight vector labels the corpus once: the votes of those that it was last asked about are remembered.
    """

    def __init__(self, predictor: Predictor, workers: Workers, stage: str | None):
        self._predictor, self._workers = predictor, workers
        self._decode = decoder_of(predictor, "joint", stage)
        self._begin()

    def _begin(self) -> None:
        self._ballots, self._status = Ballots(self._predictor.corpus.sentence_off), RunStatus()
        self._voters: Voters | None = None
        self._last: Codes | None = None  # of the last voter

    def decoded(self, voters: Voters) -> Prediction:
        """The labelling of each sentence that most `voters` find best, without a score. The status is that of the voter
        with the most sentences that did not converge.
        """
        known = self._voters
        if known is not None and not voters.goes_on_from(known):
            self._begin()
            known = None
        if known is not None and self._last is not None:
            more = int(voters.votes[len(known) - 1] - known.votes[-1])  # the last one may have lasted longer since
            self._ballots.cast(more, self._last)
        begin = 0 if known is None else len(known)
        for number, (votes, weights) in enumerate(voters.walk(self._predictor.structure.parameters.num_weights)):
            if number < begin:
                continue
            vote = self._decode(weights, self._workers, 1.0)
            self._last = np.array(list(vote.codes.values()))
            self._ballots.cast(votes, self._last)
            if self._status.graphs == 0 or vote.status.not_converged > self._status.not_converged:
                self._status = vote.status
        self._voters = voters
        return _prediction(self._predictor, list(self._ballots.winners()), self._status)
