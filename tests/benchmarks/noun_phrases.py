"""Weights of whole segments beside a chain: the noun phrases of CoNLL-2000, both with the same features of tokens."""

from __future__ import annotations

import time
from collections.abc import Iterator

from figures import Figure, Skip, times_faster
from work import SHARED, SLICE, SMOKE

from dcrfdsl.data import Corpus, read_corpus
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

CHAIN = """
data conll(word, pos, chunk)
label chunk in bio(NP) with others = O
features token with min_count = 2:
    lower(word)[-2..2]
    pos[-2..2]
    pos[-2..-1] & pos[-1..0]
    suffix(word, 2..3)
    shape(word)
clique chunk as words: bias, token
clique chunk[-1], chunk as chain
infer exact
train likelihood: prior = gaussian(variance = 10)
evaluate segments(chunk)
"""
SEGMENTS = f"""{CHAIN}
segment chunk up to 12 as spans with longer = together, min_count = 2:
    length
    lower(joined(word))
    joined(pos)
    first(pos) & last(pos)
    first(pos[-1]) & first(pos)
    last(pos) & last(pos[1])
"""


def _corpora() -> list[Corpus]:
    data = load_text(CHAIN).require().data
    paths = [SHARED / "data" / "conll2000" / f"{part}.txt" for part in ("train", "test")]
    if data is None or not all(path.exists() for path in paths):
        raise Skip("CoNLL-2000 is not beside the repository, at ../shared/data/conll2000")
    return [read_corpus(path, data) for path in paths]


def noun_phrases() -> Iterator[Figure]:
    """Noun phrases of CoNLL-2000 by a model over segments and by a chain: training time and F-score, all threads."""
    train, test = (corpus.slice(0, SLICE) if SMOKE else corpus for corpus in _corpora())
    measured = []
    for source in (SEGMENTS, CHAIN):
        resolved = load_text(source)
        fit(resolved, train.slice(0, 20))  # compiles
        start, worked = time.perf_counter(), time.process_time()
        model = fit(resolved, train)
        passed = time.perf_counter() - start, time.process_time() - worked
        measured.append((*passed, 100.0 * model.evaluate(test)["segments(chunk).f1"]))
    segments, chain = measured
    work = f"L-BFGS to the end, {train.num_tokens:,} tokens; segments of up to 12; peer: a chain without segments"
    yield Figure("noun phrases, training", segments[0], "s", work, times_faster(1 / 5), chain[0])
    yield Figure("noun phrases, processor time", segments[1], "s", work, None, chain[1])
    yield Figure("noun phrases, F-score", segments[2], "%", f"{test.num_tokens:,} tokens of the test data", None, None)
    yield Figure("noun phrases, F-score of the chain", chain[2], "%", "the same test data", None, None)
