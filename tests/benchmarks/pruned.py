"""Pruned inference of third order over full morphological tags, beside exact inference of first order."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from automata import median_seconds
from figures import Figure
from work import SMOKE, criterion_of, treebank_sentences

from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.settings_reading import stage_settings
from dcrfdsl.training.pipeline import fit

SENTENCES = 60 if SMOKE else 1500
ITERATIONS = 2 if SMOKE else 10
_BASE = """
data conll(word, tag, separator = "\\t")
label tag
features token with min_count = 2: word, lower(word)[-1..1], suffix(word, 1..5), shape(word, short = yes)[-1..1]
clique tag as words: bias, token
clique tag[-1], tag as pairs with states = seen
"""
_PRIOR = "train likelihood: prior = gaussian(variance = 1), optimizer = lbfgs(max_iterations = {})\n"
FIRST = f"{_BASE}infer exact\n{_PRIOR}"
THIRD = f"""{_BASE}clique tag[-2], tag[-1], tag as triples with states = seen
clique tag[-3], tag[-2], tag[-1], tag as quadruples with states = seen
infer pruned(threshold = 0.001, keep = 8)
{_PRIOR}"""


@functools.cache
def tagged_sentences() -> Corpus:
    """The first sentences of UD English EWT; a tag is the part of speech of the treebank and all features."""
    rows = treebank_sentences(lambda field: f"{field[4]}|{field[5]}", SENTENCES)
    return corpus_from_rows(rows, load_text(FIRST.format(1)).require().data)


def pruned_passes() -> Iterator[Figure]:
    """A chain of third order over hundreds of tags, pruned: a pass beside an exact one of first order, one thread."""
    corpus, passes = tagged_sentences(), []
    for source in (THIRD, FIRST):
        text = source.format(ITERATIONS)
        criterion = criterion_of(text, corpus, stage_settings(load_text(text).require()), threads=1)
        weights = fit(load_text(text), corpus).weights
        passes.append(functools.partial(criterion.value_and_gradient, weights))
    third, first = median_seconds(passes)
    tags = len(corpus.text_column("tag").values)
    yield Figure(
        f"third order over {tags} tags, pruned", third, "s",
        f"-log p(y|x) and gradient at the weights of iteration {ITERATIONS}, {corpus.num_tokens:,} tokens of English "
        "EWT (UD), one thread, processor time; peer: exact inference of first order with the same features",
        None, first,
    )  # fmt: skip
