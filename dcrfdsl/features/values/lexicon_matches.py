"""How often lexicons match, for the checker, which warns about a lexicon that matches almost nothing.

Not here: loading lexicons, their features.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...data import Corpus, InternedColumn
from ...semantics import ModelSpec, every_feature, nodes
from ...syntax import Apply, CliqueSpec, Condition, InLexicon
from .distinct_values import CorpusValues
from .lexicons import Lexicons
from .user_functions import RegisteredFeature
from .value_kinds import Bags, Texts

WORTH = 1000  # a lexicon must match at least one token in this many
SHOWN = 3  # entries and tokens in a remedy


def lexicon_matches(
    spec: ModelSpec, corpus: Corpus, lexicons: Lexicons, registered: Mapping[str, RegisteredFeature]
) -> dict[str, int]:
    """Tokens that each lexicon matches, summed over the features that compare single tokens with it."""
    values = CorpusValues(spec, corpus, lexicons, registered, {})
    counts: dict[str, int] = {}
    for holder, feature in every_feature(spec):
        if isinstance(holder, CliqueSpec) and holder.segmental:
            continue  # of whole segments
        for node in nodes(feature):
            match node:
                case InLexicon(lexicon=name) | Apply(function=name) if name in lexicons.by_name:
                    counts[name] = counts.get(name, 0) + _matching_tokens(values, node)
    return counts


def lexicons_of(condition: Condition) -> set[str]:
    """Lexicons that a condition compares with, and names of functions (maps are called like functions)."""
    names = set()
    for node in nodes(condition):
        if isinstance(node, InLexicon):
            names.add(node.lexicon)
        elif isinstance(node, Apply):
            names.add(node.function)
    return names


def _matching_tokens(values: CorpusValues, node: InLexicon | Apply) -> int:
    source, values_of_node = values.evaluate(node)
    if isinstance(values_of_node, Bags):
        return int(values_of_node.any(lambda _: True).sum())
    matching = values_of_node.of if isinstance(values_of_node, Texts) else np.asarray(values_of_node.of) != 0
    hits = np.array([bool(one) for one in matching], bool)
    return int(hits[source.codes[source.codes >= 0]].sum()) if len(hits) else 0


def idle_remedy(name: str, spec: ModelSpec, corpus: Corpus, lexicons: Lexicons) -> str:
    """Advice for a lexicon that matches almost nothing: the comparison that would match most, if any."""
    entries = set(lexicons.by_name[name].entries)
    folded = {entry.casefold() for entry in entries}
    labels = {label.name for label in spec.labels}
    matches: list[tuple[int, str]] = []
    for column_name, column in corpus.columns.items():
        if not isinstance(column, InternedColumn) or column_name in labels:
            continue
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values)).tolist()
        both = list(zip(column.values, counts, strict=True))
        ways = (
            (lambda text: text in entries, f"compare `{column_name} in {name}`"),
            (lambda text: text.lower() in entries, f"compare `lower({column_name}) in {name}`"),
            (lambda text: text.casefold() in folded, f"declare `{name}` with `case = ignore`"),
        )
        matches += [(sum(count for text, count in both if fits(text)), words) for fits, words in ways]
    most, words = max(matches, key=lambda one: one[0], default=(0, ""))
    if most * WORTH >= corpus.num_tokens and most:
        return f"{words}: that matches {most:,} of {corpus.num_tokens:,} tokens"
    some = ", ".join(f"`{entry}`" for entry in lexicons.by_name[name].entries[:SHOWN])
    return f"no column has its entries, in any case of letters; they are {some}{' …' if len(entries) > SHOWN else ''}"
