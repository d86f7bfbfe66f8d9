"""What a model says about a corpus: labellings, marginals, samples, at any weights.

`Engine` is a model without its weights; `Engine.on` reads a corpus once, and `Answers` then answers for any weights.
Not here: the model as users see it (`model`), inference itself (`inference`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Codes, Floats
from ..criteria import local_pieces
from ..data import Corpus, EncodedLabels
from ..errors import CORPUS, DcrfError, Diagnostic, require_kind
from ..features import FeatureExtractor
from ..graph import ModelGraph, Parameters, exact_cost
from ..inference import (  # fmt: skip
    METHODS,
    Ballots,
    Binder,
    BoundData,
    CliqueMarginal,
    LocalDecoder,
    NBest,
    RunStatus,
    Samples,
    SequenceMethod,
    Workers,
    best_candidates,
    best_labellings,
    bind_clamped,
    check_samples_fit,
    choose_method,
    clique_marginals,
    draw_samples,
    largest_table,
    latents_first_fits,
    parts_by_width,
    run_decoding,
    run_inference,
    score_sequences,
    summed_best,
)
from ..optimizers import Voters
from ..semantics import DECODINGS, AutoSettings, ExactSettings, ModelSpec, TrpSettings, decoding, inference_settings
from .supervised_data import gold_of, known_labels

__all__ = ["Answers", "Engine", "Labelled"]

POOL = 5  # labellings more than are wanted that are compared where latent variables cannot be summed out exactly …
PAIRS = 10  # … from so many labellings with latent states for each that is wanted


class Labelled(NamedTuple):
    """A labelling of a corpus, [N] a label; how it was found; its score in each sentence [S], see `Prediction`."""

    codes: list[Codes]
    status: RunStatus
    scores: Floats


class Engine:
    """A model without weights. Keeps the wiring of all lengths that it met.

    states: of each variable: labels, latents, memories.
    """

    def __init__(
        self,
        spec: ModelSpec,
        states: Mapping[str, tuple[str, ...]],
        extractor: FeatureExtractor,
        graph: ModelGraph,
        parameters: Parameters,
    ):
        self.spec, self.states, self.extractor, self.graph, self.parameters = spec, states, extractor, graph, parameters
        self._binders: dict[tuple[bool, bool], Binder] = {}

    def on(self, corpus: Corpus, given: EncodedLabels | None = None) -> Answers:
        """The answers about a corpus. given: labels known beforehand, to which every answer keeps."""
        require_kind(corpus, Corpus, "corpus", CORPUS)
        require_kind(given, (EncodedLabels, type(None)), "given", "labels, as `given_labels` gives them")
        observed = self.extractor.code_rows(corpus, [template.observed for template in self.graph.coded])
        rows = (*self.extractor.extract(corpus), *observed)
        relations = self.extractor.relations(corpus)
        off = corpus.sentence_off

        def bind(programs: bool, latents_first: bool, known: EncodedLabels | None) -> BoundData:
            how = {"programs": programs, "latents_first": latents_first}
            if known is not None:
                gold = gold_of(self.spec, self.states, self.extractor, corpus, known)
                return bind_clamped(self.graph, self.parameters, rows, gold, off, relations, **how)
            key = programs, latents_first
            binder = self._binders.pop(key, None) or Binder(self.graph, self.parameters, **how)
            data = binder.bind(rows, off, relations)
            self._binders[key] = binder  # one that raised is not kept: it may hold half a graph
            return data

        return Answers(self, corpus, given, bind)


class _Bind(Protocol):
    def __call__(self, programs: bool, latents_first: bool, known: EncodedLabels | None) -> BoundData: ...


@dataclass
class Answers:
    """What an engine says about one corpus. Made by `Engine.on`."""

    engine: Engine
    corpus: Corpus
    given: EncodedLabels | None
    bind: _Bind
    _local_decoders: dict[str | None, LocalDecoder] = field(default_factory=dict)  # by stage

    @cached_property
    def _bound(self) -> tuple[BoundData, SequenceMethod]:
        """The corpus as kernels see it, with the inference method that the template asks for."""
        return self._bound_to(self.given)

    def _bound_to(self, known: EncodedLabels | None) -> tuple[BoundData, SequenceMethod]:
        name, settings = choose_method(self.engine.graph, inference_settings(self.engine.spec))
        data = self.bind(METHODS[name].programs, False, known)
        return data, METHODS[name].build(data, settings)

    # probabilities ----------------------------------------------------------------------------------------------------

    def log_z(self, weights: Floats, workers: Workers) -> Floats:
        """Of each sentence, [S]; Bethe's approximation on loops; -inf where no labelling is possible."""
        data, method = self._bound
        return run_inference(data, method, data.potentials(weights), workers).log_z

    def marginals(self, weights: Floats, workers: Workers) -> tuple[list[Floats], RunStatus]:
        """p(y_t = state | x) of every variable, [N, states]."""
        data, method = self._bound
        out = run_inference(data, method, data.potentials(weights), workers, marginals=True)
        return self._by_variable(out.marginals), out.summary()

    def clique_marginals(self, weights: Floats) -> Iterator[tuple[tuple[CliqueMarginal, ...], RunStatus]]:
        """Of each sentence: p(y_c | x) for every clique at every place where it lies."""
        _, settings = choose_method(self.engine.graph, inference_settings(self.engine.spec))
        data = self.bind(False, False, self.given)
        return clique_marginals(data, data.potentials(weights), settings)

    # labellings -------------------------------------------------------------------------------------------------------

    def best(
        self,
        weights: Floats,
        workers: Workers,
        decode: str | None,
        stage: str | None = None,
        temperature: float = 1.0,
    ) -> Labelled:
        """A state for every label at every token; the first state where no labelling is possible.

        stage: that the weights were trained by, which may say how to decode; the last one by default.   temperature:
        of probabilities, which count where they are summed: over all other labels, or over latent variables.
        """
        scores = np.full(self.corpus.num_sentences, np.nan)
        mode = decoding(self.engine.spec, stage) if decode is None else decode
        if mode not in DECODINGS:
            known = ", ".join(f"`{name}`" for name in DECODINGS)
            message = f"`{mode}` is not a way to decode"
            raise DcrfError(Diagnostic("unknown-method", message, help=f"the ways to decode are {known}"))
        if mode == "marginal":
            marginals, status = self.marginals(temperature * weights, workers)
            likeliest = [own.argmax(axis=1).astype(np.int32) for own in self._of_labels(marginals)]
            return Labelled(likeliest, status, scores)
        if mode == "local":
            return self._local(weights, workers, stage)
        if self.engine.graph.num_latents:
            found = self.nbest(weights, workers, 1, temperature)
            for s, own in enumerate(found.sentences):
                scores[s] = own.score[0] if len(own) else np.nan
            return Labelled(found.first(self._labels, self.corpus.lengths()), found.status, scores)
        data, method = self._bound
        potentials = data.potentials(weights)
        best = run_decoding(data, method, potentials, workers)
        if method.approximate:
            scores = score_sequences(data, best.labelling, potentials, workers)
        else:  # the best score is what exact decoding ends with
            scores = np.where(np.isneginf(best.outcome.log_z), np.nan, best.outcome.log_z)
        return Labelled(self._codes(best.labelling), best.outcome.summary(), scores)

    def voted(self, voters: Voters, workers: Workers, stage: str | None = None) -> Labelled:
        """The labelling of each sentence that most of `voters` find best; it has no score. The status is the worst."""
        ballots, status = Ballots(self.corpus.sentence_off), RunStatus()
        for votes, weights in voters.walk(self.engine.parameters.num_weights):
            found = self.best(weights, workers, "joint", stage)
            ballots.cast(votes, np.array(found.codes))
            if status.graphs == 0 or found.status.not_converged > status.not_converged:
                status = found.status
        return Labelled(list(ballots.winners()), status, np.full(self.corpus.num_sentences, np.nan))

    def _local(self, weights: Floats, workers: Workers, stage: str | None) -> Labelled:
        """The best labellings under the product of the pieces' local distributions."""
        if stage not in self._local_decoders:
            pieces = local_pieces(self.engine.spec, self.engine.graph, stage)
            data = self.bind(False, False, self.given)
            self._local_decoders[stage] = LocalDecoder(data, pieces, self.engine.graph)
        decoder = self._local_decoders[stage]
        best = run_decoding(decoder.data, decoder, decoder.data.potentials(weights), workers)
        scores = np.where(np.isneginf(best.outcome.log_z), np.nan, best.outcome.log_z)
        return Labelled(self._codes(best.labelling), best.outcome.summary(), scores)

    def _codes(self, labelling: Codes) -> list[Codes]:
        """A flat labelling as the states of each label, [N]; the first state where there is none."""
        table = np.maximum(labelling, 0).reshape(-1, len(self.engine.graph.variables))
        return [np.ascontiguousarray(own) for own in self._of_labels(list(table.T))]

    def nbest(self, weights: Floats, workers: Workers, count: int, temperature: float = 1.0) -> NBest:
        """The `count` best labellings of each sentence; latent variables are summed out."""
        return self._nbest(temperature * weights, workers, count).scaled(1.0 / temperature)

    def _nbest(self, weights: Floats, workers: Workers, count: int) -> NBest:
        graph, settings = self.engine.graph, inference_settings(self.engine.spec)
        if graph.num_latents and latents_first_fits(graph, settings):
            data = self.bind(True, True, self.given)
            return summed_best(data, data.potentials(weights), count, workers)
        parts = parts_by_width(lambda programs: self.bind(programs, False, self.given), graph, settings)
        if not graph.num_latents:
            return best_labellings(parts, weights, settings, count, workers)
        pool = POOL + PAIRS * count
        joint = best_labellings(parts, weights, settings, pool, workers)
        return self._best_proposed(joint, weights, workers, count)

    def _best_proposed(self, joint: NBest, weights: Floats, workers: Workers, count: int) -> NBest:
        """The best of two kinds of labellings: those of `joint`, which are best together with some states of the latent
        variables, and the likeliest state of every label.
        """
        data, method = self._measured(self.given)
        free = run_inference(data, method, data.potentials(weights), workers, marginals=True)
        marginals = self._of_labels(self._by_variable(free.marginals))
        likeliest = np.array([own.argmax(axis=1) for own in marginals], np.int32)
        candidates = []
        for codes in (*joint.distinct(self._labels, self.corpus.lengths(), count + POOL), likeliest):
            clamped, measure = self._measured(known_labels(codes))
            candidates.append((codes, run_inference(clamped, measure, clamped.potentials(weights), workers).log_z))
        covered = np.array([own.probability.sum() if own.exact else 0.0 for own in joint.sentences])
        log_z = np.full_like(free.log_z, np.nan) if method.approximate else free.log_z
        off = self.corpus.sentence_off
        return best_candidates(candidates, log_z, off, self._labels, count, covered, joint.status)

    def _measured(self, known: EncodedLabels | None) -> tuple[BoundData, SequenceMethod]:
        """As `_bound_to`, but by exact inference where it fits, else by messages: bounds and samples do not compare."""
        graph, settings = self.engine.graph, inference_settings(self.engine.spec)
        name, own = choose_method(graph, settings)
        if not graph.relational and exact_cost(graph).largest <= largest_table(settings):
            name, own = "exact", ExactSettings(max_table=largest_table(settings))
        elif name not in ("exact", "auto", "bp", "trp"):
            name, own = ("auto", AutoSettings()) if graph.relational else ("trp", TrpSettings())
        data = self.bind(METHODS[name].programs, False, known)
        return data, METHODS[name].build(data, own)

    def sample(self, weights: Floats, workers: Workers, count: int, seed: int) -> Samples:
        """`count` labellings of each sentence drawn from p(y | x). DcrfError where exact inference does not fit."""
        check_samples_fit(self.engine.graph, inference_settings(self.engine.spec))
        data = self.bind(True, False, self.given)
        return draw_samples(data, data.potentials(weights), count, seed, workers)

    # layout -----------------------------------------------------------------------------------------------------------

    @property
    def _labels(self) -> tuple[str, ...]:
        return self.engine.graph.variables[: self.engine.graph.num_labels]

    def _of_labels(self, of_variables: list[NDArray]) -> list[NDArray]:
        return of_variables[: self.engine.graph.num_labels]

    def _by_variable(self, flat: Floats) -> list[Floats]:
        """Flat marginals as one array [N, states] a variable; one in no clique is uniform."""
        cards = self.engine.graph.cards
        table = flat.reshape(-1, sum(cards))
        ends = np.cumsum(cards)
        out = []
        for end, card in zip(ends, cards, strict=True):
            own = table[:, end - card : end]
            own[~own.any(axis=1)] = 1.0 / card
            out.append(own)
        return out
