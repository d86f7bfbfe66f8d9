"""What to label next: the sentences of an unlabelled pool about which a model is least sure, and that differ.

With ŷ the best labelling of a sentence x and y₂ the one after it,

    confidence  1 − p(ŷ | x)
    margin      p(y₂ | x) / p(ŷ | x)
    entropy     −Σ_y p(y | x) log p(y | x) = log Z − d/dτ log Z(τ) at τ = 1, where τ multiplies all scores. If inference
                is not exact, or p(y | x) a sum over latent variables, Σ_t H(y_t | x), which is not less

Next is the sentence with the largest score · (1 − c)^diversity; c is the largest cosine with those chosen before, by
counts of the model's features times the log of how few sentences have them. Sources: Settles and Craven 2008 (rules),
Carbonell and Goldstein 1998 (choice). Not here: files to annotate (`suggest_command`), inference (`predictor`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..data import Corpus
from ..features import FeatureExtractor
from ..foundation import Floats, Ints, Mask, Table, data_error, spelling_remedy
from ..graph import scaled_weights
from ..inference import Expectations, Workers, run_inference
from .label_decoders import decoder_of
from .predicting_model import PredictingModel
from .prediction import runs_of_tokens
from .predictor import Predictor

TOKENS_AT_ONCE = 50_000
CANDIDATES = 20  # times as many as are wanted: among these, the highest scores, the choice is made
# The first derivative by values at 1 ± h and 1 ± 2h: f' = Σ c f(1 + k h) / h, with an error of h⁴ f⁗'/30.
STEP, STEPS = 1e-3, {1: 2 / 3, -1: -2 / 3, 2: -1 / 12, -2: 1 / 12}


class Suggestion(NamedTuple):
    """A sentence to label next. Made by `TrainedModel.suggest`.

    sentence: its number in the pool, from 0.
    score: by the rule, at least 0; more is less sure.
    exact: whether exact inference gave the score.
    """

    sentence: int
    score: float
    exact: bool


def suggestions(
    model: PredictingModel, pool: Corpus, count: int, by: str, diversity: float, workers: Workers
) -> list[Suggestion]:
    """The sentences to label next, best first; without those that have no possible labelling."""
    if by not in RULES:
        remedy = spelling_remedy(RULES.suggest(by), f"the rules are {', '.join(f'`{rule}`' for rule in RULES)}")
        raise data_error("unknown-method", f"`{by}` is no rule to choose sentences by", help=remedy)
    if not 0.0 <= diversity < np.inf:
        raise data_error("bad-argument", f"`diversity` takes a number, at least 0: found {diversity}")
    scores, exact = np.zeros(pool.num_sentences), np.zeros(pool.num_sentences, np.bool_)
    for first, last in runs_of_tokens(pool, TOKENS_AT_ONCE):
        scores[first:last], exact[first:last] = RULES[by](model, model.prepare(pool.slice(first, last)), workers)
    order = np.argsort(-scores, kind="stable")[: np.isfinite(scores).sum()]  # NaN, of no labelling, comes last
    order = order[: CANDIDATES * count if diversity else count]
    nearest, left, found = np.zeros(len(order)), np.ones(len(order)), list[Suggestion]()
    sentence, feature, entry = _vectors(model.extractor, pool.take(order))
    wanted = np.zeros(feature.max(initial=-1) + 1)
    for _ in range(min(count, len(order))):
        best = int(np.where(left, scores[order] * (1.0 - nearest) ** diversity, -1.0).argmax())  # of equals the first
        left[best], s = 0.0, int(order[best])
        found.append(Suggestion(s, float(scores[s]), bool(exact[s])))
        of_best = sentence == best
        wanted[feature[of_best]] = entry[of_best]
        nearest = np.maximum(nearest, np.clip(np.bincount(sentence, entry * wanted[feature], len(order)), 0.0, 1.0))
        wanted[feature[of_best]] = 0.0
    return found


def _vectors(extractor: FeatureExtractor, pool: Corpus) -> tuple[Ints, Ints, Floats]:
    """A vector of length 1 for each sentence, by its features: the sentence, feature and value of each entry."""
    keys, values, first = [np.zeros(0, np.int64)], [np.zeros(0)], 0
    width = max(1, sum(info.num_features for info in extractor.sets))
    for info, rows in zip(extractor.sets[: len(extractor.plans)], extractor.extract(pool), strict=False):
        bounds = rows.row_off[np.append(rows.first_row(pool.sentence_off), len(rows.row_off) - 1)]
        keys.append(np.repeat(np.arange(pool.num_sentences), np.diff(bounds)) * width + first + rows.feature)
        values.append(rows.value if len(rows.value) else np.ones(len(rows.feature)))
        first += info.num_features
    entries, which = np.unique(np.concatenate(keys), return_inverse=True)
    sentence, feature = np.divmod(entries, width)
    rarity = 1.0 + np.log((1 + pool.num_sentences) / (1 + np.bincount(feature, minlength=width)))
    value = np.bincount(which, np.concatenate(values), len(entries)) * rarity[feature]
    norm = np.sqrt(np.bincount(sentence, value * value, pool.num_sentences))
    return sentence, feature, value / np.where(norm > 0.0, norm, 1.0)[sentence]


# rules: a score for each sentence [S], NaN where no labelling is possible, and whether it is exact --------------------


def _confidence(model: PredictingModel, predictor: Predictor, workers: Workers) -> tuple[Floats, Mask]:
    if predictor.structure.sums_fit:
        (data, method), best = predictor.comparable, model.nbest(predictor, 1, threads=workers.threads).sentences
        scores = np.array([one.score[0] if len(one) else np.nan for one in best])
        exact = np.array([one.exact and not method.approximate for one in best], np.bool_)
    else:
        (data, method), exact = predictor.bound, np.zeros(predictor.corpus.num_sentences, np.bool_)
        scores = decoder_of(predictor, "joint")(model.weights, workers, model.temperature).scores
    potentials = data.potentials_at(model.probability_weights, predictor.constant_weights)
    log_z = run_inference(data, method, potentials, workers).log_z
    return -np.expm1(np.minimum(model.temperature * scores - log_z, 0.0)), exact


def _margin(model: PredictingModel, predictor: Predictor, workers: Workers) -> tuple[Floats, Mask]:
    best = model.nbest(predictor, 2, threads=workers.threads).sentences
    scores = [np.append(one.score, -np.inf)[:2] if len(one) else np.full(2, np.nan) for one in best]
    first, second = np.array(scores).reshape(-1, 2).T
    return np.exp(model.temperature * (second - first)), np.array([one.exact for one in best], np.bool_)


def _entropy(model: PredictingModel, predictor: Predictor, workers: Workers) -> tuple[Floats, Mask]:
    data, method = predictor.comparable if predictor.structure.sums_fit else predictor.bound
    graph = predictor.structure.graph

    def sums(factor: float = 1.0, *, marginals: bool = False) -> Expectations:
        potentials = data.potentials(scaled_weights(graph, model.weights, factor * model.temperature))
        return run_inference(data, method, potentials, workers, marginals=marginals)

    if not method.approximate and not graph.num_latents:
        with np.errstate(invalid="ignore"):  # infinite without a labelling
            slope = sum(c * sums(1.0 + k * STEP).log_z for k, c in STEPS.items()) / STEP
            return np.maximum(sums().log_z - slope, 0.0), np.ones(data.num_sequences, np.bool_)
    out = sums(marginals=True)
    total = np.where(np.isfinite(out.log_z), 0.0, np.nan)
    sentence_of = np.repeat(np.arange(len(total)), predictor.corpus.lengths())
    for m, p in enumerate(data.by_variable(out.marginals)[: graph.num_labels]):
        each = -(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=1)
        counted = predictor.corpus.sentence_off[:-1] if m in graph.of_sentence else slice(None)
        total += np.bincount(sentence_of[counted], each[counted], len(total))
    return total, np.zeros(data.num_sequences, np.bool_)


RULES: Table[Callable[[PredictingModel, Predictor, Workers], tuple[Floats, Mask]]] = Table(
    "rule", {"confidence": _confidence, "margin": _margin, "entropy": _entropy}
)
