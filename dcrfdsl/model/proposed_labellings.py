"""The best labellings by p(y | x) = Σ_h p(y, h | x) where the latent variables h cannot be summed out first.

The best pairs (y, h) propose labellings y, and so do the likeliest states. Each proposed labelling has its own log Z
summed over h, and is ranked by it. Whatever was not summed has at most the probability that is left:

    p(y' | x) ≤ 1 − Σ p(y | x) over the labellings y that were summed

Not here: models whose latents can be summed out first, and what a proof takes (`inference.decoding`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from ..foundation import Codes, Floats, dataclass
from ..inference import Labellings, NBest, Part, Workers, best_labellings, ranked_candidates, run_inference
from ..semantics import inference_settings
from .case_sums import PlacedCase, sums_of_cases
from .predictor import Predictor

EXTRA = 5  # labellings that are summed first, in addition to the number requested …
PAIRS = 10  # … of this many pairs for each one requested
FEW = 4  # times as many labellings are all summed
GROWTH = 8  # by which their number grows where they have too few labellings …
MOST_PAIRS = 4096  # … up to this many


@dataclass(eq=False)
class _Sentence:
    """What is known of one sentence.

    summed: log Σ_h exp score(y, h) of each labelling [labels, T] that was looked at, in the order of proposals.
    waiting: proposed and not yet summed.   complete: whether no other labelling is possible, once none is waiting.
    """

    summed: dict[bytes, float] = field(default_factory=dict)
    waiting: list[bytes] = field(default_factory=list)
    complete: bool = False

    def propose(self, codes: Codes, at: int | None = None) -> None:
        """A labelling [labels, T].   at: its place among those that wait; by default the last."""
        key = codes.tobytes()
        if key not in self.summed and key not in self.waiting:
            self.waiting.insert(len(self.waiting) if at is None else at, key)


_NONE = Labellings({}, np.zeros(0), np.zeros(0), exact=False)


def best_proposed(predictor: Predictor, parts: Sequence[Part], weights: Floats, workers: Workers, count: int) -> NBest:
    """The `count` best labellings of each sentence, each once. parts: as `best_labellings` takes them."""
    corpus, settings = predictor.corpus, inference_settings(predictor.structure.spec)
    sentences = [_Sentence() for _ in range(corpus.num_sentences)]
    pool = EXTRA + PAIRS * count
    joint = best_labellings(parts, weights, settings, pool, workers)
    _propose(predictor, sentences, range(len(sentences)), joint, pool)
    data, method = predictor.comparable
    free = run_inference(data, method, data.potentials_at(weights, predictor.constant_weights), workers, marginals=True)
    log_z = np.full_like(free.log_z, np.nan) if method.approximate else free.log_z
    marginals = data.by_variable(free.marginals)[: predictor.structure.graph.num_labels]
    likeliest = np.array([marginal.argmax(axis=1) for marginal in marginals], np.int32)
    off, few = corpus.sentence_off.tolist(), min(FEW * (count + EXTRA), MOST_PAIRS)
    for sentence, first, last in zip(sentences, off[:-1], off[1:], strict=True):
        sentence.propose(_of_one(predictor, likeliest[:, first:last]), at=count + EXTRA)
        possible = float(np.prod(_cards(predictor, last - first), dtype=float))  # without what constraints forbid
        if not sentence.complete and possible <= few:
            _propose_all(predictor, sentence, last - first)
    left: Sequence[int] = range(len(sentences))
    found = [_NONE] * len(sentences)

    def rank(most: int) -> None:
        """Sums `most` further labellings at most of each sentence that is left, and ranks all that were summed."""
        cases: list[PlacedCase] = []
        keys: list[bytes] = []
        for s in left:
            taken = sentences[s].waiting[:most]
            del sentences[s].waiting[:most]
            cases += [(s, _case(predictor, _codes(predictor, key))) for key in taken]
            keys += taken
        if cases:
            sums = sums_of_cases(predictor, cases, weights, workers)
            for (s, _), key, log_sum in zip(cases, keys, sums.log_z.tolist(), strict=True):
                sentences[s].summed[key] = log_sum
        for s in left:
            found[s] = _ranked(predictor, sentences[s], log_z[s], count)

    for most in (count + EXTRA + 1, pool + few + 1):
        rank(most)
        left = [s for s in left if not found[s].exact]
    while pool < MOST_PAIRS:
        left = [s for s in left if not found[s].exact and len(found[s]) < count]
        if not left:
            break
        pool = min(GROWTH * pool, MOST_PAIRS)
        more = best_labellings(_only(parts, left), weights, settings, pool, workers)
        _propose(predictor, sentences, left, more, pool)
        rank(pool)
    unproven = sum(not one.exact for one in found)
    compared = 0 if method.approximate else unproven
    return NBest(tuple(found), replace(joint.status, approximate=unproven > 0, compared=compared))


def _propose(
    predictor: Predictor, sentences: Sequence[_Sentence], numbers: Sequence[int], joint: NBest, pool: int
) -> None:
    """Proposes the labellings of the pairs of `joint`, which was asked for `pool` of each of these sentences."""
    labels = predictor.labels
    for s, pairs in zip(numbers, joint.sentences, strict=True):
        table = np.stack([pairs.codes[label] for label in labels], axis=1)  # [R, labels, T]
        for codes in table:
            sentences[s].propose(_of_one(predictor, codes))
        sentences[s].complete = pairs.exact and len(pairs) < pool


def _of_one(predictor: Predictor, codes: Codes) -> Codes:
    """A labelling of a sentence [labels, T], int32, with a label of the sentence as it is at the first position."""
    codes = np.ascontiguousarray(codes, np.int32)
    for variable in predictor.structure.graph.of_sentence:
        if variable < len(codes):
            codes[variable] = codes[variable, :1]
    return codes


def _codes(predictor: Predictor, key: bytes) -> Codes:
    """A labelling, [labels, T]."""
    return np.frombuffer(key, np.int32).reshape(len(predictor.labels), -1)


def _case(predictor: Predictor, codes: Codes) -> dict[tuple[int, int], int]:
    """The case in which the labels have these states; a label of the sentence at its first position."""
    whole = predictor.structure.graph.of_sentence
    return {
        (t, variable): 1 << int(state)
        for variable, states in enumerate(codes)
        for t, state in enumerate(states[:1] if variable in whole else states)
    }


def _ranked(predictor: Predictor, sentence: _Sentence, log_z: float, count: int) -> Labellings:
    """The `count` best of the labellings that were summed, and whether they are proven to be the best there are."""
    codes = [_codes(predictor, key) for key in sentence.summed]
    scores = np.array(list(sentence.summed.values()), np.float64)
    complete = sentence.complete and not sentence.waiting and not np.isnan(log_z)
    return ranked_candidates(predictor.labels, codes, scores, log_z, count, complete=complete)


def _cards(predictor: Predictor, length: int) -> list[int]:
    """How many states each label has at each position; one of the sentence is free at the first alone."""
    graph = predictor.structure.graph
    return [
        1 if t and variable in graph.of_sentence else graph.cards[variable]
        for variable in range(graph.num_labels)
        for t in range(length)
    ]


def _propose_all(predictor: Predictor, sentence: _Sentence, length: int) -> None:
    for codes in itertools.product(*map(range, _cards(predictor, length))):
        table = np.array(codes, np.int32).reshape(len(predictor.labels), length)
        sentence.propose(_of_one(predictor, table))
    sentence.complete = True


def _only(parts: Sequence[Part], numbers: Sequence[int]) -> list[Part]:
    """The parts with these sequences alone."""
    narrowed = ((sequences[kept], data.only(kept)) for sequences, data in parts
                if len(kept := np.flatnonzero(np.isin(sequences, numbers))))  # fmt: skip
    return list(narrowed)
